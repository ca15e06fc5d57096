"""Random teams with times that make trouble: absent, equal, running backwards, negative durations."""

import msgspec
from hypothesis import strategies as st

from orchestrace.testing.strategies import traces
from orchestrace.trace import ToolCall, Trace, Turn

teams = traces()
EMPTY = Trace(schema=1, trace_id="t", task_id="t")


@st.composite
def with_times(draw, *, times, durations):
    """A team whose events carry whole seconds, so that sums are exact and a grid of seconds is a slow twin."""
    trace = draw(teams)
    return retimed(trace, [(draw(times), draw(durations)) for _ in trace.events])


def retimed(trace, pairs):
    events = [
        msgspec.structs.replace(
            event,
            t=None if t is None else float(t),
            duration_s=float(d) if d is not None and isinstance(event, Turn | ToolCall) else None,
        )
        for event, (t, d) in zip(trace.events, pairs, strict=True)
    ]
    return msgspec.structs.replace(trace, events=tuple(events))


troubled = with_times(times=st.none() | st.integers(-3, 30), durations=st.none() | st.integers(-2, 12))
dated = with_times(times=st.integers(0, 30), durations=st.integers(0, 12))
"""Every event carries a time, every turn and call a duration; in no order."""
real_numbers = with_times(
    times=st.floats(-1e6, 1e6, allow_nan=False), durations=st.floats(0, 1e5, allow_nan=False) | st.none()
)


def shifted(trace, seconds):
    """The same trace, dated later."""
    events = [e if e.t is None else msgspec.structs.replace(e, t=e.t + seconds) for e in trace.events]
    return msgspec.structs.replace(trace, events=tuple(events))
