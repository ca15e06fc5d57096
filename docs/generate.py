"""Write docs/reference/*.md from the source: `python docs/generate.py`; `--check` says what is stale and exits 1.

The reference is what the code says of itself: docstrings of structs and their fields, commands and their options,
environments and their parameters. A test runs the check, so that a name without its line in the reference fails.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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


def trace_page() -> str:
    found = list(structs(SOURCE / "trace" / "events.py"))
    events = [s for s in found if s.tag]
    others = [s for s in found if not s.tag]
    common = next(s for s in others if s.name == "EventFields")
    header = ["# The trace", "", "Written by `python docs/generate.py` from `orchestrace.trace`.", ""]
    laws = ast.get_docstring(ast.parse((SOURCE / "trace" / "validate.py").read_text(encoding="utf-8"))) or ""
    parts = ["## Events", "", struct_table(common), *map(struct_table, events)]
    parts += ["## The document and its parts", "", *(struct_table(s) for s in reversed(others) if s is not common)]
    return "\n".join([*header, *parts, "## Laws", "", "```text", laws, "```", ""])


PAGES = {"trace.md": trace_page}


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
