"""`hansard stream`: translate a live stream from standard input to standard output, as its bytes arrive."""

from __future__ import annotations

import select
import sys
from typing import Any

import click
from msgspec.structs import replace

from hansard import formats, streams
from hansard.cli.terminal import display
from hansard.errors import HansardError, UnknownFormat
from hansard.model.conversation import Conversation
from hansard.streams.accumulator import Accumulator
from hansard.streams.deltas import End, Failure, PartStart

_MESSAGE = "message"
_STORED = "hansard"
_UI = "ai-sdk-ui"
_HEAD = 1 << 16


@click.command("stream")
@click.option("--from", "from_", required=True, metavar="STREAM", help="Format of the stream on standard input.")
@click.option(
    "--to",
    "to",
    required=True,
    metavar="STREAM",
    help="Format of the stream to write, or 'message' for the answer as JSON.",
)
@click.option("--target", metavar="VERSION", help="Version of the client: v5, v6, v7 or oldest for ai-sdk-ui.")
@click.option("--message-id", metavar="ID", help="Id of the answer; a continued answer keeps its own.")
def command(from_: str, to: str, target: str | None, message_id: str | None) -> int:
    """Translate a provider's stream for another client, or into one message at the end.

    `--from hansard` reads a stored conversation instead and writes its last answer as a stream.

    Exit 1 if the stream was cut off or reported an error; the received part is written anyway.
    """
    if from_ == _STORED:
        return _emit_stored(to, target, message_id)
    decoder = streams.decoder(from_)
    folded = Accumulator()
    emitter = None
    if to != _MESSAGE:
        if to not in streams.emitters():
            known = ", ".join([*streams.emitters(), _MESSAGE])
            raise UnknownFormat(f"unknown output stream {to!r} (choose from {known})")
        own = True if from_ == to == _UI else None
        emitter = streams.emitter(to, target=target, message_id=message_id, own=own)
    elif target is not None:
        raise UnknownFormat(f"target {target!r} does not apply to --to message; targets are client versions")
    source, out = _open(sys.stdin, "input"), _open(sys.stdout, "output")
    ended = recognised = False
    head = b""
    while not ended:
        data = source.read1(_HEAD)
        ended = not data
        head += data[: _HEAD - len(head)]
        for delta in decoder.finish() if ended else decoder.feed(data):
            recognised = recognised or type(delta) is PartStart
            if emitter is None or type(delta) in (Failure, End):  # other deltas are folded by the client
                folded.fold(delta)
            if emitter is not None and (piece := emitter.emit(delta)):
                out.write(piece)
        out.flush()
        if _reader_gone(out):
            raise BrokenPipeError
    if not recognised and (others := [name for name in streams.decoders() if name != from_ and _reads(name, head)]):
        raise UnknownFormat(f"the stream is not {from_}, it reads as {' or '.join(others)}; name that with --from")
    if emitter is not None:
        out.write(emitter.finish())
    else:
        messages = folded.messages()
        if message_id is not None and messages:
            messages = [replace(messages[0], id=message_id), *messages[1:]]
        out.write(formats.write(Conversation(messages=messages), "hansard").json.rstrip(b"\n") + b"\n")
    out.flush()
    return _exit_code(folded)


def _reads(name: str, head: bytes) -> bool:
    """Whether the beginning of a stream has content for a decoder."""
    decoder = streams.decoder(name)
    return any(type(delta) is PartStart for delta in (*decoder.feed(head), *decoder.finish()))


def _emit_stored(to: str, target: str | None, message_id: str | None) -> int:
    """The last answer of a stored conversation."""
    from hansard.agent.ui_turns import emit

    conversation = formats.read(_open(sys.stdin, "input").read(), _STORED)
    out = _open(sys.stdout, "output")
    for data in emit(conversation, to, target=target, message_id=message_id):
        out.write(data)
    out.flush()
    return 0


def _open(stream: Any, what: str) -> Any:
    """A standard stream as bytes; the parent process may have closed it."""
    if stream is None:
        raise HansardError(f"standard {what} is closed; run it in a pipe: `curl ... | hansard stream ... > answer`")
    return stream.buffer


def _reader_gone(out: Any) -> bool:
    """Whether the reader closed `out`: checked now, since the next chunk may never come."""
    poll = getattr(select, "poll", None)
    if poll is None:
        return False
    watched = poll()
    watched.register(out.fileno(), 0)
    return bool(watched.poll(0))


def _exit_code(folded: Accumulator) -> int:
    """0 for a complete stream without errors, else 1; the reasons go to standard error."""
    for failure in folded.failures:
        print(f"hansard: the stream reported an error: {display(' '.join(failure.text.split()))}", file=sys.stderr)
    if folded.ended != "done":
        print("hansard: the stream was cut off; the answer is partial", file=sys.stderr)
    return 1 if folded.failures or folded.ended != "done" else 0
