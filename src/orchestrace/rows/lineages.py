"""Lineages: which turns carry one conversation on.

A lineage is a sequence of turns of one agent, each of whose prompts begins with everything before it. Two agents never
share one. An agent has several where its context was folded, where it got another context, where one prompt was sampled
more than once, and where it calls its model on the side.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from orchestrace.errors import InputError
from orchestrace.rows.merge import Relation, Step, mismatch_message, relation, run_after, shared_prefix
from orchestrace.rows.tokens import Ids
from orchestrace.trace import Trace, views

Beginning = Literal["start", "compaction", "new_context", "resampled", "mismatch", "policy", "no_prompt"]
"""Why a lineage begins: the agent's first; its context was folded; as `merge.Relation` says of it and the lineage that
it shares most with; other weights go on with the same context; its prompt ids were not recorded."""
OnMismatch = Literal["error", "split"]

_REMEDY = (
    'label the turn `compaction` if its context was folded, or pass on_mismatch="split" if the harness shows agents '
    "their earlier words changed (a chat template that drops reasoning, text that is tokenised again)"
)


class Lineage(NamedTuple):
    """Turns of one agent that carry each other on, in order."""

    agent: str
    steps: tuple[Step, ...]
    began: Beginning


def lineages(trace: Trace, steps: Mapping[str, Step], *, on_mismatch: OnMismatch = "error") -> tuple[Lineage, ...]:
    """The lineages of a trace, in the order of their first turns.

    A turn goes on with the lineage whose run its prompt begins with: the longest such run, of equal ones the latest. A
    turn with the label `compaction` closes every lineage of its agent. Turns that have no step are passed over.

    Args:
      trace: says in which order turns stand, and where contexts were folded.
      steps: turn id -> its tokens.
      on_mismatch: what to do where a prompt has an agent say what it did not say; `split` begins a lineage.

    Raises:
      InputError: there is a mismatch, and on_mismatch is `error`. The message shows both token runs.
    """
    found: list[_Growing] = []
    open_: defaultdict[str, list[_Growing]] = defaultdict(list)
    fresh: defaultdict[str, Beginning] = defaultdict(lambda: "start")
    for turn in views.turns(trace):
        if turn.labels.get(views.COMPACTION):
            open_[turn.agent].clear()
            fresh[turn.agent] = "compaction"
        step = steps.get(turn.id)
        if step is None:
            continue
        if step.tokens.prompt is None:
            found.append(_Growing(step, "no_prompt", step.tokens.ids))
            continue
        began = fresh[turn.agent]
        match = _closest(open_[turn.agent], step.tokens.prompt)
        if match is not None:
            if _goes_on(match, step):
                match.lineage.add(step)
                continue
            if match.relation == "mismatch" and on_mismatch == "error":
                raise _refusal(trace, match, step)
            began = "policy" if match.relation == "extends" else match.relation
        found.append(_Growing(step, began, run_after(step)))
        open_[turn.agent].append(found[-1])
    return tuple(Lineage(grown.steps[0].turn.agent, tuple(grown.steps), grown.began) for grown in found)


class _Growing:
    """A lineage that may go on."""

    def __init__(self, step: Step, began: Beginning, run: Ids) -> None:
        self.steps = [step]
        self.began: Beginning = began
        self.run = run

    def add(self, step: Step) -> None:
        self.steps.append(step)
        self.run = run_after(step)


class _Match(NamedTuple):
    """The lineage that a prompt has most in common with."""

    lineage: _Growing
    shared: int
    """Tokens in common, from the first on."""
    relation: Relation


def _closest(candidates: Iterable[_Growing], prompt: Ids) -> _Match | None:
    """One that the prompt extends before any other; then the most tokens in common; then the latest."""
    best: tuple[bool, int] = (False, -1)
    found = None
    for lineage in candidates:
        shared = shared_prefix(lineage.run, prompt)
        rank = (shared == len(lineage.run), shared)
        if rank >= best:
            best, found = rank, lineage
    if found is None:
        return None
    return _Match(found, best[1], relation(found.steps, prompt, shared=best[1]))


def _goes_on(match: _Match, step: Step) -> bool:
    """Whether a turn carries the lineage on, with the same weights."""
    last = match.lineage.steps[-1]
    return match.relation == "extends" and (last.policy, last.version) == (step.policy, step.version)


def _refusal(trace: Trace, match: _Match, step: Step) -> InputError:
    problem = mismatch_message(match.lineage.steps, step, shared=match.shared)
    return InputError(problem, place=f"trace {trace.trace_id!r}, event {step.turn.id!r}", remedy=_REMEDY)
