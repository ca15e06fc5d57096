"""Foreign logs as traces.

`read_path` opens a path and yields one `Read` a session. An adapter is one module: `detect(files)` says which files it
knows, judged by their content, `read(files, match)` reads them. They share `lines`, the byte layer, and `documents`,
the loop over files that are one JSON document each.
"""

from orchestrace.adapters.files import BytesFiles, PathFiles, ZipFiles, files_at
from orchestrace.adapters.opening import ADAPTERS, detected, read_files, read_path
from orchestrace.adapters.reading import Adapter, Files, Match, Read, Skip
from orchestrace.adapters.survey_schema import SchemaViolation, schema_violations

__all__ = [
    "ADAPTERS",
    "Adapter",
    "BytesFiles",
    "Files",
    "Match",
    "PathFiles",
    "Read",
    "SchemaViolation",
    "Skip",
    "ZipFiles",
    "detected",
    "files_at",
    "read_files",
    "read_path",
    "schema_violations",
]
