"""Teams whose turns have tokens: by hand, and at random."""

from random import Random

from hypothesis import strategies as st

from orchestrace.rows import packed
from orchestrace.trace import Agent, Builder, Generation, Harness, Return, Spawn, Stop, Trace, Turn

POLICY = "actor"


class Team:
    """A builder whose turns have tokens. Each agent has a context, a list of token ids, which grows as it goes on."""

    def __init__(self, trace_id="t", **header):
        self.builder = Builder(
            trace_id=trace_id,
            **{"task_id": "task", "rewards": {"outcome": 1.0}, "harness": Harness("h", hash="h1"), **header},
        )
        self.context: dict[str, list[int]] = {}
        self.builder.agent(Agent("main", role="lead", policy=POLICY))

    def blob(self, kind, values):
        return self.builder.text(packed(kind, values)).hash

    def spawn(self, by, agent, *, role="worker", policy=POLICY, **fields):
        self.builder.agent(Agent(agent, role=role, parent=by, policy=policy))
        return self.builder.append(Spawn, by, to=agent, **fields)

    def turn(self, agent, ids, *, prompt=None, logprobs=None, mask=None, compaction=False, version=3, policy=None):
        """One call on the agent's context, or on `prompt`; logprobs are -1, -2... where none are given."""
        prompt = self.context.get(agent, []) if prompt is None else prompt
        logprobs = [-float(i + 1) for i in range(len(ids))] if logprobs is None else logprobs
        made = Generation(
            prompt_hash=self.blob("ids", prompt),
            token_ids=self.blob("ids", ids),
            logprobs=self.blob("logprobs", logprobs),
            loss_mask=None if mask is None else self.blob("mask", mask),
            policy_version=version,
        )
        self.context[agent] = [*prompt, *ids]
        labels = {"compaction": True} if compaction else {}
        return self.builder.append(Turn, agent, generation=made, labels=labels, policy=policy)

    def hears(self, agent, ids):
        """Tokens that others wrote into the agent's context."""
        self.context.setdefault(agent, []).extend(ids)

    def trace(self, *, stop="answer", **header) -> Trace:
        if stop is not None:
            self.builder.append(Stop, "main", reason=stop)
        return self.builder.build(blobs=self.builder.blobs, **header)


def teams(*, trace_id="t", **header) -> st.SearchStrategy[Trace]:
    """Teams of one root and up to three others that take turns in any order, stop, and keep their token arrays.

    Tokens are few, so that runs agree by chance; contexts are folded, replaced, rewritten and sampled again.
    """
    return st.builds(_team, st.randoms(use_true_random=False), st.just(trace_id), st.just(header))


def _team(die: Random, trace_id: str, header) -> Trace:
    team = Team(trace_id, **header)
    agents = ["main"]
    for number in range(die.randrange(4)):
        agents.append(f"w{number}")
        team.spawn("main", agents[-1], role=die.choice(["worker", "critic"]))
    for agent in agents:
        team.hears(agent, _ids(die, 1, 4))
    for _ in range(die.randrange(12)):
        _act(die, team, die.choice(agents))
    for agent in agents[1:]:
        team.builder.append(Return, agent, to="main")
    return team.trace()


def _act(die: Random, team: Team, agent: str) -> None:
    happens = die.choice(["goes on"] * 6 + ["folded", "replaced", "rewritten", "sampled again"])
    before = list(team.context[agent])
    if happens in ("folded", "replaced"):
        team.context[agent] = _ids(die, 1, 4)
    elif happens == "rewritten" and before:
        team.context[agent][die.randrange(len(before))] = die.randrange(3)
    ids = _ids(die, 0, 4)
    mask = None if die.random() < 0.7 else [die.random() < 0.5 for _ in ids]
    team.turn(agent, ids, mask=mask, compaction=happens == "folded", version=die.choice([3, 3, 3, 4]))
    if happens == "sampled again":
        team.context[agent] = before
    team.hears(agent, _ids(die, 0, 3))


def _ids(die: Random, least: int, most: int) -> list[int]:
    return [die.randrange(3) for _ in range(die.randint(least, most))]
