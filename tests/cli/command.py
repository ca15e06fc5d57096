"""Running a command in this process, as the entry point does."""

import contextlib
import io
import json
from typing import Any, NamedTuple

import pytest

from orchestrace.cli.main import main


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*words: object) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    return Done(int(left.value.code or 0), out.getvalue(), err.getvalue())


def refused(*words: object) -> str:
    """The one line that wrong use gets."""
    done = run(*words)
    assert done.code == 2, done
    assert done.out == ""
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith("orchestrace: ")
    return lines[0]
