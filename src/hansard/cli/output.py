"""Writing documents: the options of `convert` and `export`, the losses, the bytes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from time import time_ns
from typing import Any, TypeVar

import click
from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard import formats
from hansard.cli.files import save
from hansard.cli.terminal import display
from hansard.errors import Unreadable
from hansard.formats.contract import KINDS, Kind, Losses, Target, Written, WrittenAll, losses_of
from hansard.model import exact_json
from hansard.model.times import iso_time

F = TypeVar("F", bound=Callable[..., Any])


def _kinds(context: click.Context, option: click.Parameter, value: str | None) -> tuple[Kind, ...]:
    names = [] if value is None else [name.strip() for name in value.split(",")]
    for name in names:
        if name not in KINDS:
            raise click.BadParameter(f"unknown kind {name!r} (choose from {', '.join(KINDS)})")
    return tuple(kind for kind in KINDS if kind in names)


_OPTIONS = (
    click.option("--to", "to", required=True, metavar="FORMAT", help="Output format."),
    click.option("-o", "--output", metavar="OUT", help="Output file or folder (default: standard output)."),
    click.option(
        "--losses",
        "report",
        metavar="FILE",
        help="Write all losses to FILE as JSON; with -, as a table to standard error (JSON with --json).",
    ),
    click.option("--strict", is_flag=True, help="Write nothing and exit 1 if something would be lost."),
    click.option(
        "--strict-kinds",
        callback=_kinds,
        metavar="KINDS",
        help="The same, only for losses of these kinds: " + ", ".join(KINDS) + ".",
    ),
    click.option("--target", metavar="PROFILE", help="Version or profile of the output format, e.g. v6 for ai-sdk-ui."),
    click.option("--model", metavar="NAME", help="Model of the request; signatures of other models are dropped."),
    click.option("--max-tokens", type=int, metavar="N", help="Token limit of the answer; some providers require it."),
    click.option("--transport", metavar="NAME", help="Transport of the provider, e.g. vertex."),
    click.option("--pretty", is_flag=True, help="Indent the JSON."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object with data and losses."),
)


class WriteOptions(Struct, frozen=True, kw_only=True):
    """The values of these options."""

    to: str
    output: str | None
    report: str | None
    strict: bool
    strict_kinds: tuple[Kind, ...]
    target: str | None
    model: str | None
    max_tokens: int | None
    transport: str | None
    pretty: bool
    as_json: bool

    @property
    def write_target(self) -> Target:
        return Target(profile=self.target, model=self.model, transport=self.transport, at=iso_time(time_ns() // 10**6))

    @property
    def request(self) -> dict[str, Any]:
        """What completes the request of a provider: arguments of `write`."""
        completes = formats.get(self.to).dialect is not None
        return {"model": self.model, "max_tokens": self.max_tokens} if completes or self.max_tokens is not None else {}

    def refuses(self, losses: Losses) -> bool:
        """Whether nothing is written because of these losses."""
        return bool(losses) if self.strict else bool(losses.of(*self.strict_kinds))

    @property
    def folder(self) -> str | None:
        """OUT if it is a folder, there already or to be made: it receives a file for each conversation."""
        out = self.output
        return out if out is not None and (os.path.isdir(out) or out.endswith("/")) else None

    def into_folder(self, suffix: str) -> WriteOptions:
        """The same with OUT as a folder, unless it names a file or standard output."""
        out = self.output
        if out is None or out == "-" or os.path.isfile(out) or out.endswith((f".{suffix}", ".json")):
            return self
        return replace(self, output=os.path.join(out, ""))


def writing_options(command: F) -> F:
    """Add the options, passed to the command under the field names of `WriteOptions`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def export_options(command: F) -> F:
    """The same for `export`, whose format may be left out: imported files then come back in their own."""
    for option in reversed(_OPTIONS[1:]):
        command = option(command)
    help_ = "Output format (with --all -o FOLDER it may be left out: each imported file in its own)."
    return click.option("--to", "to", metavar="FORMAT", help=help_)(command)


def write_documents(options: WriteOptions, written: Written | WrittenAll | list[Written]) -> int:
    """Write a document, or each of a list to a file in the folder, and report losses; returns the exit code."""
    losses = losses_of(written) if isinstance(written, list) else written.losses
    each = written if isinstance(written, list) else [written]
    missing = list(dict.fromkeys(name for one in each for name in one.missing))
    if not report_losses(options, losses, missing):
        return 1
    if isinstance(written, list):
        os.makedirs(options.folder or ".", exist_ok=True)
        width = len(str(len(written)))
        for i, one in enumerate(written, start=1):
            save(
                _document(one, options.pretty), os.path.join(options.folder or ".", f"{i:0{width}}.{one.format.suffix}")
            )
        return 0
    document = _document(written, options.pretty, not options.as_json)
    if options.as_json:
        value = _value(written)
        plain = document.decode("utf-8", "surrogateescape") if value is UNSET else value
        told = {"format": options.to, "data": plain, "losses": losses, **({"missing": missing} if missing else {})}
        document = exact_json.encode(told) + b"\n"
        document = exact_json.pretty(exact_json.decode(document)) + b"\n" if options.pretty else document
    save(document, options.output)
    return 0


def report_losses(options: WriteOptions, losses: Losses, missing: Sequence[str] = ()) -> bool:
    """Report losses, and what a request still needs, as the options ask for; False if nothing may be written."""
    refused = options.refuses(losses)
    if options.report is not None and (options.report != "-" or options.as_json):
        text = exact_json.encode(losses) + b"\n"
        if options.report == "-":
            sys.stderr.buffer.write(text)
            sys.stderr.buffer.flush()
        else:
            save(text, options.report)
    elif losses and (refused or not options.as_json):
        _table(options, losses, refused)
    if missing and losses and not options.as_json and not refused:  # without losses it is as it came
        ways = {"model": "--model", "maxTokens": "--max-tokens"}
        print(f"missing: {', '.join(f'{name} (give {ways.get(name, name)})' for name in missing)}", file=sys.stderr)
    return not refused


def _value(written: Written | WrittenAll) -> Any:
    """The document as JSON; UNSET for session files, lines and pages, which are not one JSON value."""
    if not written.format.text:
        return written.data
    if written.format.verbatim:
        return UNSET
    try:
        return exact_json.decode(written.json)
    except Unreadable:
        return UNSET


def _document(written: Written | WrittenAll, pretty: bool, packed: bool = True) -> bytes:
    document = written.json
    session = written.format.session if packed and written.format.coding_agent else None
    if session is not None and session.tables is not None and document:
        from hansard.formats.coding_agents.rows import database

        return database([document] if written.format.split is None else written.format.split(document))
    if pretty and (value := _value(written)) is not UNSET:
        document = exact_json.pretty(value)
    return document if document.endswith(b"\n") or written.format.verbatim else document + b"\n"


def _table(options: WriteOptions, losses: Losses, refused: bool) -> None:
    """Print the losses, what matters first: by kind and reason, or all of them."""
    counts = losses.title.partition(": ")[2]
    verdict = f"written without {'it' if len(losses) == 1 else 'them'}"
    if refused:
        verdict = f"nothing written (--strict{'' if options.strict else '-kinds'})"
    noun = "loss" if len(losses) == 1 else "losses"
    all_ = options.report == "-"
    more = "" if all_ else "; --losses - lists all"
    print(f"{len(losses)} {noun} towards {options.to} ({counts}); {verdict}{more}", file=sys.stderr)
    each = sorted(losses, key=lambda loss: KINDS.index(loss.kind))
    for line in (
        (f"  {loss.kind:<12}  {loss.path}: {loss.what}; {loss.why}" for loss in each) if all_ else losses.groups()
    ):
        print(display(line), file=sys.stderr)
