"""Documentation that can fail."""

import contextlib
import io
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cli.command import run
from orchestrace.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_python_runs_and_prints_what_it_says():
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", README, re.S)
    assert len(blocks) >= 3
    scope: dict[str, object] = {}
    for block, said in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, "README.md", "exec"), scope)
        assert out.getvalue() == said


GUIDES = sorted((ROOT / "docs" / "guide").glob("*.md"))


@pytest.mark.parametrize("guide", GUIDES, ids=[guide.stem for guide in GUIDES])
def test_guide_python_runs_and_prints_what_it_says(guide):
    text = guide.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.S)
    assert blocks
    scope: dict[str, object] = {}
    for block, said in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, guide.name, "exec"), scope)
        assert out.getvalue() == said


GUIDE_LINES = [
    line
    for guide in GUIDES
    for line in re.findall(r"^orchestrace (.*?)(?:\s{2,}#.*)?$", guide.read_text("utf-8"), re.M)
]


@pytest.mark.parametrize("line", GUIDE_LINES)
def test_guide_commands_exist(line):
    test_readme_commands_exist(line)


def test_readme_report_is_what_it_prints():
    shown = re.search(r"\$ orchestrace (report \S+)\n(.*?)```", README, re.S)
    printed = [line.rstrip() for line in run(*shown[1].split()).out.splitlines()]
    for line in shown[2].splitlines():
        assert line in printed


@pytest.mark.parametrize("line", re.findall(r"^orchestrace (.*?)(?:\s{2,}#.*)?$", README, re.M))
def test_readme_commands_exist(line):
    words = line.split()
    assert words[0] in COMMANDS
    verb = words[:2] if words[0] == "env" else words[:1]
    about = run(*verb, "--help")
    assert about.code == 0
    for option in (word for word in words if word.startswith("--")):
        assert option in about.out


def test_readme_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"make ([a-z-]+)", README)):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_ci_runs_the_readme_commands():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "ORCHESTRACE_REQUIRE_SAMPLES=1" in script
    assert script.index("make test") < script.index("make check")


def test_reference_is_fresh():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_environment_and_each_of_its_settings_is_in_the_reference():
    from orchestrace.envs import ENVIRONMENTS

    page = (ROOT / "docs" / "reference" / "environments.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    assert set(sections) == set(ENVIRONMENTS)
    for name, entry in ENVIRONMENTS.items():
        assert entry.about in sections[name]
        for key in entry.parameters:
            assert f"| `{key}` |" in sections[name], f"{name}: {key}"


def test_every_field_of_the_report_has_its_line():
    page = (ROOT / "docs" / "reference" / "report.md").read_text(encoding="utf-8")
    bare = [line for line in page.splitlines() if line.startswith("| `") and re.search(r"\|\s*\|$", line)]
    assert bare == []


def test_every_reward_and_credit_method_is_in_the_reference():
    from orchestrace import rewards
    from orchestrace.credit import ADVANTAGE_METHODS, FLAT_METHODS, SHARE_METHODS

    reference = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md")}
    for module in (rewards.team, rewards.agent, rewards.role, rewards.process, rewards.tool, rewards.debate,
                   rewards.orchestration, rewards.parl, rewards.fold, rewards.wideseek):  # fmt: skip
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
               and callable(value) and not name.startswith("_") and not isinstance(value, type)]  # fmt: skip
        assert own
        for name in own:
            assert f"`{module.__name__.split('.')[-1]}.{name}`" in reference["rewards"], name
    reference["commands"] = re.sub(r"-\n\s+", "-", reference["commands"])  # a name that a line's end cut in two
    for channel in rewards.CHANNELS:
        assert f".{channel}`" in reference["rewards"]
        assert channel in reference["commands"]
    for name in (*SHARE_METHODS, *FLAT_METHODS, *ADVANTAGE_METHODS):
        assert name in reference["commands"]
    for method in ADVANTAGE_METHODS.values():
        assert f"| `{method.of.__name__}` |" in reference["credit"]


def test_every_credit_method_says_where_it_is_from():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import generate
    finally:
        sys.path.pop(0)
    found = list(generate.methods())
    kinds = {"share", "advantage", "shaped", "value", "text"}
    for method in found:
        assert [line for line in generate.METHOD_LINES if not method.lines.get(line)] == [], method.name
        assert set(method.lines["Kind"].split(", ")) <= kinds, method.name
        assert re.match("confirmed in code|secondary|ours|textbook", method.lines["Evidence"]), method.name
    assert len({method.name for method in found}) == len(found)


def test_torch_is_pinned_in_one_file_alone():
    pins = [
        path.name
        for path in [ROOT / "pyproject.toml", ROOT / "constraints.txt", ROOT / "Makefile"]
        if "torch==" in path.read_text(encoding="utf-8")
    ]
    assert pins == ["constraints.txt"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(d.startswith("torch>=") for d in project["optional-dependencies"]["train"])
