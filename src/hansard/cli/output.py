"""Documents that a command writes: the options for it, the report of what was lost, and the bytes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec import UNSET, Struct

from hansard.cli.files import save
from hansard.errors import Unreadable
from hansard.formats.contract import Loss, Target, Written, WrittenAll, losses_of
from hansard.model import exact_json

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS = (
    click.option("--to", "to", required=True, metavar="FORMAT", help="The format to write."),
    click.option("-o", "--output", metavar="OUT", help="Where to write; standard output when left out."),
    click.option("--losses", "report", metavar="FILE", help="Write the losses as JSON to a file, or with - to stderr."),
    click.option("--strict", is_flag=True, help="Exit 1 and write nothing when something would be lost."),
    click.option("--target", metavar="PROFILE", help="A profile of the format, such as v5, v6, v7 for ai-sdk-ui."),
    click.option("--model", metavar="NAME", help="The model the request is for: only its own signatures are kept."),
    click.option("--transport", metavar="NAME", help="The provider's transport, such as vertex."),
    click.option("--pretty", is_flag=True, help="Indent the JSON."),
    click.option("--json", "as_json", is_flag=True, help="Print one object with data and losses."),
)


class Order(Struct, frozen=True, kw_only=True):
    """What somebody wants written, as the options say."""

    to: str
    output: str | None
    report: str | None
    strict: bool
    target: str | None
    model: str | None
    transport: str | None
    pretty: bool
    as_json: bool

    @property
    def aim(self) -> Target:
        return Target(profile=self.target, model=self.model, transport=self.transport)

    @property
    def folder(self) -> str | None:
        """The folder that takes a file for each conversation, if OUT is one."""
        return self.output if self.output is not None and os.path.isdir(self.output) else None


def writing_options(command: F) -> F:
    """The options of an `Order`, given to the command under the names of its fields."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def deliver(order: Order, written: Written | WrittenAll | list[Written]) -> int:
    """Write one document, or each of a list into the folder; say what was lost. The exit code."""
    losses = losses_of(written) if isinstance(written, list) else written.losses
    if order.report is not None:
        text = exact_json.encode(losses) + b"\n"
        if order.report == "-":
            sys.stderr.buffer.write(text)
            sys.stderr.buffer.flush()
        else:
            save(text, order.report)
    elif losses and (order.strict or not order.as_json):
        _summary(losses, order.to, order.strict)
    if order.strict and losses:
        return 1
    if isinstance(written, list):
        width = len(str(len(written)))
        for i, one in enumerate(written, start=1):
            save(_document(one, order.pretty), os.path.join(order.folder or ".", f"{i:0{width}}.{one.format.suffix}"))
        return 0
    document = _document(written, order.pretty)
    if order.as_json:
        value = _value(written)
        plain = document.decode("utf-8", "surrogateescape") if value is UNSET else value
        document = exact_json.encode({"format": order.to, "data": plain, "losses": losses}) + b"\n"
        document = exact_json.pretty(exact_json.decode(document)) + b"\n" if order.pretty else document
    save(document, order.output)
    return 0


def _value(written: Written | WrittenAll) -> Any:
    """The document as JSON, UNSET for what is not one JSON value: session files, lines, pages."""
    if not written.format.text:
        return written.data
    if written.format.verbatim:
        return UNSET
    try:
        return exact_json.decode(written.json)
    except Unreadable:
        return UNSET


def _document(written: Written | WrittenAll, pretty: bool) -> bytes:
    document = written.json
    if pretty and (value := _value(written)) is not UNSET:
        document = exact_json.pretty(value)
    return document if document.endswith(b"\n") or written.format.verbatim else document + b"\n"


def _summary(losses: list[Loss], to: str, strict: bool) -> None:
    """What was lost, in a few lines: what happened most first."""
    counts = Counter(loss.kind for loss in losses)
    parts = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    verdict = "nothing written (--strict)" if strict else f"written without {'it' if len(losses) == 1 else 'them'}"
    noun = "loss" if len(losses) == 1 else "losses"
    print(f"{len(losses)} {noun} towards {to} ({parts}); {verdict}; --losses - lists all", file=sys.stderr)
    if sys.stderr.isatty():
        from hansard.cli.options import shown

        reasons = Counter((loss.kind, loss.why) for loss in losses)
        for (kind, why), count in reasons.most_common(8):
            example = next(loss for loss in losses if (loss.kind, loss.why) == (kind, why))
            place = f"{shown(example.path)}: {shown(example.what)}"
            print(f"  {count:>5} x {shown(why)}\n          e.g. {place}", file=sys.stderr)
