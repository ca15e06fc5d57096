"""What the files of one session have in common while they are read."""

from collections import Counter
from collections.abc import Callable, Container

from orchestrace.adapters.claude_code.records import Slugs
from orchestrace.adapters.claude_code.steps import Track
from orchestrace.trace import Content

MAIN = "main"
"""Id of the root agent."""


class Session:
    """The session so far.

    Args:
      counts: diagnostics.
      keep: puts a text beside the trace and gives its content record.
      owned: producer ids of records that an earlier session owns.
    """

    def __init__(self, counts: Counter[str], keep: Callable[..., Content], owned: Container[str]) -> None:
        self.counts, self.keep, self.owned = counts, keep, owned
        self.slugs = Slugs(counts)
        self.tracks: dict[str, Track] = {}
        self.hints: dict[str, str] = {}
        """Agent -> the call that made it, where a record says so."""
        self.ids: list[str] = []
        """Producer ids of the records that this session owns."""
        self.copied: list[str] = []
        """Producer ids of the records that an earlier session owns."""
        self.task: Content | None = None
        """The first human prompt of what was copied; absent: nothing was."""
        self.version = ""
        self.forked_from = ""
        self.usd: float | None = None

    def track(self, agent: str) -> Track:
        """The agent's track, made when first asked for."""
        return self.tracks.setdefault(agent, Track(agent))
