"""`orchestrace completion`: the script that a shell sources."""

import click
from click.shell_completion import get_completion_class

from orchestrace.cli.main import program
from orchestrace.cli.screen import show_json


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: {shell, script}.")
def completion(*, shell: str, as_json: bool) -> None:
    """Print the completion script of SHELL, to be sourced: source <(orchestrace completion bash)."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell!r}")
    script = kind(program, {}, "orchestrace", "_ORCHESTRACE_COMPLETE").source()
    if as_json:
        show_json({"shell": shell, "script": script})
    else:
        click.echo(script)
