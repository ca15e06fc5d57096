"""`orchestrace credit`: who earned the result."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click
import msgspec
import numpy as np

from orchestrace.adapters import Read
from orchestrace.annotations import (
    Annotations,
    CoalitionValues,
    Credit,
    Reward,
    UnitKind,
    Verdict,
    decode_coalitions,
    encode,
    evidence_from,
)
from orchestrace.cli.draw.credit import draw_credit
from orchestrace.cli.earned import Asked, Earned, answer, as_number, earned, read_evidence
from orchestrace.cli.files import GivenPath, read_document, spare, write
from orchestrace.cli.progress import counting
from orchestrace.cli.screen import results, show_json, warn
from orchestrace.cli.sessions import found
from orchestrace.credit import (
    ADVANTAGE_METHODS,
    FLAT_METHODS,
    ROW_UNITS,
    SHARE_METHODS,
    Game,
    Nest,
    affordable_orders,
    assigned,
    closed_game,
    credits_of,
    flat_credit,
    ledger,
    masked_vote,
    nesting,
    rows_at,
    said,
    table_game,
)
from orchestrace.errors import InputError
from orchestrace.rewards import CHANNELS, waste
from orchestrace.trace import Trace, digest

COALITIONAL = (*SHARE_METHODS, *FLAT_METHODS)
"""Methods that ask what a coalition is worth."""
MOST_NAMED = 5
"""Agents that brought nothing and are named one by one."""
METHODS = (*COALITIONAL, *ADVANTAGE_METHODS)


class _Wanted(NamedTuple):
    """What the options ask for."""

    unit: UnitKind
    method: str
    asked: Asked
    value: str | None
    nobody: float
    orders: int | None
    seed: int


class _Result(NamedTuple):
    trace: Trace
    credit: Credit
    rewards: tuple[Reward, ...] = ()
    verdicts: Mapping[str, tuple[Verdict, ...]] = {}


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="TRACE...", type=GivenPath())
@click.option("--unit", required=True, type=click.Choice(get_args(UnitKind)), help="Who is credited.")
@click.option("--method", required=True, type=click.Choice(METHODS), metavar="M",
              help=f"Coalitions: {', '.join(COALITIONAL)}. Rollouts: {', '.join(ADVANTAGE_METHODS)}.")  # fmt: skip
@click.option("--reward", metavar="CHANNEL", help="A reward channel that the traces carry, or one worked out from "
              f"them: {', '.join(CHANNELS)}.")  # fmt: skip
@click.option("--outcome", metavar="X", help="The right answer: a team that gives it earns 1, another 0. Or, where the "
              "answers are no numbers, the outcome itself, a number.")  # fmt: skip
@click.option("--evidence", type=GivenPath(), metavar="FILE",
              help="JSON: trace id -> grades, verdicts, labels, shares, for channels that need them.")  # fmt: skip
@click.option("--value", metavar="mask|FILE", help="What a coalition is worth. mask: its votes, counted again without "
              "the rest. FILE: a table of values from replays.")  # fmt: skip
@click.option("--nobody", type=float, default=0.0, show_default=True, help="With mask: the worth of no vote at all, as "
              "a chance of being right.")  # fmt: skip
@click.option("--orders", type=click.IntRange(min=2), help="Shuffled orders, where there are too many coalitions to "
              "ask for each.  [default: up to 200, as many as take seconds]")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Starts the shuffling.")
@click.option("--format", "format_", metavar="F", help="Name of the log format, where its content does not decide.")
@click.option("-o", "--out", type=GivenPath(), metavar="FILE",
              help="Write the results as annotations, a JSON document a line, one a trace.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def credit(*, paths: tuple[Path, ...], format_: str | None, out: Path | None, as_json: bool, **asked: Any) -> None:
    """Who earned the result, by unit.

    Shares divide one team's reward; they need the value of coalitions, what the team earns when only some units are
    there. Advantages compare rollouts of one task; they need a reward that each trace carries.
    """
    source = Asked(asked.pop("reward"), asked.pop("outcome"), read_evidence(asked.pop("evidence")))
    wanted = _Wanted(asked=source, **asked)
    _check(wanted)
    spare(out, [*paths, Path(wanted.value or "mask")])
    reads = found(paths, format=format_).reads
    _check_names(reads, wanted)
    if wanted.method in COALITIONAL:
        table = None if wanted.value == "mask" else read_document(Path(str(wanted.value)), decode_coalitions)
        credited = [_shared(one, wanted, table) for one in reads]
    else:
        credited = _advantages(reads, wanted)
    verdicts = {name: given.verdicts for name, given in wanted.asked.evidence.items()}
    credited = [result._replace(verdicts=verdicts.get(result.trace.trace_id, {})) for result in credited]
    if out is not None:
        write(out, b"".join(encode(_annotations(result)) + b"\n" for result in credited))
        warn(f"wrote {out}")
    if as_json:
        documents = [_document(result, wanted.unit) for result in credited]
        show_json(documents[0] if len(reads) == 1 else {"traces": documents})
    else:
        draw_credit(results(), [(result.trace.trace_id, result.credit) for result in credited], unit=wanted.unit)


def _check(wanted: _Wanted) -> None:
    """Refuse what cannot be answered before anything is read."""
    if wanted.asked.reward is not None and wanted.asked.outcome is not None:
        raise click.UsageError("--reward and --outcome both say what was earned; give one")
    if not 0 <= wanted.nobody <= 1:
        raise click.UsageError(f"--nobody {wanted.nobody:g} is no chance of being right; give a number from 0 to 1")
    if wanted.method in COALITIONAL:
        table = wanted.value is not None and wanted.value not in ("mask", "replay")
        if wanted.value is None or (not table and wanted.asked.reward is None and wanted.asked.outcome is None):
            raise click.UsageError(
                f"{wanted.method} needs a reward (--reward CHANNEL or --outcome X) and a value of coalitions "
                "(--value mask or --value FILE)"
            )
        if wanted.value == "replay":
            raise click.UsageError("--value replay: replays are not part of this version; give --value mask or FILE")
    elif wanted.asked.reward is None and wanted.asked.outcome is None:
        raise click.UsageError(
            f"{wanted.method} needs a reward (--reward CHANNEL or --outcome X); the shares of one team would need a "
            "value of coalitions as well (--value mask or --value FILE)"
        )
    elif wanted.unit not in ROW_UNITS:
        units = f"{', '.join(ROW_UNITS[:-1])} or {ROW_UNITS[-1]}"
        raise click.UsageError(f"{wanted.method} credits a {units}: a finer unit has no reward of its own to compare")
    elif wanted.value is not None:
        raise click.UsageError(f"{wanted.method} compares rollouts and asks for no coalition; leave out --value")


def _check_names(reads: Sequence[Read], wanted: _Wanted) -> None:
    """Refuse a trace that is given twice, which would vote twice, and evidence about a trace that is not given."""
    names = [one.trace.trace_id for one in reads]
    seen: set[str] = set()
    for one in reads:
        own = digest(one.trace)
        if own in seen:
            raise InputError(f"trace {one.trace.trace_id!r} is given twice",
                             remedy="each rollout has one vote; give each file once")  # fmt: skip
        seen.add(own)
    stranger = next((name for name in wanted.asked.evidence if name not in names), None)
    if stranger is not None:
        raise InputError(f"the evidence speaks of trace {stranger!r}, which was not given",
                         remedy=f"given are {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}")  # fmt: skip


def _shared(one: Read, wanted: _Wanted, table: CoalitionValues | None) -> _Result:
    """The credit of one team, and what it earned, where that was asked: a table of values may do without."""
    nothing = wanted.asked.reward is None and wanted.asked.outcome is None
    got = Earned(None) if nothing else earned(one, wanted.asked)
    nest, game = _masked(one, wanted, got) if table is None else _tabled(one, wanted, table)
    return _Result(one.trace, _noted(one, _shares(one, wanted, nest, game)), got.rows)


def _shares(one: Read, wanted: _Wanted, nest: Nest, game: Game) -> Credit:
    with counting(f"coalitions asked for, {one.trace.trace_id}") as one_more:

        def value(leaves: frozenset[int]) -> float:
            one_more()
            return game.value(leaves)

        watched = game._replace(value=value)
        if wanted.method in FLAT_METHODS:
            return flat_credit(one.trace, nest, game=watched, method=FLAT_METHODS[wanted.method], unit=wanted.unit)
        return ledger(
            nest,
            watched,
            unit=wanted.unit,
            method=SHARE_METHODS[wanted.method],
            rng=np.random.default_rng(wanted.seed),
            orders=wanted.orders or affordable_orders(len(nest.leaves), len(one.trace.events)),
        )


def _noted(one: Read, given: Credit) -> Credit:
    """The credit with what exact shares show of agents that brought nothing; estimates may be 0 by chance."""
    if any(row.std_error is not None for row in given.rows):
        return given
    says = [finding.says for finding in waste.free_riding(one.trace, evidence_from([given])) if finding.known]
    if len(says) > MOST_NAMED:
        says[MOST_NAMED:] = [f"So did {len(says) - MOST_NAMED} more agents."]
    return msgspec.structs.replace(given, notes=(*given.notes, *says))


def _tabled(one: Read, wanted: _Wanted, table: CoalitionValues) -> tuple[Nest, Game]:
    """The units that a table of values speaks of, and its game."""
    nest = nesting(one.trace, table.unit)
    if table.unit != wanted.unit:
        raise InputError(f"holds values of coalitions of {table.unit}s", path=wanted.value,
                         remedy=f"ask for --unit {table.unit}, or give values for {wanted.unit}s")  # fmt: skip
    return nest, table_game(table, nest)


def _masked(one: Read, wanted: _Wanted, got: Earned) -> tuple[Nest, Game]:
    """The units, and the game of counting votes again without some of them."""
    answers = said(one.trace, one.blobs)
    right, reward, how = _payoff(one, wanted, got)
    value = masked_vote(one.trace, answers, right=right, reward=reward, nobody=wanted.nobody)
    nest = nesting(one.trace, wanted.unit)
    definition = f"mask: votes counted again without the rest; {how}; without a vote {wanted.nobody:g} of it"
    return nest, closed_game(one.trace, nest, value=value, definition=definition, causes="making")


def _payoff(one: Read, wanted: _Wanted, got: Earned) -> tuple[str, float, str]:
    """The answer that earns something, how much, and that in words."""
    asked, said = wanted.asked, answer(one)
    number = as_number(asked.outcome)
    if asked.reward is None and (number is None or as_number(said) is not None):
        right = str(asked.outcome).strip()
        return right, 1.0, f"the answer {right!r} earns 1"
    if said is None or got.value is None:
        lacks = "no answer at hand" if said is None else f"no value on {asked.said}: {got.why_not}"
        raise InputError(f"trace {one.trace.trace_id!r} has {lacks}, so that a mask has nothing to divide",
                         remedy="give --outcome ANSWER")  # fmt: skip
    return said, got.value, f"the team's own answer {said!r} earns {got.value:g}, another 0"


def _advantages(reads: Sequence[Read], wanted: _Wanted) -> list[_Result]:
    method = ADVANTAGE_METHODS[wanted.method]
    given = [earned(one, wanted.asked) for one in reads]
    if all(one.value is None for one in given):
        raise InputError(f"no trace has a value on {wanted.asked.said}: {given[0].why_not}",
                         remedy="give --evidence FILE, or another --reward or --outcome")  # fmt: skip
    rows = assigned([one.trace for one in reads], [one.value for one in given], unit=wanted.unit)
    by_trace = credits_of(
        rows,
        method.of(rows.rows),
        method=wanted.method,
        definition=wanted.asked.said,
        group_key=method.group_key,
        by_parent=method.by_parent,
    )
    return [
        _Result(one.trace, found, got.rows)
        for one, found, got in zip(reads, by_trace, given, strict=True)
        if found is not None
    ]


def _annotations(result: _Result) -> Annotations:
    return Annotations(
        trace_id=result.trace.trace_id,
        trace_digest=digest(result.trace),
        rewards=result.rewards,
        verdicts=result.verdicts,
        credits=(result.credit,),
    )


def _document(result: _Result, unit: UnitKind) -> Mapping[str, Any]:
    """The contract's keys first; a ledger's other levels under `ledger`."""
    given = result.credit
    rows = rows_at(given, unit) if given.kind == "share" else given.rows
    document: dict[str, Any] = {"trace_id": result.trace.trace_id, **msgspec.to_builtins(given)}
    document |= {"rows": msgspec.to_builtins(rows), "residual": given.residual, "model_calls": given.model_calls}
    for row in document["rows"]:
        row.setdefault("std_error", None)
        row.setdefault("n", None)
    if given.kind == "share":
        document["ledger"] = msgspec.to_builtins(given.rows)
    return document
