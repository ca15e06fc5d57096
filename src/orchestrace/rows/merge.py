"""Exact-prefix merging: turns whose prompts carry each other on become one run of tokens.

    prompt₁ + completion₁ + between₁ + completion₂ + ... ,      promptₖ₊₁ = promptₖ + completionₖ + betweenₖ

The tokens between are what others wrote: tool results, messages, the chat template. They never train. Tokens are
compared as they were recorded; nothing is decoded and tokenised again, since that may give other tokens than were
sampled, whose old log-probabilities nobody knows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from orchestrace.rows.tokens import Bools, Floats, Ids, Sampled
from orchestrace.trace import Turn

Relation = Literal["extends", "resampled", "new_context", "mismatch"]
"""How a prompt stands to a run of tokens before it.

    extends      it begins with the whole run
    resampled    it ends inside the run: another answer to an earlier prompt
    new_context  they first differ in a token that the agent did not sample, so that others' words changed; or they have
                 no token in common
    mismatch     they first differ in a token that the agent sampled: the prompt has it say what it did not say
"""

_AROUND = 6
"""Tokens shown on either side of a mismatch."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """A turn that has tokens, and the weights that sampled them."""

    turn: Turn
    tokens: Sampled
    policy: str
    version: int | None
    """Updates that the weights had seen; None: not recorded."""


class Span(NamedTuple):
    """Where one turn's completion lies in a merged one: [start, end)."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Merged:
    """Turns of one lineage as one prompt and one completion."""

    prompt: Ids | None
    """[P] of the first turn; None: not recorded, and then it is one turn."""
    ids: Ids
    """[K] everything after it: what was sampled, and the tokens between."""
    mask: Bools
    """[K] True where a sampled token may train."""
    logprobs: Floats | None
    """[K] 0 on the tokens between; None: a turn recorded none."""
    spans: tuple[Span, ...]
    """One a turn."""


def run_after(step: Step) -> Ids:
    """The run that a turn leaves: its prompt, which must be known, and its completion."""
    if step.tokens.prompt is None:
        raise ValueError(f"turn {step.turn.id!r} has no prompt ids: nothing can be merged with it")
    return np.concatenate([step.tokens.prompt, step.tokens.ids])


def shared_prefix(one: Ids, other: Ids) -> int:
    """How many tokens two runs have in common, from the first on."""
    length = min(len(one), len(other))
    differing = one[:length] != other[:length]
    return int(differing.argmax()) if differing.any() else length


def relation(steps: Sequence[Step], prompt: Ids, *, shared: int) -> Relation:
    """How a prompt stands to the run of these turns.

    Args:
      steps: turns of one lineage.
      prompt: [P] of a later turn.
      shared: `shared_prefix` of the run after the last step, and the prompt.
    """
    last = steps[-1].tokens
    length = _prompt_length(last) + len(last.ids)
    if shared == length:
        return "extends"
    if shared == len(prompt):
        return "resampled"
    return "mismatch" if shared and _sampler(steps, shared) is not None else "new_context"


def mismatch_message(steps: Sequence[Step], later: Step, *, shared: int) -> str:
    """Both token runs around the token in which a prompt first differs from what was sampled, and whose it is."""
    owner = _sampler(steps, shared)
    if owner is None or later.tokens.prompt is None:
        raise ValueError(f"token {shared} was not sampled, or there is no prompt: this is no mismatch")
    place = shared - _prompt_length(owner.tokens)
    said, shown = _around(run_after(steps[-1]), shared), _around(later.tokens.prompt, shared)
    return (
        f"its prompt shows turn {owner.turn.id!r} with other tokens than were sampled: they differ from token {place} "
        f"of that completion on, which is token {shared} of this prompt (sampled: {said}, prompt: {shown})"
    )


def merged(steps: Sequence[Step]) -> Merged:
    """The turns of one lineage as one run.

    Args:
      steps: one turn or more; each prompt begins with the run of the turns before it.
    """
    first = steps[0].tokens
    if first.prompt is None:
        return Merged(
            prompt=None, ids=first.ids, mask=first.mask, logprobs=first.logprobs, spans=(Span(0, len(first.ids)),)
        )
    ids = run_after(steps[-1])[len(first.prompt) :]
    mask, logprobs = np.zeros(len(ids), np.bool_), np.zeros(len(ids))
    spans = tuple(_spans(steps))
    for step, (start, end) in zip(steps, spans, strict=True):
        mask[start:end] = step.tokens.mask
        if step.tokens.logprobs is not None:
            logprobs[start:end] = step.tokens.logprobs
    known = all(step.tokens.logprobs is not None for step in steps)
    return Merged(prompt=first.prompt, ids=ids, mask=mask, logprobs=logprobs if known else None, spans=spans)


def _spans(steps: Iterable[Step]) -> Iterator[Span]:
    origin = None
    for step in steps:
        start = _prompt_length(step.tokens)
        origin = start if origin is None else origin
        yield Span(start - origin, start - origin + len(step.tokens.ids))


def _prompt_length(tokens: Sampled) -> int:
    return 0 if tokens.prompt is None else len(tokens.prompt)


def _sampler(steps: Sequence[Step], place: int) -> Step | None:
    """The turn that sampled the token at a place of the run; None: others wrote it."""
    for step in reversed(steps):
        if place >= _prompt_length(step.tokens):
            return step if place < _prompt_length(step.tokens) + len(step.tokens.ids) else None
    return None


def _around(ids: Ids, place: int) -> str:
    """`... 4 5 [6] 7 ...`"""
    start, end = max(place - _AROUND, 0), place + _AROUND + 1
    shown = [f"[{token}]" if at == place else str(token) for at, token in enumerate(ids[start:end].tolist(), start)]
    return " ".join(["..."] * (start > 0) + shown + ["..."] * (end < len(ids)))
