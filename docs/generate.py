"""Write docs/reference/*.md from the source: `python docs/generate.py`; `--check` says what is stale and exits 1.

The reference is what the code says of itself: docstrings of structs and their fields, commands and their options,
environments and their parameters. A test runs the check, so that a name without its line in the reference fails.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, get_args

from words import WORDS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "orchestrace"
REFERENCE = ROOT / "docs" / "reference"


class Field(NamedTuple):
    name: str
    annotation: str
    default: str | None
    about: str


class Struct(NamedTuple):
    name: str
    about: str
    tag: str | None
    fields: list[Field]


def structs(path: Path) -> Iterator[Struct]:
    """Every public class of a module that has annotated fields, with the docstring under each field."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        fields = []
        for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                about = ""
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                    about = str(after.value.value)
                default = None if statement.value is None else ast.unparse(statement.value)
                fields.append(Field(statement.target.id, ast.unparse(statement.annotation), default, about))
        tags = [k.value.value for k in node.keywords if k.arg == "tag" and isinstance(k.value, ast.Constant)]
        bases = {ast.unparse(base) for base in node.bases}
        if fields or tags or "EventFields" in bases:
            yield Struct(node.name, ast.get_docstring(node) or "", next(iter(tags), None), fields)


def struct_table(struct: Struct, level: int = 3) -> str:
    title = f"`{struct.tag}`" if struct.tag else f"`{struct.name}`"
    lines = [f"{'#' * level} {title}", "", struct.about, ""]
    if struct.fields:
        lines += ["| field | type | default | |", "|---|---|---|---|"]
        for field in struct.fields:
            default = "required" if field.default is None else f"`{field.default}`"
            lines.append(f"| `{field.name}` | `{_cell(field.annotation)}` | {_cell(default)} | {_cell(field.about)} |")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def vocabularies() -> Iterator[str]:
    """A table for each closed vocabulary of the trace, every value with its meaning.

    Raises:
      ValueError: the words and the source name different values.
    """
    from orchestrace.trace import events

    for name, (about, values) in WORDS.items():
        known = get_args(getattr(events, name))
        if set(known) != set(values):
            raise ValueError(f"docs/words.py, {name}: {sorted(set(known) ^ set(values))} are named in one place only")
        rows = [f"| `{value}` | {_cell(values[value])} |" for value in known]
        yield "\n".join([f"### `{name}`", "", about, "", "| value | |", "|---|---|", *rows, ""])


def trace_page() -> str:
    found = list(structs(SOURCE / "trace" / "events.py"))
    events = [s for s in found if s.tag]
    others = [s for s in found if not s.tag]
    common = next(s for s in others if s.name == "EventFields")
    header = ["# The trace", "", "Written by `python docs/generate.py` from `orchestrace.trace`.", ""]
    laws = ast.get_docstring(ast.parse((SOURCE / "trace" / "validate.py").read_text(encoding="utf-8"))) or ""
    parts = ["## Events", "", struct_table(common), *map(struct_table, events)]
    parts += ["## The document and its parts", "", *(struct_table(s) for s in reversed(others) if s is not common)]
    parts += ["## Closed vocabularies", "", *vocabularies()]
    return "\n".join([*header, *parts, "## Laws", "", "```text", laws, "```", ""])


def report_page() -> str:
    """The JSON of `orchestrace report --json`: every key, from the structs that it is."""
    parts = ["# The report", "", "Written by `python docs/generate.py` from `orchestrace.report` and `.metrics`.", ""]
    parts.append(ast.get_docstring(ast.parse((SOURCE / "report" / "document.py").read_text(encoding="utf-8"))) or "")
    parts.append("")
    found = list(structs(SOURCE / "report" / "document.py"))
    parts += [struct_table(s, 2) for s in reversed(found)]
    parts += [struct_table(s, 2) for s in structs(SOURCE / "report" / "credit.py")]
    parts += [struct_table(s, 2) for s in structs(SOURCE / "rewards" / "findings.py") if s.name == "Finding"]
    for module in ("parallelism", "critical_path", "collaboration", "overhead", "tokens"):
        parts += [struct_table(s, 2) for s in structs(SOURCE / "metrics" / f"{module}.py") if s.fields]
    return "\n".join(parts)


def commands_page() -> str:
    """Every command with its help, as it prints it."""
    import click

    from orchestrace.cli.main import COMMANDS, program

    parts = ["# Commands", "", "Written by `python docs/generate.py` from the commands' own help.", ""]
    named = {"help_option_names": program.context_settings["help_option_names"]}
    width = {"terminal_width": 100, "max_content_width": 100}
    ctx = click.Context(program, info_name="orchestrace", **width, **named)
    for name in COMMANDS:
        command = program.get_command(ctx, name)
        own = click.Context(command, info_name=name, parent=ctx, **width)
        parts += [f"## {name}", "", "```text", command.get_help(own), "```", ""]
        for verb in getattr(command, "commands", {}).values():
            inner = click.Context(verb, info_name=verb.name, parent=own, **width)
            parts += [f"### {name} {verb.name}", "", "```text", verb.get_help(inner), "```", ""]
    return "\n".join(parts)


_DECISIONS = f"""\
An orchestrator decides five things, numbered as in the survey (arXiv 2605.02801, section 8):

{chr(10).join(f"- {name}: {about}" for name, about in WORDS["SubDecision"][1].items())}

E1a, E2c, E5f and so on are our own numbers of environments; the digit is that of the decision. In those with voters
(E5c, E5d, E5f) the aggregate (O4) is the exact vote, and only when to ask and when to stop is learned.
"""


def environments_page() -> str:
    """Every environment with its parameters and baselines."""
    from orchestrace.envs import ENVIRONMENTS, by_name

    parts = ["# Environments", "", "Written by `python docs/generate.py` from `orchestrace.envs`.", "", _DECISIONS]
    for name, entry in ENVIRONMENTS.items():
        env = by_name(name, {})
        parts += [f"## {name}", "", entry.about, "", "| setting | default | range | |", "|---|---|---|---|"]
        for key, p in entry.parameters.items():
            parts.append(f"| `{key}` | {p.default:g} | {p.low:g} to {p.high:g} | {_cell(p.about)} |")
        parts += ["", "With the defaults:", "", "| policy | value |", "|---|---|"]
        values = {"optimum V*": env.optimal_value(), **env.baselines(), f"V_null ({env.null()[0]})": env.null()[1]}
        parts += [f"| {key} | {value:.5f} |" for key, value in values.items()] + [""]
    return "\n".join(parts)


def recipes_page() -> str:
    """Every key of a recipe."""
    from orchestrace.training import keys

    parts = ["# Recipes", "", "Written by `python docs/generate.py` from `orchestrace.training.recipe`.", ""]
    parts += [
        "A recipe is a TOML file. An unknown key is an error.",
        "",
        "| key | type | default | |",
        "|---|---|---|---|",
    ]
    for key in keys():
        default = f"`{key.default}`" if key.default else "required"
        parts.append(f"| `{key.name}` | `{_cell(key.type)}` | {_cell(default)} | {_cell(key.meaning)} |")
    return "\n".join([*parts, ""])


METHOD_LINES = ("Source", "Unit", "Kind", "Formula", "Data", "Evidence", "Departures")


class Method(NamedTuple):
    name: str
    about: str
    lines: dict[str, str]


def methods() -> Iterator[Method]:
    """Every credit method: a public function under `credit/methods`, described by the lines of its docstring."""
    for path in sorted((SOURCE / "credit" / "methods").glob("[a-z]*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield _method(node.name, ast.get_docstring(node) or "")


def _method(name: str, docstring: str) -> Method:
    lines: dict[str, str] = {}
    label = ""
    for line in docstring.splitlines():
        word, colon, rest = line.strip().partition(":")
        if colon and word in METHOD_LINES:
            label, lines[word] = word, rest.strip()
        elif label and line.startswith("  ") and line.strip():
            lines[label] += " " + line.strip()
        else:
            label = ""
    return Method(name, docstring.strip().partition("\n\n")[0], lines)


def credit_page() -> str:
    parts = ["# Credit methods", "", "Written by `python docs/generate.py` from `orchestrace.credit.methods`.", ""]
    parts += [
        "Kinds never mix: a *share* adds up to the team's value, an *advantage* is relative to a baseline and does",
        "not, a *shaped* reward is a reward. Evidence says how the method is known to us: read in its authors' code,",
        "from a secondary source, from a textbook, or ours. Sources and departures stand below the table.",
        "",
        "| method | unit | kind | formula | data needed | evidence |",
        "|---|---|---|---|---|---|",
    ]
    found = list(methods())
    for method in found:
        cells = [_cell(method.lines.get(key, "")) for key in ("Unit", "Kind", "Formula", "Data", "Evidence")]
        parts.append(f"| `{method.name}` | {' | '.join(cells)} |")
    for method in found:
        source, departures = (_cell(method.lines.get(key, "")) for key in ("Source", "Departures"))
        parts += ["", f"### `{method.name}`", "", " ".join(method.about.split()), ""]
        parts += [f"Source: {source}. Departures: {departures}".replace("..", ".")]
    return "\n".join([*parts, ""])


FAMILIES = ("team", "agent", "role", "process", "tool", "debate", "orchestration", "parl", "fold", "wideseek",
            "compose", "schedules", "balance", "waste", "drift")  # fmt: skip


def functions(path: Path) -> Iterator[tuple[str, str]]:
    """(name, docstring) of each public function of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, ast.get_docstring(node) or ""


def rewards_page() -> str:
    parts = ["# Rewards and detectors", "", "Written by `python docs/generate.py` from `orchestrace.rewards`.", ""]
    parts += [
        "A reward is a pure function of a trace and the evidence about it. It gives rows, or the reason why there",
    ]
    parts += ["are none; what is absent is never a 0.", ""]
    for name in FAMILIES:
        path = SOURCE / "rewards" / f"{name}.py"
        about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        parts += [f"## {name}", "", "```text", about, "```", ""]
        for function, docstring in functions(path):
            parts += [f"### `{name}.{function}`", "", "```text", docstring, "```", ""]
    return "\n".join(parts)


def rows_page() -> str:
    parts = ["# Training rows", "", "Written by `python docs/generate.py` from `orchestrace.rows`.", ""]
    for name in ("tokens", "rollouts", "rows", "batch", "weights"):
        path = SOURCE / "rows" / f"{name}.py"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        parts += [f"## {name}", "", "```text", ast.get_docstring(tree) or "", "```", ""]
        parts += [struct_table(struct) for struct in structs(path) if struct.fields]
        for function, docstring in functions(path):
            parts += [f"### `{function}`", "", "```text", docstring, "```", ""]
    return "\n".join(parts)


def annotations_page() -> str:
    parts = ["# Annotations", "", "Written by `python docs/generate.py` from `orchestrace.annotations`.", ""]
    parts += [
        "Results about a trace, kept beside it: `orchestrace credit -o FILE` writes one `Annotations` a line.",
        "",
    ]
    for name in ("records", "evidence", "coalitions"):
        parts += [struct_table(struct, 2) for struct in structs(SOURCE / "annotations" / f"{name}.py")]
    return "\n".join(parts)


PAGES = {
    "annotations.md": annotations_page,
    "rewards.md": rewards_page,
    "rows.md": rows_page,
    "credit.md": credit_page,
    "trace.md": trace_page,
    "report.md": report_page,
    "commands.md": commands_page,
    "environments.md": environments_page,
    "recipes.md": recipes_page,
}


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = []
    for name, page in PAGES.items():
        path, text = REFERENCE / name, page()
        if check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale:
        print(f"docs/reference: stale: {', '.join(stale)}; run: python docs/generate.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
