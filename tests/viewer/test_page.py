"""The page of a session: whole, safe, and honest about what it leaves out."""

from pathlib import Path

from hypothesis import given, settings

import orchestrace
from orchestrace.report import diagnostics, report
from orchestrace.testing.strategies import traces
from orchestrace.trace import Agent, Builder, HumanIntervention, Source, Spawn, Tokens, Trace, Turn
from orchestrace.viewer import Session, report_page
from orchestrace.viewer.team import team_lanes
from viewer.markup_of import loads

HOSTILE = "<script>alert(1)</script> & \"' \x1b[31m \u202e </svg><img src=x onerror=1>"


def page(trace: Trace) -> str:
    return report_page(Session(report(trace), trace))


def team(n: int, role: str = "worker") -> Trace:
    b = Builder(trace_id=f"t{HOSTILE}" if role == HOSTILE else "t", task_id="k", system=role)
    b.agent(Agent("main", role=role))
    b.append(HumanIntervention, "main", t=0.0, content=b.text(HOSTILE))
    b.append(Turn, "main", t=0.0, duration_s=1.0, model=role, content=b.text(HOSTILE))
    for i in range(n):
        b.agent(Agent(f"w{i}", role=role, parent="main"))
        b.append(Spawn, "main", to=f"w{i}", t=1.0, labels={"name": role}, content=b.text(HOSTILE))
    for i in range(n):
        b.append(Turn, f"w{i}", t=1.0, duration_s=2.0)
    return b.build()


def test_hostile_text_stays_text():
    shown = page(team(3, HOSTILE))
    for raw in ("<script", "<img", "\x1b", "\u202e", "onerror=1>"):
        assert raw not in shown
    assert "&lt;script&gt;" in shown


def test_the_policy_allows_nothing_from_outside():
    shown = page(team(1))
    assert "default-src 'none'" in shown
    assert loads(shown) == []
    assert loads(page(team(3, HOSTILE))) == []


def test_a_large_team_is_capped_and_the_rest_is_counted():
    shown = page(team(1500))
    assert len(shown) < 6_000_000
    assert "1,501" in shown  # of how many


def test_what_was_counted_is_explained():
    b = Builder(trace_id="t", task_id="k", source=Source("test", "1"))
    b.agent(Agent("main"))
    counted = {"corrupt_middle": 2, "ignored_summary": 3, "of_an_adapter_of_yours": 1}
    shown = page(b.build(diagnostics=counted))
    assert "lines that are no JSON; they were skipped" in shown
    assert "housekeeping of the product" in shown
    assert "of an adapter of yours" in shown


def test_no_count_is_explained_that_nothing_makes():
    source = "".join(path.read_text() for path in Path(orchestrace.__file__).parent.rglob("*.py"))
    source = source.replace(Path(diagnostics.__file__).read_text(), "")
    assert [kind for kind in diagnostics.MEANINGS if kind not in source] == []


def test_what_stands_under_a_name_fits():
    b = Builder(trace_id="t", task_id="k", source=Source("test", "1"))
    b.agent(Agent("main"))
    b.agent(Agent("w", role="general-purpose", parent="main"))
    b.append(Spawn, "main", to="w", t=0.0, labels={"name": "clock"})
    b.append(Turn, "w", t=0.0, duration_s=179.0, tokens=Tokens(output=74_000))
    shown = page(b.build())
    assert "1 turn, 74k tokens</text>" in shown
    assert "general-purpose, 1 turn, 74k tokens, 2 min 59 s" in shown  # on pointing at it


def test_a_stranger_dated_a_day_later_does_not_stretch_the_picture():
    def lanes(*times):
        b = Builder(trace_id="t", task_id="k", source=Source("test", "1"))
        b.agent(Agent("main"))
        b.append(Turn, "main", t=0.0, duration_s=10.0)
        b.agent(Agent("stranger", unlinked=True))
        for t in times:
            b.append(Turn, "stranger", t=t, duration_s=1.0)
        trace = b.build()
        return team_lanes(report(trace), trace, title="t").lanes

    assert [lane.name for lane in lanes(86_400.0)] == ["main"]
    assert [(lane.name, lane.end_s) for lane in lanes(5.0, 86_400.0)] == [("main", 10.0), ("stranger", 6.0)]


def test_what_lies_outside_the_session_is_said():
    b = Builder(trace_id="t", task_id="k", source=Source("test", "1"))
    b.agent(Agent("main"))
    b.append(Turn, "main", t=0.0, duration_s=10.0)
    b.agent(Agent("stranger", unlinked=True))
    b.append(Turn, "stranger", t=86_400.0, duration_s=1.0)
    assert "what 1 agent did outside the session" in page(b.build())


@settings(max_examples=25)
@given(traces())
def test_any_trace_has_a_page(trace):
    shown = page(trace)
    assert shown.startswith("<!doctype html>")
    assert shown.endswith("</html>\n")
