"""The shipped strategies: what they give, and what they say where hypothesis is missing."""

import builtins
import importlib
import sys

import msgspec
import pytest
from hypothesis import given

from orchestrace.testing.strategies import agents, dags, events
from orchestrace.trace import KINDS, Agent, kind


@given(agents())
def test_an_agent_survives_its_bytes(agent):
    assert agent.id
    assert msgspec.json.decode(msgspec.json.encode(agent), type=Agent) == agent


@given(events())
def test_an_event_survives_its_bytes(event):
    assert msgspec.json.decode(msgspec.json.encode(event), type=KINDS[kind(event)]) == event


@given(dags(max_nodes=6))
def test_a_dag_runs_forward(dag):
    assert dag.n <= 6
    assert all(0 <= src < dst < dag.n for src, dst in dag.edges)


def test_without_hypothesis_the_remedy_is_told(monkeypatch):
    real = builtins.__import__

    def refusing(name, *args):
        if name.startswith("hypothesis"):
            raise ModuleNotFoundError(name)
        return real(name, *args)

    monkeypatch.delitem(sys.modules, "orchestrace.testing.strategies")
    monkeypatch.setattr(builtins, "__import__", refusing)
    with pytest.raises(ImportError, match="orchestrace\\[test\\]"):
        importlib.import_module("orchestrace.testing.strategies")
