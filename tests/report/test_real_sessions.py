"""Reports of real sessions: known answers, computed without any of our code, and the laws on all the others.

Of the 613.1 s in which nobody was busy in session ef958aa1, 612.891 s lie before a human intervention. The other
0.166 s are two hand-overs: from a sub-agent's last word to its arrival in the root's log. Under a second, they are no
one's work and count with the human waits (ADR 6), which is what the samples' notes did.
"""

import json
from fractions import Fraction

import msgspec
import pytest

from orchestrace.adapters import Read, read_path
from orchestrace.report import headline, report, timeline
from report.test_report import nulls
from samples import SAMPLES, needs_samples

CLAUDE_CODE = SAMPLES / "claude_code"
TEAM = (
    CLAUDE_CODE / "claude_code_log/test/test_data/real_projects/-experiments-worktrees"
    / "ef958aa1-0e93-49f0-bb71-150f63befcd1.jsonl"
)  # fmt: skip

pytestmark = needs_samples


@pytest.fixture(scope="module")
def team():
    (read,) = read_path(TEAM)
    return report(read.trace, blobs=read.blobs)


def test_how_the_time_went(team):
    found = team.parallelism
    assert found.elapsed_s == pytest.approx(1918.254, abs=0.0005)
    assert found.human_s == pytest.approx(613.1, abs=0.05)
    assert found.human_s == pytest.approx(2050.854 - 1437.963 + 0.048 + 0.118, abs=0.0005)
    assert found.idle_s == 0
    assert found.wall_s == pytest.approx(1305.2, abs=0.05)
    assert found.work_s == pytest.approx(2982.3, abs=0.05)
    assert found.speedup == pytest.approx(2.29, abs=0.0055)  # 2982.275 / 1305.197 = 2.2849
    assert found.peak_concurrency == 3
    assert found.critical_steps == 43
    assert found.span_s == pytest.approx(1305.2, abs=0.05)
    assert not found.unknown


def test_where_the_critical_path_goes(team):
    """Through alice in the first wave and alice2 in the second, the last to come back in each."""
    names = {agent.id: agent.name or agent.id for agent in team.agents}
    on_path = [names[piece.agent] for piece in team.parallelism.critical_path if piece.busy]
    assert list(dict.fromkeys(on_path)) == ["main", "alice", "alice2"]
    waits = [(p.reason.split()[0], round(p.end_s - p.start_s, 3)) for p in team.parallelism.critical_path if not p.busy]
    assert waits == [("waiting", 0.048), ("human", 612.891), ("waiting", 0.118)]


def test_what_was_said(team):
    assert team.tokens.output == 53_458
    assert (team.counts["spawn"], team.counts["return"], team.collaboration.returns) == (6, 6, 6)
    assert (team.collaboration.messages, team.collaboration.undelivered) == (3, 3)
    assert team.collaboration.unconsumed_returns == 0
    assert headline(team) == "3 of 3 messages were never received."
    assert team.usd is None


def test_the_agents(team):
    rows = {agent.name: agent for agent in team.agents}
    seconds = {name: round(row.busy_s) for name, row in rows.items() if name is not None}
    assert seconds == {"alice": 803, "bob": 774, "carol": 447, "alice2": 227, "bob2": 208, "carol2": 202}
    assert {row.status for row in rows.values()} == {"completed"}
    assert {row.parent for row in rows.values()} == {None, rows[None].id}


def test_every_session_has_a_report_that_holds_together():
    sessions = [read for read in read_path(CLAUDE_CODE) if isinstance(read, Read)]
    assert len(sessions) > 50
    for read in sessions:
        found = report(read.trace, blobs=read.blobs)
        document = json.loads(msgspec.json.encode(found))
        assert sorted(nulls(document)) == sorted(document["unknown"]), read.trace.trace_id
        path = found.parallelism.critical_path
        if path:
            whole = Fraction(path[-1].end_s) - Fraction(path[0].start_s)
            assert sum(Fraction(piece.end_s) - Fraction(piece.start_s) for piece in path) == whole
            assert float(whole) == pytest.approx(found.parallelism.elapsed_s)
            assert min(piece.end_s - piece.start_s for piece in path) > 1e-6
        assert len(timeline(read.trace)) == len(found.agents)
        assert headline(found).endswith(".")


def test_agents_dated_a_day_away_do_not_stretch_a_session():
    """7acd37a8: main works for half an hour; two agents of which nobody knows who made them act 24 hours later."""
    path = TEAM.parents[1] / "-Users-dain-workspace-JSSoundRecorder" / "7acd37a8-2745-4b58-a8a9-46164b22ad9e.jsonl"
    (read,) = read_path(path)
    found = report(read.trace, blobs=read.blobs)
    assert found.parallelism.outside_agents == 3  # a warm-up before the first turn too
    assert found.parallelism.elapsed_s == pytest.approx(1731.6, abs=1)
    assert found.parallelism.span_s == pytest.approx(684, abs=1)
    assert found.parallelism.speedup is None
    assert found.unknown["parallelism.speedup"].startswith("one agent")
    assert max(agent.end_s for agent in found.agents) > 86_400
