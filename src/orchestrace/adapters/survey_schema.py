"""The survey's own JSON schema as the judge of a document, not our reading of it."""

import json
from importlib import resources
from typing import Any, NamedTuple

from orchestrace.errors import TraceError

_FOLDER = "survey_data"


class SchemaViolation(NamedTuple):
    """One place of a document that breaks the schema."""

    path: str
    """`$.costs`"""
    message: str


def schema_violations(data: bytes) -> list[SchemaViolation]:
    """Every place where a document breaks the survey's published schema (JSON Schema 2020-12); empty for a valid one.

    Raises:
      TraceError: it is no JSON document.
    """
    from jsonschema import Draft202012Validator  # a heavy import that one command needs

    try:
        document = json.loads(data, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"no JSON document: {error}") from None
    errors = sorted(Draft202012Validator(schema()).iter_errors(document), key=lambda error: error.json_path)
    return [SchemaViolation(error.json_path, _short(error.message)) for error in errors]


def schema() -> dict[str, Any]:
    """The published schema, as it ships with the package."""
    text = (resources.files(__package__) / _FOLDER / "trace_schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")


def _short(message: str) -> str:
    """A message quotes the value that it judges, which may be the whole document."""
    return message if len(message) <= 300 else message[:140] + " ... " + message[-140:]
