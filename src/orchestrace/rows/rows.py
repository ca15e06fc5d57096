"""Rows: one lineage of one agent as a prompt and a completion to train on."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from orchestrace.rows.advantages import PlacedCredit, RolloutCredit, placed_credit
from orchestrace.rows.lineages import Lineage, OnMismatch, lineages
from orchestrace.rows.merge import Span, Step, merged
from orchestrace.rows.rollouts import Rollout
from orchestrace.rows.tokens import Bools, Floats, Ids, sampled
from orchestrace.trace import Trace, Turn, views


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """What a trainer reads of one lineage: K tokens after a prompt of P."""

    prompt_ids: Ids | None
    """[P] of the first turn; None: not recorded."""
    completion_ids: Ids
    """[K] what the agent sampled, and between its turns what it was told."""
    loss_mask: Bools
    """[K] True where a token trains: it was sampled, its turn's mask lets it, and it has credit."""
    old_logprobs: Floats | None
    """[K] natural logs under the sampling policy, 0 where nothing was sampled; None: a turn recorded none."""
    advantages: Floats
    """[K] 0 wherever `loss_mask` is False."""
    weight: float
    """What each trained token counts in the loss (`weights`); 0 before a batch gives it."""
    group_key: str
    """What its rollout is compared with."""
    rollout: str
    """Trace id."""
    agent: str
    role: str
    policy: str
    """Which weights it trains: a key of the trace's `policies`."""
    policy_version: int | None
    """Updates that they had seen; None: not recorded."""
    harness_hash: str | None
    """None: not recorded."""
    event_ids: tuple[str, ...]
    """The turns that it holds, in order."""
    spans: tuple[Span, ...]
    """Where in the completion each of them is."""

    @property
    def trained(self) -> int:
        """How many tokens train."""
        return int(self.loss_mask.sum())


class Drafted(NamedTuple):
    """The rows of one rollout, without weights, and what was counted on the way."""

    rows: tuple[Row, ...]
    left_out: Counter[str]
    """Turns in no row, by reason."""
    lacking: Counter[str]
    """Turns in rows, by what they lack."""
    beginnings: Counter[str]
    """Rows by why their lineage began."""
    unplaced: int
    """Events whose credit reached no token."""


def drafted(rollout: Rollout, *, on_mismatch: OnMismatch, policies: Collection[str] | None) -> Drafted:
    """The rows of one rollout: one a lineage, but for lineages in which nothing trains."""
    trace = rollout.trace
    left_out: Counter[str] = Counter()
    lacking: Counter[str] = Counter()
    beginnings: Counter[str] = Counter()
    steps = _steps(rollout, policies, left_out)
    lengths = {name: len(step.tokens.ids) for name, step in steps.items()}
    placed = placed_credit(trace, rollout.credit or RolloutCredit(), lengths=lengths)
    roles = {agent.id: agent.role for agent in trace.agents}
    rows = []
    for lineage in lineages(trace, steps, on_mismatch=on_mismatch):
        row = _row(rollout, lineage, placed, roles.get(lineage.agent, ""))
        uncredited = [placed.turns[name].missing for name in row.event_ids]
        if not row.trained:
            left_out.update("no credit" if missing else "nothing to train" for missing in uncredited)
            continue
        rows.append(row)
        beginnings[lineage.began] += 1
        lacking.update(words for step in lineage.steps for words in step.tokens.lacking)
        lacking["no credit"] += sum(uncredited)
    return Drafted(tuple(rows), left_out, +lacking, beginnings, len(placed.unplaced))


def unmerged(row: Row) -> tuple[Row, ...]:
    """The row as one row a turn, for trainers that take no masked tokens within a completion.

    Each keeps the weight, which is per token; so a batch of them has the same loss. A turn that trains nothing has a
    row too.
    """
    apart = []
    for event, (start, end) in zip(row.event_ids, row.spans, strict=True):
        before = row.completion_ids[:start]
        apart.append(
            replace(
                row,
                prompt_ids=None if row.prompt_ids is None else np.concatenate([row.prompt_ids, before]),
                completion_ids=row.completion_ids[start:end],
                loss_mask=row.loss_mask[start:end],
                old_logprobs=None if row.old_logprobs is None else row.old_logprobs[start:end],
                advantages=row.advantages[start:end],
                event_ids=(event,),
                spans=(Span(0, end - start),),
            )
        )
    return tuple(apart)


def _steps(rollout: Rollout, policies: Collection[str] | None, left_out: Counter[str]) -> dict[str, Step]:
    """The turns that may train, by id; the others are counted."""
    trace = rollout.trace
    blobs = trace.blobs if rollout.blobs is None else rollout.blobs
    ran_on = {agent.id: agent.policy for agent in trace.agents}
    steps = {}
    for turn in views.turns(trace):
        policy = turn.policy if turn.policy is not None else ran_on.get(turn.agent)
        tokens = sampled(turn, blobs, place=f"trace {trace.trace_id!r}, event {turn.id!r}")
        if isinstance(tokens, str):
            left_out[tokens] += 1
        elif policy is None:
            left_out["no policy: nothing trainable"] += 1
        elif policies is not None and policy not in policies:
            left_out["another policy"] += 1
        else:
            steps[turn.id] = Step(turn=turn, tokens=tokens, policy=policy, version=_version(trace, turn, policy))
    return steps


def _version(trace: Trace, turn: Turn, policy: str) -> int | None:
    if turn.generation is not None and turn.generation.policy_version is not None:
        return turn.generation.policy_version
    known: Mapping[str, int | None] = {name: held.version for name, held in trace.policies.items()}
    return known.get(policy)


def _row(rollout: Rollout, lineage: Lineage, placed: PlacedCredit, role: str) -> Row:
    trace = rollout.trace
    whole = merged(lineage.steps)
    mask, advantages = whole.mask.copy(), np.zeros(len(whole.ids))
    for step, (start, end) in zip(lineage.steps, whole.spans, strict=True):
        credit = placed.turns[step.turn.id]
        mask[start:end] &= credit.known
        advantages[start:end] = np.where(mask[start:end], credit.values, 0.0)
    return Row(
        prompt_ids=whole.prompt,
        completion_ids=whole.ids,
        loss_mask=mask,
        old_logprobs=whole.logprobs,
        advantages=advantages,
        weight=0.0,
        group_key=rollout.group_key,
        rollout=trace.trace_id,
        agent=lineage.agent,
        role=role,
        policy=lineage.steps[0].policy,
        policy_version=lineage.steps[0].version,
        harness_hash=None if trace.harness is None else trace.harness.hash,
        event_ids=tuple(step.turn.id for step in lineage.steps),
        spans=whole.spans,
    )
