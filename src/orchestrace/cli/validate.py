"""`orchestrace validate`: does it keep the laws?"""

import contextlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
from rich.text import Text

from orchestrace.cli.files import GivenPath
from orchestrace.cli.main import PROBLEMS
from orchestrace.cli.screen import results, said, show_json
from orchestrace.cli.sessions import found
from orchestrace.errors import InputError, TraceError
from orchestrace.trace import Trace, decode, observations, survey, unknown_fields, violations

MOST_SHOWN = 50


class Finding(NamedTuple):
    """One thing that is wrong. `law` is null where a schema, not a law of ours, is broken."""

    law: int | None
    event: str | None
    path: str
    message: str


@click.command()
@click.argument("path", type=GivenPath())
@click.option("--survey", "as_survey", is_flag=True, help="Judge the document by the survey's published schema.")
@click.option("--format", "format_", metavar="F", help="Name of the log format, where its content does not decide.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def validate(*, path: Path, as_survey: bool, format_: str | None, as_json: bool) -> int:
    """Check PATH: a trace, a survey file, or a log, which is imported first.

    Exit code 1 where it breaks a rule.
    """
    verdict = _survey_verdict(path) if as_survey else _verdict(path, format_=format_)
    with contextlib.suppress(BrokenPipeError):  # the reader has gone; the exit code still says it
        if as_json:
            show_json(verdict)
        else:
            _draw(path, verdict)
    return 0 if verdict["valid"] else PROBLEMS


def _verdict(path: Path, *, format_: str | None) -> dict[str, Any]:
    document = _json_document(path)
    if document is not None and _looks_like_a_trace(document[1]):
        data = document[0]
        try:
            return _judged([decode(data)], unknown=unknown_fields(data))
        except TraceError as error:
            return _refused(error)
    try:
        if document is not None and _looks_like_a_survey_file(document[1]):
            return _judged([survey.load(document[0])])
        looked_at = found([path], format=format_)
        verdict = _judged([read.trace for read in looked_at.reads])
        return {**verdict, "skipped": msgspec.to_builtins(looked_at.skipped)} if looked_at.skipped else verdict
    except TraceError as error:
        return _refused(error)
    except InputError:
        if document is None:
            raise
        missing = 'neither a trace (it has no "schema": 1), nor a survey file, nor a log that an adapter knows'
        return _said_invalid([Finding(None, None, "$", missing)])


def _survey_verdict(path: Path) -> dict[str, Any]:
    from orchestrace.adapters import schema_violations

    document = _json_document(path)
    if document is None:
        raise InputError("is no JSON document", path=str(path), remedy="give a survey file")
    broken = [Finding(None, None, one.path, one.message) for one in schema_violations(document[0])]
    return _said_invalid(broken) if broken else {"valid": True, "violations": [], "observations": {}}


def _judged(traces: list[Trace], *, unknown: list[str] | None = None) -> dict[str, Any]:
    broken: list[Finding] = []
    seen: dict[str, int] = {}
    for trace in traces:
        prefix = f"{trace.trace_id}: " if len(traces) > 1 else ""
        broken += [Finding(v.law, v.event, prefix + v.path, v.message) for v in violations(trace)]
        for name, n in observations(trace).items():
            seen[name] = seen.get(name, 0) + n
    verdict: dict[str, Any] = {
        "valid": not broken,
        "violations": [one._asdict() for one in broken],
        "observations": seen,
        "sessions": len(traces),
    }
    if unknown:
        verdict["unknown_fields"] = unknown
    return verdict


def _refused(error: TraceError) -> dict[str, Any]:
    message = error.problem + (f"; {error.remedy}" if error.remedy else "")
    return _said_invalid([Finding(None, None, error.place or "$", message)])


def _said_invalid(broken: list[Finding]) -> dict[str, Any]:
    return {"valid": False, "violations": [one._asdict() for one in broken], "observations": {}}


def _json_document(path: Path) -> tuple[bytes, Any] | None:
    """The bytes and value of a file that is one JSON document; None where it is something else."""
    if path.is_dir():
        return None
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", path=str(path), remedy="check the path") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    try:
        return data, json.loads(data)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None
    except (ValueError, RecursionError):  # JSON, with an integer or a nesting beyond what Python reads
        return data, None


def _looks_like_a_trace(document: Any) -> bool:
    return isinstance(document, dict) and "schema" in document


def _looks_like_a_survey_file(document: Any) -> bool:
    return isinstance(document, dict) and {"trace_id", "events", "edges"} <= document.keys()


def _draw(path: Path, verdict: dict[str, Any]) -> None:
    console = results()
    broken = verdict["violations"]
    sessions = verdict.get("sessions", 1)
    of_all = f"{sessions:,} sessions: " if sessions > 1 else ""
    if verdict["valid"]:
        console.print(said(f"{path}: {of_all}{'all keep' if of_all else 'keeps'} every law", "green"))
    else:
        rules = f"{len(broken):,} {'rule is' if len(broken) == 1 else 'rules are'} broken"
        console.print(said(f"{path}: {of_all}{rules}", "bold red"))
    for one in broken[:MOST_SHOWN]:
        law = "" if one["law"] is None else f" (law {one['law']})"
        console.print(Text("  ").append_text(said(f"{one['path']}: {one['message']}{law}")))
    if len(broken) > MOST_SHOWN:
        console.print(f"  and {len(broken) - MOST_SHOWN} more; --json lists them all")
    for name, n in verdict["observations"].items():
        console.print(said(f"  observed: {n:,} {name.replace('_', ' ')}", "dim"))
    skipped = len(verdict.get("skipped", ()))
    if skipped:
        console.print(said(f"  skipped {skipped:,} files; --json says which and why", "dim"))
    unknown = verdict.get("unknown_fields", [])
    if unknown:
        console.print(said(f"  skipped {len(unknown)} unknown fields: {', '.join(unknown[:5])}", "dim"))
