"""What a team earned, by what the command line was told."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from orchestrace.adapters import Read
from orchestrace.annotations import Evidence, Reward, decode_evidence_by_trace
from orchestrace.cli.files import read_document
from orchestrace.rewards import CHANNELS, Unavailable
from orchestrace.trace import Stop, Trace


class Asked(NamedTuple):
    """Where the reward comes from."""

    reward: str | None
    """A channel; None: the outcome says it."""
    outcome: str | None
    """The right answer, or a number."""
    evidence: Mapping[str, Evidence]
    """By trace id."""

    @property
    def said(self) -> str:
        """In words."""
        return f"outcome {self.outcome}" if self.reward is None else f"reward channel {self.reward}"


class Earned(NamedTuple):
    """A team's reward."""

    value: float | None
    """None: it is not known."""
    why_not: str = ""
    rows: tuple[Reward, ...] = ()


def read_evidence(path: Path | None) -> Mapping[str, Evidence]:
    """The evidence in a file, by trace id; none where there is no file.

    Raises:
      InputError: it cannot be read, or holds something else.
    """
    if path is None:
        return {}
    example = '{"TRACE_ID": {"grades": {"team": {"TRACE_ID": 1.0}}}}'
    return read_document(path, decode_evidence_by_trace, remedy=f"it looks like {example}")


def earned(one: Read, asked: Asked) -> Earned:
    """What a trace earned: on a channel that it carries, else on one that is worked out; or for its answer."""
    trace = one.trace
    if asked.reward is None:
        return _for_the_answer(one, str(asked.outcome).strip())
    if asked.reward in trace.rewards:
        value = trace.rewards[asked.reward]
        row = Reward(asked.reward, "R1", "team", trace.trace_id, value, "as the trace records it")
        return Earned(value, rows=(row,))
    if asked.reward not in CHANNELS:
        carried = ", ".join(trace.rewards) or "none"
        return Earned(None, f"its channels are {carried}; worked out from any trace are {', '.join(CHANNELS)}")
    rows = CHANNELS[asked.reward](trace, asked.evidence.get(trace.trace_id, Evidence()))
    if isinstance(rows, Unavailable):
        return Earned(None, rows.why)
    return Earned(math.fsum(row.value for row in rows), rows=rows)


def _for_the_answer(one: Read, outcome: str) -> Earned:
    said, number = answer(one), as_number(outcome)
    if number is not None and as_number(said) is None:
        value, why = number, "as given"
    elif said is None:
        return Earned(None, "the team gave no answer, or its text is not at hand")
    else:
        value, why = float(said == outcome), f"answered {said[:40]!r}"
    return Earned(value, rows=(Reward("outcome", "R1", "team", one.trace.trace_id, value, why),))


def answer(one: Read) -> str | None:
    """The text of the last stop; None: there is none."""
    last = last_stop(one.trace)
    if last is None or last.content is None:
        return None
    blob = {**one.trace.blobs, **one.blobs}.get(last.content.hash)
    return blob.decode("utf-8", "replace").strip() if blob is not None else None


def last_stop(trace: Trace) -> Stop | None:
    """The outcome, as far as a log goes."""
    return next((event for event in reversed(trace.events) if isinstance(event, Stop)), None)


def as_number(text: str | None) -> float | None:
    """A finite number; None: the text is none."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None
