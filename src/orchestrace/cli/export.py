"""`orchestrace export`: a session in another form."""

from collections.abc import Callable, Mapping
from pathlib import Path

import click
import msgspec

from orchestrace.adapters import Read
from orchestrace.cli.files import GivenPath, spare, write
from orchestrace.cli.screen import show_json, warn
from orchestrace.cli.sessions import found, withheld
from orchestrace.errors import InputError
from orchestrace.trace import encode, survey


def _trace(read: Read) -> bytes:
    return encode(read.trace)


def _trace_with_texts(read: Read) -> bytes:
    return encode(msgspec.structs.replace(read.trace, blobs=dict(read.blobs)))


def _survey(read: Read) -> bytes:
    return survey.dump(read.trace)


def _html(read: Read) -> bytes:
    from orchestrace.report import report
    from orchestrace.viewer import Session, report_page

    return report_page(Session(report(read.trace, blobs=read.blobs), read.trace)).encode("utf-8", "replace")


FORMS: Mapping[str, Callable[[Read], bytes]] = {
    "trace": _trace,
    "trace-with-texts": _trace_with_texts,
    "survey": _survey,
    "html": _html,
}


@click.command()
@click.argument("path", metavar="TRACE", type=GivenPath())
@click.option("--to", "form", required=True, type=click.Choice(list(FORMS)), help="What to write.")
@click.option("-o", "--out", required=True, type=GivenPath(), metavar="FILE", help="Where to write it.")
@click.option("--format", "format_", metavar="F", help="Name of the log format, where its content does not decide.")
@click.option("--withhold", type=click.Choice(["content"]), help="Leave out every text; hashes and lengths stay.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: {trace_id, to, out, bytes}.")
def export(*, path: Path, form: str, out: Path, format_: str | None, withhold: str | None, as_json: bool) -> None:
    """Write the session at TRACE (a log, a trace, a survey file) in another form."""
    spare(out, [path])
    reads = found([path], format=format_).reads
    if len(reads) > 1:
        raise InputError(f"holds {len(reads)} sessions", path=str(path), remedy="name the file of one")
    read = withheld(reads[0]) if withhold else reads[0]
    data = FORMS[form](read)
    write(out, data)
    if as_json:
        show_json({"trace_id": read.trace.trace_id, "to": form, "out": str(out), "bytes": len(data)})
    else:
        warn(f"wrote {out}, {len(data):,} bytes")
