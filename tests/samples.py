"""Where the real logs lie; they are not part of this repository.

Tests that need them skip where the folder is missing, and fail when ORCHESTRACE_REQUIRE_SAMPLES=1.
"""

import os
from pathlib import Path

import pytest

SAMPLES = Path(os.environ.get("ORCHESTRACE_SAMPLES") or Path(__file__).resolve().parents[2] / "shared" / "samples")
SURVEY = SAMPLES.parent / "survey"


def _present(folder: Path) -> bool:
    if folder.is_dir():
        return True
    if os.environ.get("ORCHESTRACE_REQUIRE_SAMPLES") == "1":
        raise FileNotFoundError(f"{folder}: no such folder, and ORCHESTRACE_REQUIRE_SAMPLES=1; set ORCHESTRACE_SAMPLES")
    return False


needs_samples = pytest.mark.skipif(not _present(SAMPLES), reason=f"no samples at {SAMPLES}; set ORCHESTRACE_SAMPLES")
needs_survey = pytest.mark.skipif(not _present(SURVEY), reason=f"no survey data at {SURVEY}; set ORCHESTRACE_SAMPLES")
