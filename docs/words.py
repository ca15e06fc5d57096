"""What the values of the trace's closed vocabularies mean; `generate.py` writes them into the reference.

The names of topologies, sub-decisions and attack vectors are the survey's (arXiv 2605.02801: sections 4, 8 and 10).
"""

WORDS: dict[str, tuple[str, dict[str, str]]] = {
    "Topology": (
        "The form of the team; the survey's names.",
        {
            "centralized": "one orchestrator spawns sub-agents and takes up what comes back",
            "planner_executor_critic": "three roles; the critic closes the loop",
            "debate": "agents argue, and one of them or a rule decides",
            "swarm": "many agents of nearly one kind work side by side",
            "hierarchical": "sub-agents spawn sub-agents of their own",
            "harness": "a product wraps model, tools, prompts and execution",
            "mixed": "several of these",
            "unknown": "nobody says",
        },
    ),
    "SubDecision": (
        "The five decisions of an orchestrator, numbered as in the survey.",
        {
            "O1": "when to spawn an agent, and how many",
            "O2": "whom to delegate to",
            "O3": "how and what to communicate",
            "O4": "how to aggregate what comes back",
            "O5": "when to stop",
        },
    ),
    "Evidence": (
        "How an edge is known; ours.",
        {
            "explicit": "by an id that the producer wrote",
            "matched": "by a unique text, prompt or name",
            "positional": "by order or time alone",
        },
    ),
    "EdgeType": (
        "What an edge says; `delegate` and `memory` are ours, the others the survey's.",
        {
            "causal": "a turn caused the event that it wrote; a tool result or a person's word led to the next turn",
            "spawn": "from a spawn to the first event of the agent that it made",
            "delegate": "from a delegate to the next event of the agent that got the task",
            "message": "from a message that arrived to the next turn of its receiver",
            "tool_dependency": "from a tool call to its result",
            "return": "from a return to the next turn of the agent that it answers",
            "aggregate": "from a return or message to the aggregate that took it up",
            "memory": "from a write to shared memory to a read of the same key",
            "safety_flow": "from an event of untrusted text to the action that it reached",
            "temporal": "order inside one agent; never written by us, kept from a survey file",
        },
    ),
    "AttackVector": (
        "The survey's eight ways to attack a team.",
        {
            "AV1": "direct prompt injection, by a user",
            "AV2": "indirect prompt injection, by the output of a tool",
            "AV3": "an agent pollutes the messages between agents",
            "AV4": "an agent poisons the shared memory",
            "AV5": "escalation through the parameters of a tool",
            "AV6": "the orchestrator is misled",
            "AV7": "reward hacking across agents",
            "AV8": "a spawned agent escapes its sandbox",
        },
    ),
}
"""Name of the type -> (what it is, value -> what it means)."""
