"""The command line: one module a command, imported when it is asked for.

Exit codes: 0 done; 1 the answer is no; 2 wrong use or bad input, in one line on stderr. Never a traceback.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from hansard.errors import HansardError

_COMMANDS = {
    "backup": "Copy the ledger while others write to it.",
    "checkout": "Put the head of a thread at a message.",
    "completion": "Print what makes a shell complete commands, formats and threads.",
    "convert": "Write a conversation in another format, and say what it could not carry.",
    "copy": "Copy the ledger to another place or backend, and check the copy.",
    "diff": "Print what a message did to files.",
    "doctor": "Look at the installation and the ledger, and say what is wrong.",
    "export": "Write threads of the ledger in a format.",
    "forget": "Delete a thread for good; a tombstone stays.",
    "fork": "Go on from an earlier message of a thread.",
    "formats": "List the formats.",
    "handover": "Go on with a thread in another coding agent.",
    "history": "List what changed in a workspace, by whom and when.",
    "import": "Put conversations and sessions into the ledger.",
    "migrate": "Bring the ledger up to the newest schema.",
    "prune": "Delete what stands on no branch in force.",
    "redo": "Take the last undo back.",
    "restore": "Put one file back as it was at a message.",
    "schema": "Print the JSON Schema of native conversations.",
    "search": "Find messages by their words.",
    "serve": "Serve the ledger over HTTP: chat and a REST API.",
    "show": "Print a thread.",
    "snapshot": "Record the files of a workspace as they are.",
    "stats": "Say how much the ledger holds.",
    "stream": "Read a live stream and write it for another client, as it arrives.",
    "threads": "List the threads of the ledger.",
    "track": "Record what a tool did to the files it names.",
    "tree": "Draw a thread with its branches.",
    "undo": "Take back a thread's last turns, and what they did to files.",
    "validate": "Check a conversation against the rules, and a provider's rules.",
    "verify": "Prove that the ledger says what was written.",
    "watch": "Record what changes in a workspace, until stopped.",
}
_MODULES = {
    "backup": "ledger.backup",
    "checkout": "threads.checkout",
    "completion": "completion",
    "convert": "documents.convert",
    "copy": "ledger.copy",
    "diff": "workspace.diff",
    "doctor": "ledger.doctor",
    "export": "threads.export",
    "forget": "threads.forget",
    "fork": "threads.fork",
    "formats": "documents.formats",
    "handover": "threads.handover",
    "history": "workspace.history",
    "import": "threads.import_",
    "migrate": "ledger.migrate",
    "prune": "ledger.prune",
    "redo": "workspace.redo",
    "restore": "workspace.restore",
    "schema": "documents.schema",
    "search": "threads.search",
    "serve": "serve",
    "show": "threads.show",
    "snapshot": "workspace.snapshot",
    "stats": "ledger.stats",
    "stream": "documents.stream",
    "threads": "threads.threads",
    "track": "workspace.track",
    "tree": "threads.tree",
    "undo": "workspace.undo",
    "validate": "documents.validate",
    "verify": "ledger.verify",
    "watch": "workspace.watch",
}


class _Commands(click.Group):
    """The commands, each imported only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        found: click.Command = import_module(f"hansard.cli.{_MODULES[cmd_name]}").command
        if "_HANSARD_COMPLETE" in os.environ:
            from hansard.cli.completion import complete_values

            return complete_values(found)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, help="Print the version.")
@click.option("--db", metavar="URL", help="The ledger to work on; each command takes it too.")
def group(version: bool, db: str | None) -> None:
    """One lossless ledger for agent conversations."""
    if db is not None:
        os.environ["HANSARD_DB"] = db


def run(arguments: list[str]) -> int:
    """Run one command; the exit code."""
    try:
        result = group.main(args=arguments, prog_name="hansard", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as help_text:
        click.echo(help_text.ctx.get_help())
        return 2
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "hansard"
        return _fail(f"{error.format_message()} Try '{command} --help'.")
    except click.ClickException as error:
        return _fail(error.format_message())
    except HansardError as error:
        return _fail(str(error))
    except (BrokenPipeError, SystemExit):  # click ends the program when nobody reads on, which is no fault
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return 0
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (KeyboardInterrupt, click.exceptions.Abort):
        return 130
    except MemoryError:
        return _fail("not enough memory for this document; split it")
    except Exception as error:
        if "HANSARD_DEBUG" in os.environ:
            raise
        return _fail(f"a fault of hansard's own: {error!r}; HANSARD_DEBUG=1 shows the trace, please report it")


def _fail(text: str) -> int:
    from hansard.cli.options import shown

    if sys.stderr is not None:
        print(f"hansard: {shown(' '.join(text.split()))}", file=sys.stderr)
    return 2
