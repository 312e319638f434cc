"""The command line: a folder for each section of the help, a file for each command, imported when it is called.

    documents/   convert, validate, stream, formats, schema: no ledger is opened
    threads/     threads, show, tree, search, import_, export, fork, checkout, handover, forget
    workspace/   snapshot, track, watch, history, diff, undo, redo, restore; `shared` is what they have in common
    ledger/      backup, copy, migrate, project, prune, stats, verify, doctor
    serve, completion   the two commands outside a section's folder

Read first: this module (the table of commands, exit codes), then `options` (`--db`, `--json`, filters, how an id is
resolved), `terminal` (what is printed), `files` (what is read and written), `output` (documents and their losses),
`transcript` (messages for people). May import every package but `demo`; slow imports belong inside the command.

A command is a click command called `command`, in a file of its name, with a row in `SECTIONS` and a page in
`tests/cli/`. Free to change: help texts and the output for people (update `tests/cli/*.md`). Scripts depend on the
names of commands and options, on the keys of `--json` and on the exit codes: 0 success; 1 the answer is no, or a part
failed; 2 wrong usage or bad input, one line on stderr. A traceback is always a bug.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from hansard.errors import HansardError

SECTIONS = {
    "Documents": {
        "convert": ("documents.convert", "Convert a conversation to another format and list losses."),
        "formats": ("documents.formats", "List the formats."),
        "schema": ("documents.schema", "Print the JSON Schema of native conversations."),
        "stream": ("documents.stream", "Translate a provider's stream for another client, as it arrives."),
        "validate": ("documents.validate", "Check a conversation, optionally against a provider's rules."),
    },
    "Threads": {
        "checkout": ("threads.checkout", "Move the head of a thread to another message."),
        "export": ("threads.export", "Write threads in any format."),
        "fork": ("threads.fork", "Continue a thread from an earlier message."),
        "forget": ("threads.forget", "Delete a thread permanently, except for a tombstone."),
        "handover": ("threads.handover", "Continue a thread in another coding agent."),
        "import": ("threads.import_", "Import conversations and sessions of coding agents."),
        "search": ("threads.search", "Search messages."),
        "show": ("threads.show", "Print a thread."),
        "threads": ("threads.threads", "List the threads."),
        "tree": ("threads.tree", "Draw a thread with its branches."),
    },
    "Workspaces": {
        "diff": ("workspace.diff", "Print what a message changed in files."),
        "history": ("workspace.history", "List the recorded changes of a workspace."),
        "redo": ("workspace.redo", "Reverse the last undo."),
        "restore": ("workspace.restore", "Restore a file as it was at a message."),
        "snapshot": ("workspace.snapshot", "Record the current files of a workspace."),
        "track": ("workspace.track", "Record what a tool changed in the files it names."),
        "undo": ("workspace.undo", "Undo a thread's last turns, with their changes to files."),
        "watch": ("workspace.watch", "Record changes in a workspace until stopped."),
    },
    "Ledger": {
        "backup": ("ledger.backup", "Back up the ledger while it is in use."),
        "copy": ("ledger.copy", "Copy the ledger to another place or backend and compare both."),
        "doctor": ("ledger.doctor", "Diagnose the installation and the ledger."),
        "migrate": ("ledger.migrate", "Migrate the ledger to the newest schema."),
        "project": ("ledger.project", "Fill the table of messages that SQL can query (PostgreSQL)."),
        "prune": ("ledger.prune", "Delete messages of superseded, aborted and failed runs."),
        "stats": ("ledger.stats", "Show the size of the ledger, its tokens and their cost."),
        "verify": ("ledger.verify", "Verify that the ledger is intact."),
    },
    "Server and shell": {
        "completion": ("completion", "Print a script for shell completion."),
        "serve": ("serve", "Serve the ledger over HTTP: chat and a REST API."),
    },
}
COMMANDS = {name: module for section in SECTIONS.values() for name, (module, _) in section.items()}


class _Commands(click.Group):
    """The commands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"hansard.cli.{COMMANDS[cmd_name]}").command
        if "_HANSARD_COMPLETE" in os.environ:
            from hansard.cli.completion import complete_values

            return complete_values(found)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", text) for name, (_, text) in section.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, help="Print the version.")
@click.option("--db", metavar="URL", help="The ledger; every command has this option too.")
def group(version: bool, db: str | None) -> None:
    """A lossless ledger for agent conversations."""
    if db is not None:
        os.environ["HANSARD_DB"] = db


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
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
    except (BrokenPipeError, SystemExit):  # the reader closed the pipe; click raises SystemExit for it
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
        return _fail(f"internal error: {error!r}; set HANSARD_DEBUG=1 for a traceback and please report it")


def _fail(text: str) -> int:
    from hansard.cli.terminal import display

    if sys.stderr is not None:
        print(f"hansard: {display(' '.join(text.split()))}", file=sys.stderr)
    return 2
