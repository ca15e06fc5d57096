"""What a person sees: widths, colours, and nothing that a stranger's text tells the terminal."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from cli.command import run
from cli.terminal import on_terminal
from orchestrace.cli.draw.columns import Column, fitting, table
from orchestrace.cli.draw.session import session, session_table
from orchestrace.report import report
from orchestrace.testing.strategies import logs, traces
from orchestrace.trace import Agent, Builder, Return, Spawn, Stop, Turn, encode

HOSTILE = "\x1b]0;pwned\x07\x1b[31m \u202egnp [/bold]"


@pytest.fixture
def team(tmp_path):
    """A file in a folder, both of hostile names, with a team whose names are hostile and long."""
    b = Builder(trace_id=f"t{HOSTILE}", task_id="task", clock="recorded", started_at="2026-07-01T09:00:00")
    b.agent(Agent("main", role=f"lead {HOSTILE}"))
    turn = b.append(Turn, "main", t=0.0, duration_s=61.0)
    for i in range(3):
        b.agent(Agent(f"w{i}", role="a role with a long name", parent="main"))
        b.append(Spawn, "main", to=f"w{i}", turn=turn.id, t=61.0, labels={"name": f"{i}{HOSTILE}" * 3})
        own = b.append(Turn, f"w{i}", t=61.0, duration_s=700.0 * (i + 1))
        b.append(Return, f"w{i}", to="main", turn=own.id, t=61.0 + 700.0 * (i + 1))
    last = b.append(Turn, "main", t=5000.0, duration_s=1.0)
    b.append(Stop, "main", turn=last.id, t=5001.0)
    folder = tmp_path / f"f {HOSTILE.replace('/', '')} [slash]"
    folder.mkdir()
    (folder / "trace.json").write_bytes(encode(b.build()))
    return folder


@pytest.mark.parametrize("width", [40, 80])
def test_a_terminal_gets_lines_that_fit_and_no_strange_code(team, width):
    shown = on_terminal("report", team, width=width)
    assert shown.code == 0
    assert not set(shown.text) & set("\x1b\x07\u202e")
    assert "\x1b[" in shown.raw
    for title in ("Team", "Time", "Figures", "Critical path"):
        assert title in shown.text
    after_the_note = shown.text[shown.text.index("Team") :]
    assert max(map(len, after_the_note.splitlines())) <= width


def test_a_folder_name_is_no_markup(team):
    """rich reads markup in a status line whatever the console says."""
    folder = team.parent / "[" / "x]"
    folder.mkdir(parents=True)
    (team / "trace.json").rename(folder / "trace.json")
    shown = on_terminal("report", folder.parent, width=100)
    assert shown.code == 0, shown.text
    assert "reading [" in shown.text


def test_no_colour_where_none_is_wanted(team):
    colour = re.compile(r"\x1b\[[0-9;]*(3[0-9]|9[0-7])[0-9;]*m")
    assert colour.search(on_terminal("report", team, width=80).raw)
    assert not colour.search(on_terminal("report", team, width=80, environment={"NO_COLOR": "1"}).raw)
    assert "\x1b" not in run("report", team).out


@given(traces() | logs(), st.integers(20, 200), st.booleans())
@settings(max_examples=60)
def test_every_trace_is_drawn_within_the_width(trace, width, ascii_only):
    console = Console(width=width, record=True, file=None, force_terminal=False, markup=False, highlight=False)
    made = report(trace)
    with console.capture() as drawn:
        for part in session(made, trace, width=width, ascii_only=ascii_only):
            console.print(part)
        console.print(session_table([made, made], width=width))
    assert all(Text(line).cell_len <= width for line in drawn.get().splitlines())
    assert "\x1b" not in drawn.get()


def _column(title, width, **options):
    return Column(title, [Text("x" * width)], **options)


def test_columns_give_way_one_by_one():
    columns = [
        _column("a", 10, least=4), _column("b", 5, gives_way=2), _column("c", 5, gives_way=1), _column("d", 5),
    ]  # fmt: skip

    def kept(width):
        return "".join(column.title for column in fitting(columns, width=width))

    assert [kept(n) for n in (34, 28, 27, 20, 19, 12, 3)] == ["abcd", "abcd", "acd", "acd", "ad", "ad", "ad"]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(40, 120))
def test_a_table_keeps_to_its_width(widths, width):
    columns = [_column("name", 60, least=10, justify="left")]
    columns += [_column(str(i), w, gives_way=i + 1) for i, w in enumerate(widths)]
    console = Console(width=200)
    with console.capture() as drawn:
        console.print(table(columns, width=width))
    assert all(len(line.rstrip()) <= width for line in drawn.get().splitlines())
