"""`orchestrace report` and `export` on real and on hostile input."""

import json
import os
import time

import pytest

from cli.command import refused, run
from orchestrace.trace import Agent, Builder, HumanIntervention, Return, Spawn, Stop, Turn, decode, encode, violations
from samples import SAMPLES, SURVEY, needs_samples, needs_survey

WORKTREES = "claude_code/claude_code_log/test/test_data/real_projects/-experiments-worktrees"
HOSTILE = "\x1b[31mred\x1b[0m \u202egnp\u202c [bold]markup[/bold] \x07"


def team(trace_id="t", n=2):
    b = Builder(trace_id=trace_id, task_id="task", clock="recorded", started_at="2026-07-01T09:00:00Z")
    b.agent(Agent("main", role=f"lead{HOSTILE}"))
    b.append(HumanIntervention, "main", kind="prompt", initial=True, t=0.0, content=b.text(HOSTILE))
    turn = b.append(Turn, "main", t=0.0, duration_s=2.0)
    for i in range(n):
        b.agent(Agent(f"w{i}", role="worker", parent="main"))
        b.append(Spawn, "main", to=f"w{i}", turn=turn.id, t=2.0, labels={"name": f"n{i}{HOSTILE}"})
    for i in range(n):
        own = b.append(Turn, f"w{i}", t=2.0, duration_s=3.0)
        b.append(Return, f"w{i}", to="main", turn=own.id, t=5.0)
    last = b.append(Turn, "main", t=5.0, duration_s=1.0)
    b.append(Stop, "main", turn=last.id, t=6.0)
    return b.build()


@pytest.fixture
def trace_file(tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(encode(team()))
    return path


def test_report_of_a_trace(trace_file):
    done = run("report", trace_file)
    assert done.code == 0
    for part in ("Team", "Time", "Figures", "Critical path", "worker", "█"):
        assert part in done.out


def test_no_control_character_reaches_the_terminal(trace_file):
    done = run("report", trace_file)
    assert not set(done.out) & set("\x1b\x07\u202e\u202c")
    assert "[bold]" in done.out  # shown, not obeyed
    assert "\u202e" not in run("report", trace_file, "--json").out


def test_json_is_one_document(trace_file):
    report = run("report", trace_file, "--json").json
    assert report["trace_id"] == "t"
    assert report["parallelism"]["wall_s"] == 6.0
    assert report["parallelism"]["speedup"] == pytest.approx(9 / 6)
    assert set(report["unknown"]) >= {"usd", "tokens.total"}


def test_a_pipe_is_a_hundred_wide(trace_file, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert 80 < max(map(len, run("report", trace_file).out.splitlines())) <= 100


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_keep_to_the_width(trace_file, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    done = run("report", trace_file)
    assert max(map(len, done.out.splitlines())) <= width


def test_many_agents_are_capped_and_counted(tmp_path):
    path = tmp_path / "many.json"
    path.write_bytes(encode(team(n=120)))
    out = run("report", path).out
    assert "and 81 more" in out
    assert "more agents" in out


def test_a_folder_is_a_table_newest_first(tmp_path):
    for name, day in (("old", "01"), ("new", "05")):
        data = encode(team(name)).replace(b"2026-07-01T09", f"2026-07-{day}T09".encode())
        (tmp_path / f"{name}.json").write_bytes(data)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    done = run("report", tmp_path)
    assert done.out.index("new") < done.out.index("old")
    assert "skipped" in done.err
    both = run("report", tmp_path, "--json").json
    assert [trace["trace_id"] for trace in both["traces"]] == ["new", "old"]
    assert both["skipped"][0]["path"].endswith("empty.jsonl")
    assert "Team" in run("report", tmp_path, "--full").out
    assert run("report", tmp_path, "--since", "2026-07-03", "--json").json["trace_id"] == "new"
    assert "no session began" in refused("report", tmp_path, "--since", "2031-01-01")
    for odd in ("yesterday", "999999d", "-1d", "٣d٣"):
        assert "no date" in refused("report", tmp_path, "--since", odd)


def test_a_session_of_a_folder_is_opened_by_the_id_that_its_table_shows(tmp_path):
    for name in ("aa-one", "aa-two", "bb/x_y"):
        (tmp_path / f"{name.replace('/', '')}.json").write_bytes(encode(team(name)))
    table = run("report", tmp_path)
    assert f"orchestrace report {tmp_path} ID" in table.err
    shown = {line.split()[0] for line in table.out.splitlines() if line.startswith(("aa", "bb"))}
    assert shown == {"aa-one", "aa-two", "bb/x_y"}
    for name in shown:
        assert run("report", tmp_path, name, "--json").json["trace_id"] == name
    assert run("report", tmp_path, "bb", "--json").json["trace_id"] == "bb/x_y"
    assert run("report", tmp_path, "aa-t…", "--json").json["trace_id"] == "aa-two"
    both = run("report", tmp_path, "aa-o", "aa-t", "--json").json
    assert [one["trace_id"] for one in both["traces"]] == ["aa-one", "aa-two"]
    assert "is the beginning of 2 ids: aa-one, aa-two" in refused("report", tmp_path, "aa")
    assert "no session whose id begins so" in refused("report", tmp_path, "cc")
    assert run("export", tmp_path, "--to", "trace", "-o", tmp_path / "x").code == 2


def log(project, name, **more):
    said = {"type": "user", "uuid": f"u-{name}", "sessionId": name, "timestamp": "2026-07-01T09:00:00.000Z"}
    said |= {"message": {"role": "user", "content": "hello"}, "parentUuid": None, "isSidechain": False, **more}
    project.mkdir(parents=True, exist_ok=True)
    return project / f"{name}.jsonl", json.dumps(said) + "\n"


def test_the_table_names_the_projects_and_an_id_alone_is_claude_codes(tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert "there is no such file or folder; check the path" in refused("report", "1111")
    for project, name in (("-home-shop", "1111aaaa"), ("-home-a-very-long-name", "2222bbbb")):
        path, text = log(tmp_path / "projects" / project, name)
        path.write_text(text)
    table = run("report", tmp_path / "projects").out
    assert "-home-shop " in table
    assert "…-very-long-name " in table
    assert run("report", "2222", "--json").json["trace_id"] == "claude_code:2222bbbb"
    assert run("report", tmp_path / "projects" / "-home-shop").code == 0  # one session, and no project to name
    assert "no session whose id begins so" in refused("report", "3333")
    assert "there is no such file or folder; check the path" in refused("report", "3333.jsonl")


def test_an_empty_log_beside_agents_is_said_to_be_told_by_them(tmp_path):
    project = tmp_path / "p"
    _, text = log(project, "5555", isSidechain=True, agentId="abc")
    (project / "5555.jsonl").write_bytes(b"")
    answer = {"type": "assistant", "uuid": "u-2", "parentUuid": "u-5555", "message": {
        "id": "m", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "hi"}],
    }}  # fmt: skip
    (project / "agent-abc.jsonl").write_text(text + json.dumps({**json.loads(text), **answer}) + "\n")
    (project / "6666.jsonl").write_bytes(b"")
    done = run("report", project)
    assert "5555.jsonl: empty; the session is told by its agents' logs alone" in done.err
    assert "6666.jsonl: empty\n" in done.err


def test_validate_of_a_folder_says_how_many(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_bytes(encode(team(name)))
    assert run("validate", tmp_path).out == f"{tmp_path}: 2 sessions: all keep every law\n"
    (tmp_path / "c.jsonl").write_bytes(b"")
    document = run("validate", tmp_path, "--json").json
    assert (document["sessions"], len(document["skipped"])) == (2, 1)
    assert "skipped 1 file" in run("validate", tmp_path).out


def test_a_page_of_several_has_contents(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_bytes(encode(team(name)))
    assert run("report", tmp_path, "--html", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    for i in range(2):
        assert f'href="#s{i}"' in page
        assert page.count(f'id="s{i}"') == 1


def test_no_line_ends_in_spaces_outside_a_terminal(trace_file, tmp_path):
    (tmp_path / "two.json").write_bytes(encode(team("two")))
    for words in (["report", trace_file], ["report", tmp_path], ["env", "solve", "batch-voting"], ["doctor"]):
        assert not [line for line in run(*words).out.splitlines() if line.endswith(" ")]


def test_html_page_is_written_whole(trace_file, tmp_path):
    page = tmp_path / "out" / "page.html"
    assert run("report", trace_file, "--html", page).code == 0
    text = page.read_text()
    assert text.endswith("</html>\n")
    assert "<script" not in text
    assert "\x1b" not in text
    assert [p.name for p in page.parent.iterdir()] == ["page.html"]
    assert "is a folder" in refused("report", trace_file, "--html", tmp_path)


def test_without_a_path_the_newest_session_in_which_something_happened(tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert "projects: holds no session" in refused("report")
    project = tmp_path / "projects" / "-home"
    project.mkdir(parents=True)
    for age, name in enumerate(("begun", "new", "old")):
        said = {"type": "user", "uuid": f"u-{name}", "sessionId": name, "timestamp": "2026-07-01T09:00:00.000Z"}
        said |= {"message": {"role": "user", "content": "hello"}, "parentUuid": None, "isSidechain": False}
        path = project / f"{name}.jsonl"
        path.write_text("" if name == "begun" else json.dumps(said) + "\n")
        os.utime(path, (1e9 - age, 1e9 - age))
    (project / "gone.jsonl").symlink_to("nowhere")
    done = run("report", "--json")
    assert done.json["trace_id"] == "claude_code:new"
    assert [one["path"].rpartition("/")[2] for one in done.json["skipped"]] == ["begun.jsonl"]
    (project / "new.jsonl").unlink()
    (project / "old.jsonl").unlink()
    assert "holds no session" in refused("report")


def test_a_date_without_a_zone_is_utc(tmp_path):
    path = tmp_path / "trace.json"
    for begun in ("2026-07-01T09:00:00", "0001-01-01T00:00:00+14:00", "yesterday"):
        path.write_bytes(encode(team()).replace(b"2026-07-01T09:00:00Z", begun.encode()))
        assert run("report", path).code == 0
        asked = run("report", path, "--since", "2026-07-01")
        assert asked.code == (0 if begun.startswith("2026") else 2)


def test_prices(trace_file, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text("[m]\ninput = 3.0\noutputt = 1.0\n")
    assert "unknown kind of token 'outputt'" in refused("report", trace_file, "--prices", prices)
    prices.write_text("[m]\ninput = -3.0\n")
    assert "no price" in refused("report", trace_file, "--prices", prices)
    prices.write_text("m = 1\n")
    assert "prices.toml" in refused("report", trace_file, "--prices", prices)
    prices.write_text("[m]\ninput = 3.0\n")
    assert run("report", trace_file, "--prices", prices).code == 0


def test_export_and_withhold(trace_file, tmp_path):
    out = tmp_path / "x.json"
    assert run("export", trace_file, "--to", "trace", "-o", out, "--withhold", "content").code == 0
    trace = decode(out.read_bytes())
    assert violations(trace) == []
    assert b"markup" not in encode(trace).split(b'"role"')[-1]
    assert all(event.content is None or event.content.withheld for event in trace.events)
    done = run("export", trace_file, "--to", "html", "-o", tmp_path / "x.html", "--json").json
    assert done["bytes"] == (tmp_path / "x.html").stat().st_size


def test_export_to_survey_validates(trace_file, tmp_path):
    out = tmp_path / "survey.json"
    assert run("export", trace_file, "--to", "survey", "-o", out).code == 0
    assert run("validate", out, "--survey").code == 0
    assert run("validate", out).code == 0
    assert run("report", out, "--json").json["counts"]["spawn"] == 2


def test_validate(trace_file, tmp_path):
    kept = {"valid": True, "violations": [], "observations": {}, "sessions": 1}
    assert run("validate", trace_file, "--json").json == kept
    assert run("validate", trace_file).out == f"{trace_file}: keeps every law\n"
    broken = tmp_path / "broken.json"
    document = json.loads(trace_file.read_bytes())
    document["events"][1]["turn"] = "main.9"
    document["colour"] = "red"
    broken.write_text(json.dumps(document))
    done = run("validate", broken, "--json")
    assert done.code == 1
    assert {one["law"] for one in done.json["violations"]} == {5}
    assert done.json["unknown_fields"] == ["$.colour"]
    assert "(law 5)" in run("validate", broken).out
    deep, long = "[" * 100_000 + "]" * 100_000, "1" * 5_000
    for text in ("{}", "[1]", '{"schema": 1}', '{"schema": 9}', "null", "3", deep, long):
        broken.write_text(text)
        assert run("validate", broken).code == 1, text


@needs_survey
def test_survey_files_are_judged_by_the_survey(tmp_path):
    example = SURVEY / "example_trace.json"
    assert run("validate", example, "--survey", "--json").json["valid"]
    kept = {"valid": True, "violations": [], "observations": {}, "sessions": 1}
    assert run("validate", example, "--json").json == kept
    broken = tmp_path / "broken.json"
    for change in (
        lambda d: d["costs"].pop("wall_clock_s"), lambda d: d.update(colour=1), lambda d: d.update(topology="ring"),
    ):  # fmt: skip
        document = json.loads(example.read_bytes())
        change(document)
        broken.write_text(json.dumps(document))
        done = run("validate", broken, "--survey", "--json")
        assert done.code == 1
        assert len(done.json["violations"]) == 1
    assert "no JSON document" in refused("validate", __file__, "--survey")


@needs_samples
def test_a_real_session_in_full():
    began = time.perf_counter()
    done = run("report", SAMPLES / WORKTREES)
    assert done.code == 0
    assert time.perf_counter() - began < 20  # a hang, not a goal: the goal is measured in benchmarks
    for name in ("alice", "bob", "carol", "alice2", "bob2", "carol2"):
        assert name in done.out
    report = run("report", SAMPLES / WORKTREES, "--json").json
    assert report["tokens"]["output"] == 53_458
