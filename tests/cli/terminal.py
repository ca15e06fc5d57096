"""Running the command on a terminal of a given width, in a process of its own."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from typing import NamedTuple

COMMAND = [sys.executable, "-c", "from orchestrace.cli.main import main; main()"]
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What a terminal is told by colours, styles and the cursor; anything else after an ESC came from a stranger."""


class Shown(NamedTuple):
    code: int
    raw: str

    @property
    def text(self) -> str:
        return CODES.sub("", self.raw).replace("\r", "")


def on_terminal(*words: object, width: int, environment: Mapping[str, str] | None = None) -> Shown:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    unset = {"NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR"}
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    with subprocess.Popen(
        [*COMMAND, *map(str, words)], stdin=theirs, stdout=theirs, stderr=theirs,
        env={**inherited, "TERM": "xterm-256color", **(environment or {})},
    ) as process:  # fmt: skip
        os.close(theirs)
        raw = b""
        # A terminal whose other end has closed reads as an error on Linux, as an end elsewhere.
        while part := _read(ours):
            raw += part
        code = process.wait()
    os.close(ours)
    return Shown(code, raw.decode("utf-8", "replace"))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
