"""Write tests/golden/<name>/trace.json again: `python tests/golden/make.py`. All of them are ours."""

from pathlib import Path

from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    Choice,
    Delegate,
    Despawn,
    HumanIntervention,
    Memory,
    Message,
    OrchestratorDecision,
    Return,
    SafetyEvent,
    Spawn,
    Stop,
    Tokens,
    ToolCall,
    ToolResult,
    Trace,
    Turn,
    encode,
)

HERE = Path(__file__).parent


def smallest() -> Trace:
    """One agent, one turn."""
    b = Builder(trace_id="smallest", task_id="k")
    b.agent(Agent("main"))
    b.append(Turn, "main")
    return b.build()


def parallel() -> Trace:
    """Three agents at once, one aggregate, known times: work 1+4+2+3+1 = 11 s, span 6 s, wall 6 s."""
    b = Builder(trace_id="parallel", task_id="k", clock="simulated", topology="centralized")
    b.agent(Agent("lead", role="orchestrator"))
    b.append(HumanIntervention, "lead", t=0.0, initial=True, content=b.text("three things at once"))
    asked = b.append(Turn, "lead", t=0.0, duration_s=1.0, tokens=Tokens(input=10, output=30))
    b.append(OrchestratorDecision, "lead", t=1.0, turn=asked.id, choice=Choice("O1", ("1", "2", "3"), 2, logprob=-0.5))
    for name in ("a", "b", "c"):
        b.agent(Agent(name, role="worker", parent="lead"))
        b.append(Spawn, "lead", to=name, turn=asked.id, t=1.0, content=b.text(f"do {name}"))
    turns = {n: b.append(Turn, n, t=1.0, duration_s=d, tokens=Tokens(output=10)) for n, d in (("a", 4.0), ("b", 2.0))}
    call = b.append(ToolCall, "c", tool="search", t=1.0, duration_s=2.0)
    b.append(ToolResult, "c", tool="search", call=call.id, t=3.0, trusted=False)
    back = [b.append(Return, "b", to="lead", turn=turns["b"].id, t=3.0)]
    turns["c"] = b.append(Turn, "c", t=3.0, duration_s=1.0, tokens=Tokens(output=10))
    back.append(b.append(Return, "c", to="lead", turn=turns["c"].id, t=4.0))
    back.append(b.append(Return, "a", to="lead", turn=turns["a"].id, t=5.0))
    last = b.append(Turn, "lead", t=5.0, duration_s=1.0, tokens=Tokens(input=40, output=20))
    b.append(Aggregate, "lead", turn=last.id, t=6.0, inputs=tuple(event.id for event in back))
    b.append(Stop, "lead", turn=last.id, t=6.0)
    return b.build(rewards={"team": 1.0})


def nested() -> Trace:
    """Three levels; the middle one spawns; one leaf fails, and nobody reads it."""
    b = Builder(trace_id="nested", task_id="k", clock="simulated", topology="hierarchical")
    b.agent(Agent("top"))
    b.append(Turn, "top", t=0.0, duration_s=1.0)
    b.agent(Agent("mid", parent="top"))
    b.append(Spawn, "top", to="mid", t=1.0)
    b.append(Turn, "mid", t=1.0, duration_s=1.0)
    for leaf in ("leaf0", "leaf1"):
        b.agent(Agent(leaf, parent="mid"))
        b.append(Spawn, "mid", to=leaf, t=2.0)
    b.append(Turn, "leaf0", t=2.0, duration_s=1.0)
    b.append(Turn, "leaf0", t=3.0, duration_s=1.0)
    b.append(Return, "leaf0", to="mid", t=4.0)
    last = b.append(Turn, "mid", t=4.0, duration_s=1.0)
    b.append(Aggregate, "mid", inputs=("leaf0.2",), turn=last.id, t=5.0)
    b.append(Return, "leaf1", to="mid", status="failed", t=5.0)
    b.append(Return, "mid", to="top", t=5.0)
    b.append(Turn, "top", t=5.0, duration_s=1.0)
    return b.build()


def talk() -> Trace:
    """Messages, shared memory, a guard, a person, a follow-up task, an end."""
    b = Builder(trace_id="talk", task_id="k", clock="simulated", topology="swarm")
    b.agent(Agent("lead"))
    b.agent(Agent("peer", parent="lead"))
    b.append(HumanIntervention, "lead", t=0.0, initial=True)
    b.append(Turn, "lead", t=0.0, duration_s=1.0, tokens=Tokens(output=8))
    b.append(Spawn, "lead", to="peer", t=1.0)
    b.append(Turn, "peer", t=1.0, duration_s=1.0, tokens=Tokens(output=8))
    b.append(Memory, "peer", op="write", key="plan", t=2.0)
    b.append(Message, "peer", to="lead", delivered=True, t=2.0, content=b.text("done"))
    b.append(Message, "peer", to="lead", delivered=False, t=2.0, content=b.text("done"))
    b.append(Return, "peer", to="lead", t=2.0)
    b.append(Turn, "lead", t=2.0, duration_s=1.0, tokens=Tokens(output=8))
    b.append(Memory, "lead", op="read", key="plan", t=3.0)
    b.link("peer.1", "lead.4", "memory")
    b.append(SafetyEvent, "lead", kind="permission_denied", vector="AV5", blocked=True, t=3.0)
    b.append(HumanIntervention, "lead", kind="answer", t=9.0)
    b.append(Delegate, "lead", to="peer", t=9.0)
    b.append(Turn, "peer", t=9.0, duration_s=1.0, tokens=Tokens(output=8))
    b.append(Return, "peer", to="lead", t=10.0)
    b.append(Turn, "lead", t=10.0, duration_s=1.0, tokens=Tokens(output=8))
    b.append(Stop, "lead", t=11.0)
    b.append(Despawn, "lead", to="peer", t=11.0, reason="finished")
    return b.build()


def broken() -> bytes:
    """A document that decodes and breaks laws 1 to 8: what `validate` must say of it is in the questions."""
    return (
        b'{"schema":1,"trace_id":"broken","task_id":"k","agents":[{"id":"main"},{"id":"w","parent":"main"}],"events":['
        b'{"type":"turn","id":"w.0","agent":"w","t":5.0},'
        b'{"type":"spawn","id":"main.0","agent":"main","t":4.0,"to":"w","turn":"w.0"},'
        b'{"type":"tool_result","id":"main.0","agent":"main","call":"x"},'
        b'{"type":"aggregate","id":"main.2","agent":"main","inputs":["w.0"]},'
        b'{"type":"stop","id":"w.1","agent":"w","t":4.0},'
        b'{"type":"return","id":"w.2","agent":"w","to":"w"}],'
        b'"edges":[{"src":"main.2","dst":"w.0","type":"causal"},{"src":"w.0","dst":"main.0","type":"causal"}]}'
    )


def main() -> None:
    """Write every golden."""
    for make in (smallest, parallel, nested, talk, broken):
        folder = HERE / make.__name__
        folder.mkdir(exist_ok=True)
        made = make()
        (folder / "trace.json").write_bytes(made if isinstance(made, bytes) else encode(made))


if __name__ == "__main__":
    main()
