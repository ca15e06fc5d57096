"""`orchestrace doctor`: what is here."""

import platform
import sys
from importlib import metadata

import click

from orchestrace.cli.environment import claude_projects, store_path
from orchestrace.cli.screen import results, said, show_json

_PARTS = {
    "msgspec": "always", "numpy": "always", "rich": "always", "click": "always", "jsonschema": "always",
    "torch": 'train: pip install "orchestrace[train]"',
}  # fmt: skip


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(*, as_json: bool) -> None:
    """What is installed here, and what is missing."""
    packages = {name: _version(name) for name in _PARTS}
    projects = claude_projects()
    found = {
        "orchestrace": _version("orchestrace"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
        "claude_projects": str(projects) if projects.is_dir() else None,
        "store": str(store_path()),
        "encoding": sys.stdout.encoding,
    }
    if as_json:
        show_json(found)
        return
    console = results()
    console.print(said(f"orchestrace {found['orchestrace']} on Python {found['python']}, {found['platform']}", "bold"))
    for name, version in packages.items():
        missing = f"missing; needed for {_PARTS[name]}"
        console.print(said(f"  {name:<12}{version or missing}", "" if version else "yellow"))
    where = found["claude_projects"] or f"none at {projects}"
    console.print(said(f"  sessions of Claude Code: {where}"))
    console.print(said(f"  store: {found['store']}"))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
