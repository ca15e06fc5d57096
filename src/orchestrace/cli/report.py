"""`orchestrace report`: what a team did."""

import json
import shlex
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from orchestrace.adapters import Read, Skip
from orchestrace.cli.files import GivenPath, spare, write
from orchestrace.cli.screen import ascii_only, results, show_json, warn
from orchestrace.cli.sessions import began, found, newest_found, since, withheld
from orchestrace.errors import InputError
from orchestrace.report import Report
from orchestrace.report import report as report_of

Prices = dict[str, dict[str, float]]
_KINDS = ("input", "output", "cache_read", "cache_write")


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH|ID ...]", type=GivenPath())
@click.option("--format", "format_", metavar="F", help="Name of the log format, where its content does not decide.")
@click.option("--html", type=GivenPath(), metavar="FILE", help="Write one self-contained page.")
@click.option("--full", is_flag=True, help="Of a folder: every session in full, not the table.")
@click.option("--since", "since_", metavar="D", help="Only sessions begun since a date, or 7d, 12h, 30m ago.")
@click.option("--prices", type=GivenPath(), metavar="FILE",
              help="TOML or JSON: model -> input, output, cache_read, cache_write in USD per million.")  # fmt: skip
@click.option("--withhold", type=click.Choice(["content"]), help="Leave out every text; hashes and lengths stay.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def report(
    *,
    paths: tuple[Path, ...],
    format_: str | None,
    html: Path | None,
    full: bool,
    since_: str | None,
    prices: Path | None,
    withhold: str | None,
    as_json: bool,
) -> None:
    """What a team did: who, when, what it cost, what was lost.

    PATH is a log, a trace, a survey file, or a folder of them. Without one: the newest session of Claude Code. ID is
    the beginning of a session's id, as the table of a folder shows it: it chooses one session of the folder, or without
    a folder one of Claude Code's.
    """
    known_prices = read_prices(prices) if prices else None
    spare(html, [*paths, prices])
    looked_at = found(paths, format=format_) if paths else newest_found(format=format_)
    reads = looked_at.reads
    if since_ is not None:
        reads = since(reads, since_, now=datetime.now(UTC))
        if not reads:
            raise InputError(f"no session began since {since_}", place="--since", remedy="go back further")
    reads = tuple(sorted(map(withheld, reads) if withhold else reads, key=_newest_first))
    reports = [report_of(read.trace, blobs=read.blobs, prices=known_prices) for read in reads]
    if html is not None:
        _write_page(html, reports, reads)
    if as_json:
        _show_json(reports, looked_at.skipped)
        return
    in_full = full or len(reads) == 1
    _draw(reports, reads, in_full=in_full)
    if not in_full:
        _tell_how_to_open(paths)
    _tell_skipped(looked_at.skipped)
    if html is not None:
        warn(f"wrote {html}")


def read_prices(path: Path) -> Prices:
    """Prices from a TOML or JSON file, every key and value checked.

    Raises:
      InputError: it cannot be read, or holds something else.
    """
    try:
        text = path.read_text("utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"neither TOML nor JSON: {error}", path=str(path)) from None
    try:
        prices = msgspec.convert(data, dict[str, dict[str, float]])
    except msgspec.ValidationError as error:
        example = 'write ["claude-x"] and under it input = 3.0'
        raise InputError(str(error).replace(" - at", " at"), path=str(path), remedy=example) from None
    for model, kinds in prices.items():
        for kind, usd in kinds.items():
            if kind not in _KINDS:
                raise InputError(f"unknown kind of token {kind!r}", path=str(path), place=model,
                                 remedy=f"known: {', '.join(_KINDS)}")  # fmt: skip
            if not 0 <= usd < float("inf"):
                raise InputError(f"{usd} is no price", path=str(path), place=f"{model}.{kind}")
    return prices


def _newest_first(read: Read) -> tuple[float, str]:
    begun = began(read.trace)
    return (-begun.timestamp() if begun else float("inf"), read.trace.trace_id)


def _write_page(path: Path, reports: list[Report], reads: tuple[Read, ...]) -> None:
    from orchestrace.viewer import Session, report_page

    sessions = [Session(one, read.trace) for one, read in zip(reports, reads, strict=True)]
    write(path, report_page(*sessions).encode("utf-8", "replace"))


def _show_json(reports: list[Report], skipped: tuple[Skip, ...]) -> None:
    if len(reports) == 1 and not skipped:
        show_json(reports[0])
        return
    document: dict[str, Any] = msgspec.to_builtins(reports[0]) if len(reports) == 1 else {"traces": reports}
    if skipped:
        document["skipped"] = skipped
    show_json(document)


def _draw(reports: list[Report], reads: tuple[Read, ...], *, in_full: bool) -> None:
    from orchestrace.cli.draw.session import session, session_table

    console = results()
    if not in_full:
        console.print(session_table(reports, width=console.width))
        console.print()
        return
    for place, (one, read) in enumerate(zip(reports, reads, strict=True)):
        if place:
            console.rule(characters="─")
        for part in session(one, read.trace, width=console.width, ascii_only=ascii_only(console)):
            console.print(part)


def _tell_how_to_open(paths: tuple[Path, ...]) -> None:
    where = " ".join(shlex.quote(str(path)) for path in paths if path.exists())
    warn(f"one of them in full: orchestrace report {where} ID")


def _tell_skipped(skipped: tuple[Skip, ...]) -> None:
    for item in skipped[:5]:
        warn(f"skipped {item.path}: {item.reason}")
    if len(skipped) > 5:
        warn(f"skipped {len(skipped) - 5} more files; --json lists them all")
