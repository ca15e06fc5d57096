"""Exit codes, one-line errors, start-up."""

import os
import subprocess
import sys

import pytest

from cli.command import refused, run
from cli.terminal import COMMAND
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
        (["report", ""], "it is empty, and names no file"),
        (["validate", ""], "it is empty, and names no file"),
        (["export", "", "--to", "trace", "-o", "x"], "it is empty, and names no file"),
        (["train"], "give a recipe, or --resume DIR"),
        (["train", "--resume", "/no/run"], "/no/run: holds no run"),
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
    assert done.returncode == 2


@pytest.mark.parametrize(
    "words", [["env", "solve", "unknown-voters", "--json"], ["env", "list"], ["env", "solve", "batch-voting"]]
)
def test_a_closed_pipe_is_no_error(words):
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb") as pipe:
        done = subprocess.run([*COMMAND, *words], stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_verdict_outlives_its_reader(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    for words, code in ((["validate", tmp_path / "a.json"], 1), (["validate", tmp_path / "a.json", "--json"], 1)):
        reads, writes = os.pipe()
        os.close(reads)
        with os.fdopen(writes, "wb") as pipe:
            done = subprocess.run([*COMMAND, *words], stdout=pipe, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.parametrize("words", [[], ["env"]])
def test_nothing_asked_is_answered_with_help(words):
    done = run(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: orchestrace")
    assert len(done.out.splitlines()) > 5


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "a\x1b[31mb"), r"a\x1b[31mb: Permission denied; check the path"),
        (OSError(36, "File name too long", "aa"), "aa: File name too long"),
        (OSError(28, "No space left on device"), "the results cannot be written"),
        (RuntimeError("odd"), "a fault of orchestrace itself (RuntimeError: odd)"),
    ],
)
def test_what_the_system_refuses_is_no_fault_of_ours(monkeypatch, error, said):
    def fails(**_):
        raise error

    monkeypatch.setattr("orchestrace.cli.doctor.doctor.callback", fails)
    assert said in refused("doctor")


def test_names_too_long_are_told_by_name():
    name = "a" * 300
    assert f"{name}: " in refused("report", name)
    assert f"{name}: " in refused("validate", name)


def test_completion_of_commands_imports_none():
    code = "import sys; from orchestrace.cli.main import main\ntry: main()\nfinally: print('numpy' in sys.modules)"
    asked = {"_ORCHESTRACE_COMPLETE": "bash_complete", "COMP_WORDS": "orchestrace re", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["plain,report", "False"]


def test_help_imports_no_command():
    code = "import sys; from orchestrace.cli.main import main\ntry: main()\nfinally: print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "False"


def test_completion_names_the_command():
    done = run("completion", "bash")
    assert "_ORCHESTRACE_COMPLETE" in done.out
    assert run("completion", "bash", "--json").json["shell"] == "bash"


def test_doctor():
    assert run("doctor", "--json").json["orchestrace"] == __version__
    assert "msgspec" in run("doctor").out
