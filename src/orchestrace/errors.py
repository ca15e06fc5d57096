"""Every exception that orchestrace raises on purpose.

    OrchestraceError
    ├── InputError          what was given cannot be used: names the file, the place, what was expected, a remedy
    │   ├── TraceError      a document that is no trace, or a trace that breaks a law
    │   ├── LogError        a foreign log that no adapter can read
    │   └── RecipeError     a recipe or a setting with a wrong key or value
    └── InterruptedWork     the user stopped it; what was done is kept, and `kept` says where

Built-in exceptions (`TypeError`, `ValueError`, `IndexError`) stay for the caller's own mistakes in Python.
A failed tool, agent or rollout is an event in a trace, never an exception.
"""


class OrchestraceError(Exception):
    """The root of the tree."""


class InputError(OrchestraceError):
    """Input that cannot be used.

    Args:
      problem: what is wrong, and what was expected instead.
      path: the file, as the user gave it; absent when the input was not a file.
      place: where in it (`line 12`, `$.events[3].agent`, `ppo.clip`); absent when all of it is meant.
      remedy: what to do about it; absent when the problem says it already.
    """

    def __init__(
        self, problem: str, *, path: str | None = None, place: str | None = None, remedy: str | None = None
    ) -> None:
        self.problem, self.path, self.place, self.remedy = problem, path, place, remedy
        where = ", ".join(part for part in (path, place) if part)
        super().__init__((f"{where}: " if where else "") + problem + (f"; {remedy}" if remedy else ""))


class TraceError(InputError):
    """A document that is no trace, or a trace that breaks a law."""


class LogError(InputError):
    """A foreign log that no adapter can read."""


class RecipeError(InputError):
    """A recipe or a setting with a wrong key or value."""


class InterruptedWork(OrchestraceError):  # noqa: N818 (it is no error of anyone's)
    """The user stopped long work; what was done is kept.

    Args:
      kept: where the finished part lies, and how to go on from it.
    """

    def __init__(self, kept: str) -> None:
        self.kept = kept
        super().__init__(f"interrupted; {kept}")
