"""Size is a design signal: budgets, and the waivers with their reasons."""

import ast

import pytest

from architecture.source import functions, is_public, modules, tree

MODULE_LINES, MODULE_LIMIT = 400, 600
FUNCTION_LINES, FUNCTION_LIMIT = 40, 80
PARAMETERS = 8
POSITIONAL = 2
PUBLIC_METHODS = 15
PURE_LINES = 18000
"""All of the pure half together; raised only by an ADR (the latest: 0008)."""

FORBIDDEN_NAMES = {"utils", "helpers", "common", "core", "base", "manager", "misc", "types"}

WAIVERS = {
    # "module:qualified name" or "module": reason
    "orchestrace.trace.events": "the closed union of event kinds is read as one page",
    "orchestrace.trace.build:Builder.link": "src, dst, type is how an edge is said",
    "orchestrace.trace.assemble:Assembler.link": "src, dst, type is how an edge is said",
    "orchestrace.trace.order:ordering": "times, writers, links are the three columns of one table",
    "orchestrace.envs.protocol:Env.step": "states, actions, rng: the shape of every array environment in the field",
    "orchestrace.envs.table_env:TableEnv.step": "the same, implemented",
    "orchestrace.envs.protocol:Env": "what an environment offers, read as one page",
}

ALL = list(modules())


@pytest.mark.parametrize(("name", "path"), ALL, ids=[name for name, _ in ALL])
def test_module_is_small(name, path):
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= (MODULE_LIMIT if name in WAIVERS else MODULE_LINES), f"{name} has {lines} lines: split it"
    assert path.stem not in FORBIDDEN_NAMES, f"{name}: the name says nothing"


@pytest.mark.parametrize(("name", "path"), ALL, ids=[name for name, _ in ALL])
def test_functions_are_small(name, path):
    for qualified, node, is_method in functions(path):
        key = f"{name}:{qualified}"
        lines = node.end_lineno - node.lineno + 1
        assert lines <= (FUNCTION_LIMIT if key in WAIVERS else FUNCTION_LINES), f"{key} has {lines} lines"
        positional = len(node.args.posonlyargs + node.args.args) - is_method
        total = positional + len(node.args.kwonlyargs)
        assert total <= PARAMETERS, f"{key} has {total} parameters"
        if is_public(name, qualified) and key not in WAIVERS:
            assert positional <= POSITIONAL, f"{key}: keyword-only after the second parameter, it has {positional}"


@pytest.mark.parametrize(("name", "path"), ALL, ids=[name for name, _ in ALL])
def test_classes_are_small(name, path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef):
            public = [f for f in node.body if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")]
            assert len(public) <= PUBLIC_METHODS or f"{name}:{node.name}" in WAIVERS, f"{name}:{node.name}"


def test_pure_half_is_small():
    pure = {"errors", "trace", "annotations", "metrics", "rewards", "credit", "rows", "report"}
    lines = sum(path.read_text(encoding="utf-8").count("\n") for name, path in ALL if set(name.split(".")[1:2]) & pure)
    assert lines <= PURE_LINES


def test_no_waiver_is_stale():
    names = {name for name, _ in ALL} | {f"{name}:{q}" for name, path in ALL for q, _, _ in functions(path)}
    names |= {
        f"{name}:{node.name}" for name, path in ALL for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)
    }
    assert set(WAIVERS) <= names, sorted(set(WAIVERS) - names)
