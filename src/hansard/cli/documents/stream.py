"""`hansard stream`: a live answer from standard input to standard output, as its bytes arrive."""

from __future__ import annotations

import select
import sys
from typing import Any

import click
from msgspec.structs import replace

from hansard import formats, streams
from hansard.cli.options import shown
from hansard.errors import HansardError, UnknownFormat
from hansard.model.conversation import Conversation
from hansard.streams.accumulator import Accumulator
from hansard.streams.deltas import End, Failure

_MESSAGE = "message"
_OWN = "ai-sdk-ui"


@click.command("stream")
@click.option("--from", "from_", required=True, metavar="STREAM", help="The stream on standard input.")
@click.option(
    "--to", "to", required=True, metavar="STREAM", help="The stream to write, or 'message': the answer as JSON."
)
@click.option("--target", metavar="VERSION", help="The client's version: v5, v6, v7 or oldest for ai-sdk-ui.")
@click.option("--message-id", metavar="ID", help="The id of the answer; one that goes on keeps its id.")
def command(from_: str, to: str, target: str | None, message_id: str | None) -> int:
    """Read a provider's stream and write it for another client, or as one message at the end.

    Exits 1 when the stream was cut or reported an error; what came is written all the same.
    """
    decoder = streams.decoder(from_)
    folded = Accumulator()
    emitter = None
    if to != _MESSAGE:
        if to not in streams.emitters():
            known = ", ".join([*streams.emitters(), _MESSAGE])
            raise UnknownFormat(f"no stream {to!r} can be written; there are {known}")
        options: dict[str, Any] = {"own": True} if from_ == to == _OWN else {}
        emitter = streams.emitter(to, target=target, message_id=message_id, **options)
    elif target is not None:
        raise UnknownFormat(f"a message has no target {target!r}; targets are versions of clients")
    source, out = _open(sys.stdin, "input"), _open(sys.stdout, "output")
    ended = False
    while not ended:
        data = source.read1(65536)
        ended = not data
        for delta in decoder.finish() if ended else decoder.feed(data):
            if emitter is None or type(delta) in (Failure, End):  # a client puts the words together itself
                folded.fold(delta)
            if emitter is not None and (piece := emitter.emit(delta)):
                out.write(piece)
        out.flush()
        if _left(out):
            raise BrokenPipeError
    if emitter is not None:
        out.write(emitter.finish())
    else:
        messages = folded.messages()
        if message_id is not None and messages:
            messages = [replace(messages[0], id=message_id), *messages[1:]]
        out.write(formats.write(Conversation(messages=messages), "hansard").json.rstrip(b"\n") + b"\n")
    out.flush()
    return _verdict(folded)


def _open(stream: Any, what: str) -> Any:
    """The bytes of a standard stream, which whoever started the command may have closed."""
    if stream is None:
        raise HansardError(f"standard {what} is closed; run it in a pipe: `curl ... | hansard stream ... > answer`")
    return stream.buffer


def _left(out: Any) -> bool:
    """Whether nobody reads `out` any more: seen at once, not by the next word, which may never come."""
    poll = getattr(select, "poll", None)
    if poll is None:
        return False
    watched = poll()
    watched.register(out.fileno(), 0)
    return bool(watched.poll(0))


def _verdict(folded: Accumulator) -> int:
    for failure in folded.failures:
        print(f"hansard: the stream says: {shown(' '.join(failure.text.split()))}", file=sys.stderr)
    if folded.ended != "done":
        print("hansard: the stream was cut; the answer is partial", file=sys.stderr)
    return 1 if folded.failures or folded.ended != "done" else 0
