"""`orchestrace credit`: who earned the result."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click
import msgspec
import numpy as np

from orchestrace.adapters import Read
from orchestrace.annotations import Annotations, Credit, UnitKind, decode_coalitions, encode
from orchestrace.cli.draw.credit import draw_credit
from orchestrace.cli.files import read, write
from orchestrace.cli.screen import results, show_json, warn
from orchestrace.cli.sessions import found
from orchestrace.credit import (
    ADVANTAGE_METHODS,
    ROW_UNITS,
    SHARE_METHODS,
    Game,
    Nest,
    assigned,
    closed_game,
    credits_of,
    ledger,
    masked_vote,
    nesting,
    rows_at,
    said,
    table_game,
)
from orchestrace.errors import InputError
from orchestrace.trace import Stop, Trace, digest

METHODS = (*SHARE_METHODS, *ADVANTAGE_METHODS)


class _Wanted(NamedTuple):
    """What the options ask for."""

    unit: UnitKind
    method: str
    reward: str | None
    outcome: str | None
    value: str | None
    nobody: float
    orders: int
    seed: int


class _Result(NamedTuple):
    trace: Trace
    credit: Credit


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="TRACE...", type=click.Path(path_type=Path))
@click.option("--unit", required=True, type=click.Choice(get_args(UnitKind)), help="Who is credited.")
@click.option("--method", required=True, type=click.Choice(METHODS), metavar="M",
              help=f"Shares: {', '.join(SHARE_METHODS)}. Advantages: {', '.join(ADVANTAGE_METHODS)}.")  # fmt: skip
@click.option("--reward", metavar="CHANNEL", help="A reward channel that the traces carry.")
@click.option("--outcome", metavar="X", help="The right answer: a team that gives it earns 1, another 0. Or, where the "
              "answers are no numbers, the outcome itself, a number.")  # fmt: skip
@click.option("--value", metavar="mask|FILE", help="What a coalition is worth. mask: its votes, counted again without "
              "the rest. FILE: a table of values from replays.")  # fmt: skip
@click.option("--nobody", type=float, default=0.0, show_default=True, help="With mask: the worth of no vote at all, as "
              "a chance of being right.")  # fmt: skip
@click.option("--orders", type=click.IntRange(min=2), default=200, show_default=True,
              help="Shuffled orders, where there are too many coalitions to ask for each.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Starts the shuffling.")
@click.option("--format", "format_", metavar="F", help="Name of the log format, where its content does not decide.")
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the results as annotations, a JSON document a line, one a trace.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def credit(*, paths: tuple[Path, ...], format_: str | None, out: Path | None, as_json: bool, **asked: Any) -> None:
    """Who earned the result, by unit.

    Shares divide one team's reward; they need the value of coalitions, what the team earns when only some units are
    there. Advantages compare rollouts of one task; they need a reward that each trace carries.
    """
    wanted = _Wanted(**asked)
    _check(wanted)
    reads = found(paths, format=format_).reads
    if wanted.method in SHARE_METHODS:
        credited = [_Result(one.trace, _shares(one, wanted)) for one in reads]
    else:
        credited = _advantages(reads, wanted)
    if out is not None:
        write(out, b"".join(encode(_annotations(result)) + b"\n" for result in credited))
        warn(f"wrote {out}")
    documents = [_document(result, wanted.unit) for result in credited]
    if as_json:
        show_json(documents[0] if len(reads) == 1 else {"traces": documents})
    else:
        draw_credit(results(), [(result.trace.trace_id, result.credit) for result in credited], unit=wanted.unit)


def _check(wanted: _Wanted) -> None:
    """Refuse what cannot be answered before anything is read."""
    if wanted.reward is not None and wanted.outcome is not None:
        raise click.UsageError("--reward and --outcome both say what was earned; give one")
    if not 0 <= wanted.nobody <= 1:
        raise click.UsageError(f"--nobody {wanted.nobody:g} is no chance of being right; give a number from 0 to 1")
    if wanted.method in SHARE_METHODS:
        table = wanted.value is not None and wanted.value not in ("mask", "replay")
        if wanted.value is None or (not table and wanted.reward is None and wanted.outcome is None):
            raise click.UsageError(
                f"{wanted.method} needs a reward (--reward CHANNEL or --outcome X) and a value of coalitions "
                "(--value mask or --value FILE)"
            )
        if wanted.value == "replay":
            raise click.UsageError("--value replay: replays are not part of this version; give --value mask or FILE")
    elif wanted.reward is None and wanted.outcome is None:
        raise click.UsageError(
            f"{wanted.method} needs a reward (--reward CHANNEL or --outcome X); the shares of one team would need a "
            "value of coalitions as well (--value mask or --value FILE)"
        )
    elif wanted.unit not in ROW_UNITS:
        units = f"{', '.join(ROW_UNITS[:-1])} or {ROW_UNITS[-1]}"
        raise click.UsageError(f"{wanted.method} credits a {units}: a finer unit has no reward of its own to compare")
    elif wanted.value is not None:
        raise click.UsageError(f"{wanted.method} compares rollouts and asks for no coalition; leave out --value")


def _shares(one: Read, wanted: _Wanted) -> Credit:
    nest, game = _game(one, wanted)
    return ledger(
        nest,
        game,
        unit=wanted.unit,
        method=SHARE_METHODS[wanted.method],
        rng=np.random.default_rng(wanted.seed),
        orders=wanted.orders,
    )


def _game(one: Read, wanted: _Wanted) -> tuple[Nest, Game]:
    """The units, and what coalitions of them are worth."""
    if wanted.value != "mask":
        path = Path(str(wanted.value))
        try:
            table = decode_coalitions(read(path))
        except InputError as error:
            raise InputError(error.problem, path=str(path), place=error.place, remedy=error.remedy) from None
        nest = nesting(one.trace, table.unit)
        if table.unit != wanted.unit:
            raise InputError(f"holds values of coalitions of {table.unit}s", path=str(path),
                             remedy=f"ask for --unit {table.unit}, or give values for {wanted.unit}s")  # fmt: skip
        return nest, table_game(table, nest)
    answers = said(one.trace, one.blobs)
    right, reward, how = _payoff(one, wanted)
    value = masked_vote(one.trace, answers, right=right, reward=reward, nobody=wanted.nobody)
    nest = nesting(one.trace, wanted.unit)
    definition = f"mask: votes counted again without the rest; {how}; without a vote {wanted.nobody:g} of it"
    return nest, closed_game(one.trace, nest, value=value, definition=definition, causes="making")


def _payoff(one: Read, wanted: _Wanted) -> tuple[str, float, str]:
    """The answer that earns something, how much, and that in words."""
    answer = _answer(one)
    number = _number(wanted.outcome)
    if wanted.reward is None and (number is None or _number(answer) is not None):
        right = str(wanted.outcome).strip()
        return right, 1.0, f"the answer {right!r} earns 1"
    earned = number if wanted.reward is None else _reward(one, wanted)
    if answer is None or earned is None:
        lacks = "no answer" if answer is None else f"no reward on the channel {wanted.reward!r}"
        raise InputError(f"trace {one.trace.trace_id!r} has {lacks}, so that a mask has nothing to divide",
                         remedy=_channels(one.trace))  # fmt: skip
    return answer, earned, f"the team's own answer {answer!r} earns {earned:g}, another 0"


def _advantages(reads: Sequence[Read], wanted: _Wanted) -> list[_Result]:
    method = ADVANTAGE_METHODS[wanted.method]
    rewards = [_reward(one, wanted) for one in reads]
    if all(reward is None for reward in rewards):
        raise InputError(f"no trace has a reward on the channel {wanted.reward!r}", remedy=_channels(reads[0].trace))
    rows = assigned([one.trace for one in reads], rewards, unit=wanted.unit)
    of = f"reward channel {wanted.reward}" if wanted.reward else f"outcome {wanted.outcome}"
    by_trace = credits_of(
        rows,
        method.of(rows.rows),
        method=wanted.method,
        definition=of,
        group_key=method.group_key,
        traces=len(reads),
    )
    return [_Result(one.trace, given) for one, given in zip(reads, by_trace, strict=True) if given is not None]


def _reward(one: Read, wanted: _Wanted) -> float | None:
    """What a trace earned; None: it does not say."""
    if wanted.reward is not None:
        return one.trace.rewards.get(wanted.reward)
    answer, number = _answer(one), _number(wanted.outcome)
    if number is not None and _number(answer) is None:
        return number
    return None if answer is None else float(answer == str(wanted.outcome).strip())


def _answer(one: Read) -> str | None:
    """The text of the last stop; None: there is none."""
    last = next((event for event in reversed(one.trace.events) if isinstance(event, Stop)), None)
    if last is None or last.content is None:
        return None
    blob = {**one.trace.blobs, **one.blobs}.get(last.content.hash)
    return blob.decode("utf-8", "replace").strip() if blob is not None else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _channels(trace: Trace) -> str:
    known = ", ".join(trace.rewards)
    return f"its channels are {known}" if known else "it carries no reward; give --outcome X"


def _annotations(result: _Result) -> Annotations:
    return Annotations(trace_id=result.trace.trace_id, trace_digest=digest(result.trace), credits=(result.credit,))


def _document(result: _Result, unit: UnitKind) -> Mapping[str, Any]:
    """The contract's keys first; a ledger's other levels under `ledger`."""
    given = result.credit
    agents = {event.id: event.agent for event in result.trace.events}
    rows = rows_at(given, unit, agents=agents) if given.kind == "share" else given.rows
    document: dict[str, Any] = {"trace_id": result.trace.trace_id, **msgspec.to_builtins(given)}
    document |= {"rows": msgspec.to_builtins(rows), "residual": given.residual, "model_calls": given.model_calls}
    for row in document["rows"]:
        row.setdefault("std_error", None)
        row.setdefault("n", None)
    if given.kind == "share":
        document["ledger"] = msgspec.to_builtins(given.rows)
    return document
