import json

import pytest
from msgspec import structs

from cli.command import refused, run
from credit.teams import vote
from orchestrace.annotations import decode
from orchestrace.trace import decode as decode_trace
from orchestrace.trace import digest, encode


@pytest.fixture(scope="module")
def episodes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("episodes")
    done = run("env", "play", "sequential-voting", "--set", "p=0.7", "--set", "c=0.05", "--episodes", 6, "-o", folder)
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def episode(episodes):
    return sorted(episodes.iterdir())[0]


def test_play_writes_equal_bytes_for_an_equal_seed(episodes, tmp_path):
    again = run("env", "play", "sequential-voting", "--set", "p=0.7", "--set", "c=0.05", "--episodes", 6,
                "-o", tmp_path, "--json")  # fmt: skip
    assert again.json["params"] == {"p": 0.7, "c": 0.05}
    assert [file.read_bytes() for file in sorted(tmp_path.iterdir())] == [
        file.read_bytes() for file in sorted(episodes.iterdir())
    ]


@pytest.mark.parametrize("unit", ["team", "orchestrator", "role", "agent", "turn", "message", "tool_call", "token"])
def test_shares_of_every_unit(episode, unit):
    done = run("credit", episode, "--unit", unit, "--method", "winter", "--outcome", "A", "--value", "mask", "--json")
    assert done.code == 0, done.err
    found = done.json
    keys = ["unit", "method", "kind", "definition", "rows", "residual", "model_calls"]
    assert all(key in found for key in keys)
    assert (found["unit"], found["method"], found["kind"], found["model_calls"]) == (unit, "winter", "share", 0)
    assert abs(found["residual"]) < 1e-9
    assert found["definition"].startswith("mask: ")
    for row in found["rows"]:
        assert {"unit_id", "value", "std_error", "n"} <= row.keys()
    team = found["ledger"][0]
    top = [row for row in found["ledger"] if row.get("parent") == team["unit_id"]]
    if unit != "team":
        assert sum(row["value"] for row in top) == pytest.approx(team["value"])


@pytest.mark.parametrize("method", ["winter", "owen", "shapley", "banzhaf", "loo", "myerson"])
def test_every_coalitional_method(episode, method):
    done = run("credit", episode, "--unit", "agent", "--method", method, "--outcome", "A", "--value", "mask", "--json")
    assert done.code == 0, done.err
    assert done.json["method"] == method
    assert {row["unit_id"] for row in done.json["rows"]} >= {"orchestrator", "v0"}


def test_advantages_compare_rollouts(episodes):
    done = run("credit", episodes, "--unit", "team", "--method", "rloo", "--reward", "team", "--json")
    values = [trace["rows"][0]["value"] for trace in done.json["traces"]]
    assert sum(values) == pytest.approx(0)
    assert {trace["group_key"] for trace in done.json["traces"]} == {"task"}
    assert {trace["residual"] for trace in done.json["traces"]} == {None}


def test_annotations_lie_beside_the_trace(episodes, tmp_path):
    out = tmp_path / "credit.jsonl"
    before = [file.read_bytes() for file in sorted(episodes.iterdir())]
    assert run("credit", episodes, "--unit", "agent", "--method", "dr-mas", "--reward", "team", "-o", out).code == 0
    assert before == [file.read_bytes() for file in sorted(episodes.iterdir())]
    lines = [decode(line) for line in out.read_bytes().splitlines()]
    digests = {digest(decode_trace(data)) for data in before}
    assert {line.trace_digest for line in lines} == digests
    assert all(line.credits[0].method == "dr-mas" for line in lines)


def test_a_free_rider_is_named(episode, tmp_path):
    """Everything is the orchestrator's: voters had turns and brought nothing."""
    trace = decode_trace(episode.read_bytes())
    names = [agent.id for agent in trace.agents]
    every = [[name for i, name in enumerate(names) if bits >> i & 1] for bits in range(1 << len(names))]
    values = [{"units": units, "value": float(names[0] in units)} for units in every]
    table = tmp_path / "values.json"
    table.write_text(json.dumps({"unit": "agent", "definition": "critic", "values": values}))
    done = run("credit", episode, "--unit", "agent", "--method", "shapley", "--value", table, "--json")
    assert "Agent 'v0' used 1 turn and brought 0 of the team's reward." in done.json["notes"]


def test_a_table_of_values(episode, tmp_path):
    trace = decode_trace(episode.read_bytes())
    roles = ["orchestrator", "voter"]
    values = [{"units": units, "value": value}
              for units, value in [([], 0), (roles[:1], 0.25), (roles[1:], 0), (roles, 1)]]  # fmt: skip
    table = tmp_path / "values.json"
    table.write_text(json.dumps({"unit": "role", "definition": "replay", "values": values, "model_calls": 12}))
    done = run("credit", episode, "--unit", "role", "--method", "shapley", "--value", table, "--json")
    assert {row["unit_id"]: row["value"] for row in done.json["rows"]} == {"orchestrator": 0.625, "voter": 0.375}
    assert done.json["model_calls"] == 12
    assert {agent.role for agent in trace.agents} == set(roles)
    assert "holds values of coalitions of roles" in refused(
        "credit", episode, "--unit", "agent", "--method", "shapley", "--value", table
    )


def test_evidence_grades_the_team_and_stays_beside_the_trace(episodes, tmp_path):
    names = [decode_trace(file.read_bytes()).trace_id for file in sorted(episodes.iterdir())]
    grades = {name: {"grades": {"team": {name: float(i)}}, "verdicts": {"x.0": [{"score": 1.0}]}}
              for i, name in enumerate(names[:3])}  # fmt: skip
    file, out = tmp_path / "evidence.json", tmp_path / "credit.jsonl"
    file.write_text(json.dumps(grades))
    done = run("credit", episodes, "--unit", "team", "--method", "rloo", "--reward", "outcome", "--evidence", file,
               "-o", out, "--json")  # fmt: skip
    assert [trace["rows"][0]["value"] for trace in done.json["traces"]] == pytest.approx([-1.5, 0, 1.5])
    assert "3 of 6 traces have no such reward and were left out" in done.json["traces"][0]["notes"]
    kept = decode(out.read_bytes().splitlines()[1])
    assert kept.rewards[0].channel == "outcome"
    assert kept.rewards[0].value == 1.0
    assert kept.verdicts["x.0"][0].score == 1.0
    assert "no trace has a value on reward channel outcome" in refused(
        "credit", episodes, "--unit", "team", "--method", "rloo", "--reward", "outcome"
    )
    file.write_text("[]")
    assert "not evidence by trace id" in refused(
        "credit", episodes, "--unit", "team", "--method", "rloo", "--reward", "outcome", "--evidence", file
    )


def test_a_channel_that_is_worked_out(episodes):
    done = run("credit", episodes, "--unit", "agent", "--method", "grpo", "--reward", "finish_rate", "--json")
    assert any("every advantage is 0" in note for note in done.json["traces"][0]["notes"])


def test_a_rollout_votes_once_and_evidence_is_of_what_was_given(episode, episodes, tmp_path):
    how = ("--unit", "team", "--method", "grpo", "--reward", "team")
    assert "is given twice" in refused("credit", episodes, episode, *how)
    file = tmp_path / "evidence.json"
    for evidence, said in [({"x": {"grades": {"team": {"x": 1.0}}}}, "'x', which was not given"),
                           ({"grades": {"team": {"x": 1.0}}}, "not evidence by trace id"),
                           ({"x": {"grade": {}}}, "not evidence by trace id")]:  # fmt: skip
        file.write_text(json.dumps(evidence))
        assert said in refused("credit", episodes, *how, "--evidence", file)


def test_what_is_missing_is_named(episode, episodes, tmp_path):
    both = refused("credit", episode, "--unit", "agent", "--method", "shapley")
    assert "--reward" in both
    assert "--value" in both
    assert "--value" in refused("credit", episode, "--unit", "agent", "--method", "shapley", "--reward", "team")
    assert "--reward" in refused("credit", episode, "--unit", "agent", "--method", "shapley", "--value", "mask")
    both = refused("credit", episodes, "--unit", "agent", "--method", "grpo")
    assert "--reward" in both
    assert "--value" in both
    assert "its channels are team" in refused("credit", episodes, "--unit", "team", "--method", "grpo", "--reward", "x")
    assert "give one" in refused(
        "credit", episodes, "--unit", "team", "--method", "grpo", "--reward", "x", "--outcome", "A"
    )
    assert "finer unit" in refused("credit", episodes, "--unit", "token", "--method", "grpo", "--reward", "team")
    assert "leave out --value" in refused(
        "credit", episodes, "--unit", "team", "--method", "grpo", "--reward", "team", "--value", "mask"
    )
    table = tmp_path / "values.json"
    table.write_text("{}")
    assert "no table of coalition values" in refused(
        "credit", episode, "--unit", "role", "--method", "shapley", "--value", table
    )
    assert "cannot be read" in refused(
        "credit", episode, "--unit", "role", "--method", "shapley", "--value", tmp_path / "none.json"
    )
    assert "replays are not" in refused(
        "credit", episode, "--unit", "role", "--method", "shapley", "--value", "replay", "--reward", "team"
    )


def test_what_is_read_is_not_written_over(episode, tmp_path):
    file = tmp_path / "trace.json"
    file.write_bytes(episode.read_bytes())
    how = ("--unit", "team", "--method", "winter", "--outcome", "A", "--value", "mask")
    for words in (("credit", file, *how, "-o", file), ("export", file, "--to", "survey", "-o", file),
                  ("report", file, "--html", file)):  # fmt: skip
        assert "is the file that is read" in refused(*words)
    assert file.read_bytes() == episode.read_bytes()


def test_numbers_stay_whole_where_it_is_narrow(episode, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    how = ("--unit", "agent", "--method", "winter", "--outcome", "A", "--value", "mask")
    shown = run("credit", episode, *how).out
    assert "…" not in "".join(line[-12:] for line in shown.splitlines() if "+0." in line or "-0." in line)
    assert max(map(len, shown.splitlines())) <= 40


def test_a_person_reads_a_tree_and_a_table(episode, episodes):
    tree = run("credit", episode, "--unit", "agent", "--method", "winter", "--outcome", "A", "--value", "mask").out
    assert "winter shares" in tree
    assert "  orchestrator" in tree
    assert "the shares sum to it within" in tree
    table = run("credit", episodes, "--unit", "team", "--method", "grpo", "--reward", "team").out
    assert "grpo advantages of 6 traces" in table


def written(path, trace, **header):
    path.write_bytes(encode(structs.replace(trace, **header)))
    return path


def test_several_traces_are_several_though_one_has_no_reward(tmp_path):
    files = [written(tmp_path / f"{name}.json", vote("A"), trace_id=name, rewards=rewards)
             for name, rewards in (("a", {"team": 1.0}), ("b", {}))]  # fmt: skip
    done = run("credit", *files, "--unit", "team", "--method", "grpo", "--reward", "team", "--json")
    assert [trace["trace_id"] for trace in done.json["traces"]] == ["a"]


@pytest.mark.parametrize("nobody", ["nan", "inf", "-0.1", "7"])
def test_nobody_is_a_chance(episode, nobody):
    asked = ("credit", episode, "--unit", "agent", "--method", "owen", "--outcome", "A", "--value", "mask")
    assert "from 0 to 1" in refused(*asked, "--nobody", nobody)


def test_many_coalitions_are_told_shortly(tmp_path):
    team = written(tmp_path / "team.json", vote(*"AB" * 20))
    asked = ("credit", team, "--unit", "agent", "--method", "shapley", "--outcome", "A", "--value", "mask")
    assert "2^41 coalitions or more" in run(*asked, "--orders", 2).out


@pytest.mark.parametrize("words", [("shapley", "--value", "mask"), ("grpo",)])
def test_an_enormous_reward_is_refused(tmp_path, words):
    teams = [written(tmp_path / f"{i}.json", vote("A"), rewards={"team": (-1) ** i * 1.7e308}) for i in range(2)]
    assert "too large" in refused("credit", *teams, "--unit", "team", "--reward", "team", "--method", *words)


def test_an_enormous_value_is_refused(tmp_path):
    team, table = written(tmp_path / "team.json", vote("A")), tmp_path / "values.json"
    rows = [{"units": [], "value": -1.7e308}, {"units": ["vote"], "value": 1.7e308}]
    table.write_text(json.dumps({"unit": "team", "definition": "replay", "values": rows}))
    assert "too large" in refused("credit", team, "--unit", "team", "--method", "shapley", "--value", table)


def test_an_agent_named_as_its_role_has_no_children(tmp_path):
    team = vote("A", "A")
    agents = [structs.replace(agent, role="v0" if agent.role == "voter" else "lead") for agent in team.agents]
    file = written(tmp_path / "team.json", team, agents=tuple(agents))
    drawn = run("credit", file, "--unit", "agent", "--method", "winter", "--outcome", "A", "--value", "mask").out
    indents = [line.split("v")[0] for line in drawn.splitlines() if line.lstrip().startswith("v")]
    assert indents[-3:] == ["  ", "    ", "    "]  # the role, then its two agents side by side
