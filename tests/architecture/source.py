"""The source tree as the architecture tests see it."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "orchestrace"


def modules() -> Iterator[tuple[str, Path]]:
    """(dotted name, file) of every module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """(qualified name, node, is a method) of every function in a file."""

    def walk(node: ast.AST, prefix: str, in_class: bool) -> Iterator[Any]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{prefix}{child.name}", child, in_class
                yield from walk(child, f"{prefix}{child.name}.", False)
            elif isinstance(child, ast.ClassDef):
                yield from walk(child, f"{prefix}{child.name}.", True)
            else:
                yield from walk(child, prefix, in_class)

    yield from walk(tree(path), "", False)


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def contract(identity: str) -> dict[str, Any]:
    return next(c for c in project()["tool"]["importlinter"]["contracts"] if c["id"] == identity)


OPEN_MODULES = {
    # modules that are imported by name, because their package's __init__ must stay light
    "orchestrace.trace.graph": "needs numpy",
    "orchestrace.trace.views": "needs numpy",
    "orchestrace.trace.edit": "needs numpy",
    "orchestrace.trace.survey": "one foreign form, read by name",
    "orchestrace.envs.wrappers.gymnasium_form": "needs gymnasium",
    "orchestrace.envs.wrappers.pettingzoo_form": "needs pettingzoo",
    "orchestrace.training.credit_quality": "what eval --credit prints; the rest of training need not load it",
    "orchestrace.training.loop": "needs torch",
}


@cache
def offered(package: str) -> frozenset[str]:
    """The `__all__` of a subpackage (`orchestrace.trace`)."""
    path = PACKAGE / package.split(".")[1] / "__init__.py"
    for node in tree(path).body if path.exists() else ():
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return frozenset(element.value for element in node.value.elts)
    return frozenset()


def is_public(module: str, qualified: str) -> bool:
    """Whether users call it: offered by its package or in a module imported by name, and private nowhere."""
    if any(part.startswith("_") for part in qualified.split(".")):
        return False
    package = ".".join(module.split(".")[:2])
    return module in OPEN_MODULES or module.count(".") == 1 or qualified.split(".")[0] in offered(package)
