"""The folder that `orchestrace demo` writes: claimed once, overwritten by the next demo, never another's."""

from pathlib import Path

from orchestrace.cli.files import write
from orchestrace.errors import InputError
from orchestrace.training import RUN_FILES

MARK = "README.txt"
RUN = "run"
_CLAIM = "orchestrace demo wrote this folder, and overwrites it when it runs again.\n"
_SAID = f"""{_CLAIM}
index.html     the report of the session, the learning curve, an episode of the learned policy
session.json   the imported session as a trace; it is made up, in the shape of a real Claude Code log
episodes/      episodes of the learned policy as traces
run/           the training run: recipe, curve, checkpoints, result
result.json    what `orchestrace demo --json` prints
"""


def claimed(folder: Path) -> Path:
    """Make the folder a demo's own, and clear the training run of an earlier demo from it.

    Raises:
      InputError: it holds files and no demo wrote them, or it cannot be written.
    """
    try:
        mark = folder / MARK
        if (
            folder.exists()
            and any(folder.iterdir())
            and not (mark.is_file() and mark.read_text("utf-8").startswith(_CLAIM))
        ):
            raise _foreign(folder)
        (folder / RUN).mkdir(parents=True, exist_ok=True)
        write(mark, _SAID.encode())
        for name in RUN_FILES:
            (folder / RUN / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=str(folder)) from None
    except UnicodeDecodeError:
        raise _foreign(folder) from None
    return folder


def _foreign(folder: Path) -> InputError:
    return InputError("holds files that no demo wrote", path=str(folder), remedy="name another folder with --out")
