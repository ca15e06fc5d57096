"""Swim lanes as data: what each agent did when, ready to draw."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np

from orchestrace.metrics import Busy, Spans, busy_lanes, covers, pauses, spans, tool_names, union, work
from orchestrace.trace import Trace
from orchestrace.trace.views import depths

BlockKind = Literal["model", "tool", "wait", "human"]


class Block(msgspec.Struct, frozen=True, gc=False):
    """A stretch of one agent's time, in seconds since the trace began."""

    start_s: float
    end_s: float
    kind: BlockKind
    """model, tool: busy. human: nobody was busy and a person spoke next. wait: the rest."""


class Lane(msgspec.Struct, frozen=True, gc=False):
    """One agent's row."""

    agent: str
    depth: int
    blocks: tuple[Block, ...]
    """Ascending, without overlap or hole, from its first busy moment to its last; empty where no time is known. What an
    agent did outside the session (`metrics.Work.outside`) is left out."""


def timeline(trace: Trace) -> tuple[Lane, ...]:
    """A lane for each agent, in the order of declaration. Where a model call and a tool run at once, model is shown."""
    tools = tool_names(trace.source.adapter if trace.source is not None else None)
    busy = work(trace, tools=tools).busy
    own: dict[str, list[Busy]] = {}
    for one in busy:
        own.setdefault(one.agent, []).append(one)
    human = spans([])
    if busy:
        first, last = min(one.start_s for one in busy), max(one.end_s for one in busy)
        human = pauses(trace, busy_lanes(busy).values(), first=first, last=last).human
    depth = depths(trace)
    return tuple(Lane(agent, depth[agent], _blocks(own.get(agent, []), human)) for agent in depth)


def _blocks(busy: Sequence[Busy], human: Spans) -> tuple[Block, ...]:
    if not busy:
        return ()
    first, last = min(one.start_s for one in busy), max(one.end_s for one in busy)
    layers: dict[BlockKind, Spans] = {
        "model": union(spans((one.start_s, one.end_s) for one in busy if one.kind == "model")),
        "tool": union(spans((one.start_s, one.end_s) for one in busy if one.kind == "tool")),
        "human": human[(human[:, 1] > first) & (human[:, 0] < last)],
    }
    cuts = np.unique(np.concatenate([[first, last], *(layer.ravel() for layer in layers.values())]).clip(first, last))
    kinds: list[BlockKind] = ["wait"] * (len(cuts) - 1)
    for kind, layer in reversed(layers.items()):  # the first layer has the last word
        for place in np.flatnonzero(covers(layer, cuts[:-1])).tolist():
            kinds[place] = kind
    blocks: list[Block] = []
    for kind, (start, end) in zip(kinds, pairwise(cuts.tolist()), strict=True):
        if blocks and blocks[-1].kind == kind:
            start = blocks.pop().start_s
        blocks.append(Block(start, end, kind))
    return tuple(blocks)
