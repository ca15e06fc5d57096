"""What the import linter cannot see: surfaces, built-ins, start-up."""

import ast
import subprocess
import sys

import pytest

from architecture.source import OPEN_MODULES, PACKAGE, contract, modules, offered, tree

ALL = list(modules())
PURE = {"errors", "trace", "annotations", "metrics", "rewards", "credit", "rows", "report"}


def _pure(name: str) -> bool:
    return bool(set(name.split(".")[1:2]) & PURE)


def test_pure_list_matches_the_layers():
    layers = [part.strip(" ()") for layer in contract("layers")["layers"] for part in layer.split("|")]
    line = layers.index("adapters")
    below = {name for name in layers[line:] if (PACKAGE / name).exists() or (PACKAGE / f"{name}.py").exists()}
    below -= {part.strip(" ()") for part in contract("layers")["layers"][6].split("|")}
    assert {f"orchestrace.{name}" for name in below} == set(contract("pure")["source_modules"])


@pytest.mark.parametrize(("name", "path"), [m for m in ALL if _pure(m[0])], ids=[n for n, _ in ALL if _pure(n)])
def test_pure_half_opens_and_prints_nothing(name, path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input", "eval", "exec", "__import__"}, (
                f"{name}: {node.lineno}"
            )


@pytest.mark.parametrize(
    ("name", "path"), [m for m in ALL if m[1].name == "__init__.py"], ids=[n for n, p in ALL if p.name == "__init__.py"]
)
def test_init_is_docstring_imports_and_sorted_all(name, path):
    body = tree(path).body
    assert ast.get_docstring(tree(path)), f"{name} says nothing about itself"
    exported = []
    for node in body[1:]:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            exported = [element.value for element in node.value.elts]
        else:
            allowed = isinstance(node, ast.Import | ast.ImportFrom)
            assert allowed or (name == "orchestrace" and isinstance(node, ast.Assign)), f"{name}: line {node.lineno}"
    assert exported == sorted(exported, key=lambda n: (not n.isupper(), not n[0].isupper(), n)), f"{name}: sort __all__"
    imported = [alias.asname or alias.name for n in body if isinstance(n, ast.ImportFrom) for alias in n.names]
    assert set(imported) <= set(exported), f"{name}: imported but not offered: {set(imported) - set(exported)}"


@pytest.mark.parametrize(("name", "path"), ALL, ids=[name for name, _ in ALL])
def test_only_the_offered_names_cross_a_border(name, path):
    """From another subpackage import only what its `__init__` offers, or a module that is imported by name."""
    own = ".".join(name.split(".")[:2])
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("orchestrace."):
            continue
        target = ".".join(node.module.split(".")[:2])
        if target == own or target == "orchestrace.errors" or node.module in OPEN_MODULES or name == "orchestrace":
            continue
        full = {f"{node.module}.{alias.name}" for alias in node.names}
        if full <= set(OPEN_MODULES):
            continue
        assert node.module == target, f"{name}: line {node.lineno} reaches into {node.module}"
        wrong = {alias.name for alias in node.names} - offered(target) - {m.split(".")[-1] for m in OPEN_MODULES}
        assert not wrong, f"{name}: line {node.lineno}: {target} does not offer {sorted(wrong)}"


def test_environment_is_read_in_one_file():
    readers = []
    for name, path in ALL:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}:
                readers.append(name)
    assert set(readers) <= {"orchestrace.cli.environment"}, sorted(set(readers))


def test_inheritance_is_shallow():
    bases = {}
    for _, path in ALL:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [b.id for b in node.bases if isinstance(b, ast.Name)]

    def depth(name: str) -> int:
        return 1 + max((depth(b) for b in bases[name] if b in bases and b != name), default=0)

    assert {name for name in bases if depth(name) > 3} == set()  # Exception trees: root, boundary, kind


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import orchestrace", ["numpy", "torch", "rich", "click", "asyncio", "jsonschema"]),
        ("import orchestrace.cli.main", ["numpy", "torch", "rich", "jsonschema"]),
        ("import orchestrace.training", ["torch"]),
        ("import orchestrace.report", ["torch", "rich"]),
        ("import orchestrace.envs, orchestrace.envs.wrappers", ["torch", "gymnasium", "pettingzoo"]),
        ("import orchestrace.testing.envs", ["torch", "gymnasium", "pettingzoo"]),
    ],
)
def test_imports_stay_light(statement, absent):
    code = f"import sys; {statement}; print([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
