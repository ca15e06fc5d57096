"""The entry point: which command, and what becomes of its errors.

Exit codes: 0 done; 1 the thing asked about has problems; 2 wrong use or unreadable input, one line on stderr;
130 interrupted, with what was kept. Commands load when they are called, so that `--help` is quick.
"""

import errno
import io
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from orchestrace.errors import InterruptedWork, OrchestraceError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PROBLEMS = 1
WRONG_USE = 2
INTERRUPTED = 130

COMMANDS: Mapping[str, tuple[str, str]] = {
    # name: (module:attribute, what --help says in one line)
    "report": ("orchestrace.cli.report:report", "What a team did: who, when, what it cost, what was lost."),
    "validate": ("orchestrace.cli.validate:validate", "Check a trace, a survey file or a log against the laws."),
    "export": ("orchestrace.cli.export:export", "Write a session as a trace, a survey file or a page."),
    "credit": ("orchestrace.cli.credit:credit", "Who earned the result: shares and advantages, by unit."),
    "env": ("orchestrace.cli.env:env", "Environments with a known optimum."),
    "train": ("orchestrace.cli.train:train", "Train an orchestrator by a recipe."),
    "eval": ("orchestrace.cli.eval:evaluate", "Judge a trained or hand-made policy against the optimum."),
    "demo": ("orchestrace.cli.demo:demo", "Report on a made-up session, train an orchestrator: a minute."),
    "doctor": ("orchestrace.cli.doctor:doctor", "What is installed here, and what is missing."),
    "completion": ("orchestrace.cli.completion:completion", "Print a shell's completion script."),
}


class _ReaderGone(Exception):  # noqa: N818 (it is no error of anyone's)
    """Nobody reads what we print any more, as under `| head`."""


class Commands(click.Group):
    """The commands, each imported when it is called."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a closed pipe goes past click, which would exit with 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderGone from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name; None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name; a wrong name gets the nearest right one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no such command {args[0]!r}; {remedy}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """What a shell offers after `orchestrace`, without importing a command."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=about) for name, (_, about) in COMMANDS.items() if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The table of commands, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
    if value and not ctx.resilient_parsing:
        from orchestrace import __version__

        click.echo(f"orchestrace {__version__}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def program() -> None:
    """Reinforcement learning for teams of LLM agents, on the traces they leave.

    Point `orchestrace report` at a session of Claude Code, or run `orchestrace demo`. Every command takes --json;
    --debug shows where an error arose.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    _mend_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    debug = "--debug" in given[:end]
    sys.exit(_code([word for place, word in enumerate(given) if word != "--debug" or place > end], debug=debug))


def _mend_streams() -> None:
    """A closed stream takes what is written and drops it; one that cannot hold a character shows "?" for it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (it lives as long as we do)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _code(arguments: Sequence[str], *, debug: bool) -> int:
    code: Any = 0
    try:
        code = program.main(arguments, prog_name="orchestrace", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as error:
        return int(error.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _told("interrupted", INTERRUPTED)
    except InterruptedWork as error:
        return _told(str(error), INTERRUPTED)
    except (BrokenPipeError, _ReaderGone):
        # The reader has gone (`| head`). Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _told(_in_a_line(error), WRONG_USE)
    return code if isinstance(code, int) else 0  # a verdict holds though nobody reads the details


def _in_a_line(error: Exception) -> str:
    match error:
        case click.ClickException():
            return _usage(error)
        case OrchestraceError():
            return str(error)
        case OSError(filename=str() | bytes() as name):
            return f"{os.fsdecode(name)}: {error.strerror}; check the path and its permissions"
        case OSError(errno=errno.ENOSPC):
            return "the results cannot be written: no space left; make some, or write elsewhere"
        case _:
            kind = type(error).__name__
            return f"a fault of orchestrace itself ({kind}: {error}); --debug shows where, please report it"


def _usage(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    said = " ".join(error.format_message().split())
    return f"{said} (see {ctx.command_path} --help)" if ctx is not None else said


def _told(message: str, code: int) -> int:
    from orchestrace.trace import escaped

    click.echo(f"orchestrace: {escaped(message)}", err=True)
    return code
