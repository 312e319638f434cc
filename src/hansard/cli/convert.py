"""`hansard convert`: any format in, any format out, and exactly what was lost on the way."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

import click
from msgspec import UNSET

from hansard import formats
from hansard.cli.documents import load, naming, save
from hansard.errors import Unreadable
from hansard.formats.contract import Loss, Target, Written, WrittenAll, losses_of
from hansard.model import exact_json


@click.command("convert")
@click.argument("source", metavar="SRC")
@click.option("--to", "to", required=True, metavar="FORMAT", help="The format to write.")
@click.option("--from", "from_", metavar="FORMAT", help="The format of SRC; told from the data when left out.")
@click.option("-o", "--output", metavar="OUT", help="Where to write; standard output when left out.")
@click.option("--losses", "report", metavar="FILE", help="Write the losses as JSON to a file, or with - to stderr.")
@click.option("--strict", is_flag=True, help="Exit 1 and write nothing when something would be lost.")
@click.option("--target", metavar="PROFILE", help="A profile of the format, such as v5, v6, v7 for ai-sdk-ui.")
@click.option("--model", metavar="NAME", help="The model the request is for: only its own signatures are kept.")
@click.option("--transport", metavar="NAME", help="The provider's transport, such as vertex.")
@click.option("--pretty", is_flag=True, help="Indent the JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one object with data and losses.")
def command(
    source: str,
    to: str,
    from_: str | None,
    output: str | None,
    report: str | None,
    strict: bool,
    target: str | None,
    model: str | None,
    transport: str | None,
    pretty: bool,
    as_json: bool,
) -> int:
    """Write the conversations in SRC (a file, or - for standard input) in another format.

    When OUT is a folder, each conversation becomes a file in it.
    """
    formats.get(to)
    data = load(source)
    folder = output if output is not None and os.path.isdir(output) else None
    with naming(source):
        aim = Target(profile=target, model=model, transport=transport)
        if folder is not None:
            each = [formats.write(conversation, to, target=aim) for conversation in formats.read_all(data, from_)]
            losses = losses_of(each)
        else:
            written = formats.convert(data, to, from_, target=aim)
            losses = written.losses
    if report is not None:
        text = exact_json.encode(losses) + b"\n"
        if report == "-":
            sys.stderr.buffer.write(text)
            sys.stderr.buffer.flush()
        else:
            save(text, report)
    elif losses and (strict or not as_json):
        _summary(losses, to, strict)
    if strict and losses:
        return 1
    if folder is not None:
        width = len(str(len(each)))
        for i, one in enumerate(each, start=1):
            save(_document(one, pretty), os.path.join(folder, f"{i:0{width}}.{one.format.suffix}"))
        return 0
    document = _document(written, pretty)
    if as_json:
        value = _value(written)
        plain = document.decode("utf-8", "surrogateescape") if value is UNSET else value
        document = exact_json.encode({"format": to, "data": plain, "losses": losses}) + b"\n"
        document = exact_json.pretty(exact_json.decode(document)) + b"\n" if pretty else document
    save(document, output)
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
        reasons = Counter((loss.kind, loss.why) for loss in losses)
        for (kind, why), count in reasons.most_common(8):
            example = next(loss for loss in losses if (loss.kind, loss.why) == (kind, why))
            print(f"  {count:>5} x {why}\n          e.g. {example.path}: {example.what}", file=sys.stderr)
