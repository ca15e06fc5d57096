"""Exit codes, one-line errors, start-up."""

import subprocess
import sys

import pytest

from cli.command import refused, run
from orchestrace import __version__
from orchestrace.cli.main import COMMANDS


def test_help_names_every_command():
    done = run("--help")
    assert done.code == 0
    assert all(name in done.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_json(name):
    done = run(name, "--help")
    assert done.code == 0
    if name != "env":
        assert "--json" in done.out
    else:
        assert all("--json" in run("env", verb, "--help").out for verb in ("list", "solve"))


def test_version():
    assert run("--version").out == f"orchestrace {__version__}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["repotr"], "did you mean 'report'?"),
        (["report", "--ful"], "--full"),
        (["report", "/no/such/place"], "/no/such/place: there is no such file or folder"),
        (["report", __file__], "holds no session"),
        (["report", __file__, "--format", "claude"], "known: claude_code"),
        (["validate", "/no/such/file"], "there is no such file"),
        (["validate", __file__], "no adapter knows its content"),
        (["export", __file__, "--to", "nonsense", "-o", "x"], "nonsense"),
        (["env", "solve", "batch-votin"], "did you mean 'batch-voting'?"),
        (["env", "solve", "batch-voting", "--set", "ctt=1"], "did you mean 'ct'?"),
        (["env", "solve", "batch-voting", "--set", "ct"], "write key=number"),
        (["env", "solve", "batch-voting", "--set", "ct=nan"], "ct"),
        (["train", "/no/recipe.toml"], "there is no such recipe"),
        (["train", __file__], "not valid TOML"),
        (["eval"], "give the folder of a run"),
        (["eval", "--policy", "best-one-shott", "--env", "batch-voting"], "known: optimal"),
        (["eval", "/no/run"], "/no/run"),
        (["completion", "tcsh"], "tcsh"),
    ],
)
def test_wrong_use_is_one_line(words, said):
    assert said in refused(*words)


def test_hostile_names_reach_no_terminal(tmp_path):
    path = tmp_path / "a\x1b[31m\u202eb.jsonl"
    path.write_bytes(b"\x00\x01")
    line = refused("report", path)
    assert "\x1b" not in line
    assert "\u202e" not in line


def test_a_fault_of_ours_is_one_line_too(monkeypatch):
    monkeypatch.setattr("orchestrace.cli.main.COMMANDS", {"doctor": ("orchestrace.cli.doctor:nothing", "")})
    assert "--debug shows where" in refused("doctor")


def test_debug_shows_the_traceback():
    done = subprocess.run(
        [sys.executable, "-c", "from orchestrace.cli.main import main; main()", "report", "/no/place", "--debug"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" in done.stderr


def test_a_closed_pipe_is_no_error():
    code = "from orchestrace.cli.main import main; main()"
    done = subprocess.run(
        f'{sys.executable} -c "{code}" env solve unknown-voters --json | head -c 10',
        shell=True, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.startswith("{")


def test_completion_names_the_command():
    done = run("completion", "bash")
    assert "_ORCHESTRACE_COMPLETE" in done.out
    assert run("completion", "bash", "--json").json["shell"] == "bash"


def test_doctor():
    assert run("doctor", "--json").json["orchestrace"] == __version__
    assert "msgspec" in run("doctor").out
