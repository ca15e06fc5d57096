"""Small teams with a known game."""

from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    Message,
    Return,
    Spawn,
    Stop,
    Tokens,
    ToolCall,
    ToolResult,
    Turn,
)


def vote(*votes, right="A", roles=True):
    """An orchestrator that asks voters side by side, counts their votes and stops."""
    b = Builder(trace_id="vote", task_id="q", clock="simulated")
    b.agent(Agent("lead", role="orchestrator" if roles else ""))
    first = b.append(Turn, "lead", t=0.0, tokens=Tokens(output=5))
    for i in range(len(votes)):
        b.agent(Agent(f"v{i}", role="voter" if roles else "", parent="lead"))
        b.append(Spawn, "lead", to=f"v{i}", turn=first.id, t=0.0)
    returned = []
    for i, said in enumerate(votes):
        turn = b.append(Turn, f"v{i}", t=1.0, tokens=Tokens(output=3))
        answer = b.append(Return, f"v{i}", to="lead", turn=turn.id, t=2.0, content=b.text(said), token_span=(1, 3))
        returned.append(answer.id)
    last = b.append(Turn, "lead", t=3.0)
    b.append(Aggregate, "lead", method="vote", inputs=tuple(returned), turn=last.id, t=3.0)
    b.append(Stop, "lead", turn=last.id, t=3.0, content=b.text(right))
    return b.build(rewards={"team": 1.0}, blobs=b.blobs)


def research():
    """Two workers, one with a tool and a message to the other; the lead merges what comes back."""
    b = Builder(trace_id="research", task_id="q", clock="simulated")
    b.agent(Agent("lead", role="lead"))
    plan = b.append(Turn, "lead", t=0.0, tokens=Tokens(output=4))
    for name in ("ann", "bob"):
        b.agent(Agent(name, role="worker", parent="lead"))
        b.append(Spawn, "lead", to=name, turn=plan.id, t=0.0)
    look = b.append(Turn, "ann", t=1.0, tokens=Tokens(output=6))
    call = b.append(ToolCall, "ann", tool="search", turn=look.id, t=1.0, token_span=(0, 2))
    b.append(ToolResult, "ann", tool="search", call=call.id, t=2.0, content=b.text("found"))
    b.append(Message, "ann", to="bob", turn=look.id, t=2.0, delivered=True, token_span=(2, 5), content=b.text("hint"))
    tell = b.append(Turn, "ann", t=2.0)
    one = b.append(Return, "ann", to="lead", turn=tell.id, t=3.0, content=b.text("x"))
    work = b.append(Turn, "bob", t=3.0)
    two = b.append(Return, "bob", to="lead", turn=work.id, t=4.0, content=b.text("y"))
    merge = b.append(Turn, "lead", t=5.0)
    b.append(Aggregate, "lead", method="model", inputs=(one.id, two.id), turn=merge.id, t=5.0)
    b.append(Stop, "lead", turn=merge.id, t=5.0, content=b.text("x and y"))
    return b.build(rewards={"team": 1.0}, blobs=b.blobs)
