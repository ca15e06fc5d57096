"""Swim lanes as data."""

from itertools import pairwise

import pytest
from hypothesis import given

from metrics.timed_teams import EMPTY, dated, troubled
from orchestrace.metrics import work
from orchestrace.report import report, timeline
from orchestrace.trace import Agent, Builder, HumanIntervention, Return, Spawn, ToolCall, Turn


def test_a_team_that_can_be_read_by_eye():
    b = Builder(trace_id="t", task_id="t")
    b.agent(Agent("main"))
    b.agent(Agent("a", parent="main"))
    turn = b.append(Turn, "main", t=0, duration_s=2)
    b.append(Spawn, "main", to="a", t=2, turn=turn.id)
    own = b.append(Turn, "a", t=2, duration_s=2)
    b.append(ToolCall, "a", tool="bash", t=3, duration_s=3, turn=own.id)
    b.append(Return, "a", to="main", t=6)
    b.append(Turn, "main", t=6, duration_s=1)
    b.append(HumanIntervention, "main", t=9)
    b.append(Turn, "main", t=9, duration_s=1)
    main, a = timeline(b.build())
    assert [(x.start_s, x.end_s, x.kind) for x in main.blocks] == [
        (0, 2, "model"), (2, 6, "wait"), (6, 7, "model"), (7, 9, "human"), (9, 10, "model"),
    ]  # fmt: skip
    assert [(x.start_s, x.end_s, x.kind) for x in a.blocks] == [(2, 4, "model"), (4, 6, "tool")]
    assert (main.depth, a.depth) == (0, 1)


@given(troubled | dated)
def test_a_lane_has_no_hole_and_holds_the_busy_time(trace):
    rows = {agent.id: agent for agent in report(trace).agents}
    lanes = timeline(trace)
    assert [lane.agent for lane in lanes] == list(rows)
    strangers = {one.agent for one in work(trace).outside}
    for lane in lanes:
        row = rows[lane.agent]
        assert all(before.end_s == after.start_s for before, after in pairwise(lane.blocks))
        assert all(before.kind != after.kind for before, after in pairwise(lane.blocks))
        busy = sum(block.end_s - block.start_s for block in lane.blocks if block.kind in ("model", "tool"))
        if lane.agent in strangers:  # what they did outside the session is in their row alone
            assert busy <= row.busy_s + 1e-9
            continue
        assert busy == pytest.approx(row.busy_s or 0.0)
        if lane.blocks:
            assert (lane.blocks[0].start_s, lane.blocks[-1].end_s) == (row.start_s, row.end_s)


def test_nothing_at_all():
    assert timeline(EMPTY) == ()
