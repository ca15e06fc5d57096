"""Golden traces with questions: a new behaviour is a new row, reviewed as a diff."""

import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from golden import make
from orchestrace.credit import assigned, nesting
from orchestrace.report import headline, report
from orchestrace.trace import Trace, decode, digest, encode, kind, observations, violations
from orchestrace.trace.graph import Graph
from orchestrace.trace.views import depths, spawn_tree, stages, statuses

HERE = Path(__file__).parent
NAMES = sorted(path.parent.name for path in HERE.glob("*/questions.toml"))


def _figure(section: str, name: str) -> Callable[[Trace], Any]:
    return lambda trace: getattr(getattr(report(trace), section), name)


QUESTIONS: dict[str, Callable[[Trace], Any]] = {
    "counts": lambda trace: dict(Counter(kind(event) for event in trace.events)),
    "edges": lambda trace: dict(Counter(edge.type for edge in trace.edges)),
    "digest": lambda trace: digest(trace)[:16],
    "laws_broken": lambda trace: sorted({v.law for v in violations(trace)}),
    "violations": lambda trace: [str(v) for v in violations(trace)],
    "observations": observations,
    "depths": depths,
    "statuses": statuses,
    "roots": lambda trace: list(spawn_tree(trace).roots),
    "stages": lambda trace: len(stages(trace)),
    "longest_path": lambda trace: Graph.of(trace).longest_path(np.ones(len(trace.events))).length,
    "levels": lambda trace: int(Graph.of(trace).levels().max()) + 1,
    "descendants": lambda trace: {e.id: len(Graph.of(trace).descendants(i)) for i, e in enumerate(trace.events)},
    "headline": lambda trace: headline(report(trace)),
    "work_s": _figure("parallelism", "work_s"),
    "span_s": _figure("parallelism", "span_s"),
    "elapsed_s": _figure("parallelism", "elapsed_s"),
    "human_s": _figure("parallelism", "human_s"),
    "wall_s": _figure("parallelism", "wall_s"),
    "peak_concurrency": _figure("parallelism", "peak_concurrency"),
    "critical_steps": _figure("parallelism", "critical_steps"),
    "unconsumed_returns": _figure("collaboration", "unconsumed_returns"),
    "undelivered": _figure("collaboration", "undelivered"),
    "redundancy": _figure("collaboration", "redundancy"),
    "output_tokens": _figure("tokens", "output"),
    "wasted_tokens": _figure("credit", "wasted_tokens"),
    "findings": lambda trace: [finding.says for finding in report(trace).credit.findings],
    "units": lambda trace: dict(Counter(unit.kind for unit in nesting(trace, "message").units.values())),
    "parents_of_turns": lambda trace: assigned([trace], [1.0], unit="turn").rows.parent.tolist(),
}


def _cases() -> list[tuple[str, str, Any]]:
    found = []
    for name in NAMES:
        questions = tomllib.loads((HERE / name / "questions.toml").read_text(encoding="utf-8"))
        found += [(name, question, answer) for question, answer in questions.items()]
    return found


@pytest.mark.parametrize(("name", "question", "answer"), _cases())
def test_question(name, question, answer):
    assert QUESTIONS[question](decode((HERE / name / "trace.json").read_bytes())) == answer


@pytest.mark.parametrize("name", NAMES)
def test_goldens_are_what_the_script_writes(name):
    made = getattr(make, name)()
    assert (HERE / name / "trace.json").read_bytes() == (made if isinstance(made, bytes) else encode(made))


def test_every_question_is_asked_somewhere():
    assert {question for _, question, _ in _cases()} == set(QUESTIONS)
