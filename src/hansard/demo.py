"""`make demo`: the sample conversations through every format, into a ledger, and a server with a scripted agent on it.

No key, no network: it runs on the samples that ship with the package, and leaves nothing behind; `--once` only prints.
"""

from __future__ import annotations

import hashlib
import signal
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hansard import formats
from hansard.formats.contract import Loss
from hansard.model import Conversation, exact_json

SAMPLES = {
    "anthropic_thinking.json": "anthropic",
    "openai_chat_support.json": "openai-chat",
    "gemini_signed_call.json": "gemini",
    "thread_protocol_handoff.json": "thread-protocol",
    "ai_sdk_approval.json": "ai-sdk-ui",
    "sage_session.jsonl": "sage",
    "claude_session.jsonl": "claude-code",
    "forked.json": "hansard",
}
_COUNTED = ("content", "repair")


def main() -> None:
    """Print the demo."""
    console = Console(highlight=False, soft_wrap=True)
    folder = Path(str(files("hansard") / "samples"))
    if folder.is_relative_to(Path.cwd()):
        folder = folder.relative_to(Path.cwd())
    conversations = {name: formats.read((folder / name).read_bytes()) for name in SAMPLES}
    console.print("\n[bold]Eight conversations, eight formats[/], read without being told which is which:\n")
    _found(console, folder, conversations)
    console.print(
        "\n[bold]Each written in every format.[/] A cell counts what the target could not carry of the content"
    )
    console.print("(a dot: nothing); lost ids, times, settings and spelling are reported too, but not counted here.\n")
    _matrix(console, conversations)
    _one_trip(console, folder, conversations["anthropic_thinking.json"])
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # leave nothing behind then either
    with tempfile.TemporaryDirectory(prefix="hansard-demo-") as place:
        url = str(Path(place) / "ledger.db")
        _ledger(console, url, conversations)
        if "--once" not in sys.argv:
            _serve(console, url, folder)


def _ledger(console: Console, url: str, conversations: dict[str, Conversation]) -> None:
    """All of them in one ledger, found again by a word."""
    from hansard.store import open as open_ledger

    with open_ledger(url) as ledger:
        for name, conversation in conversations.items():
            ledger.import_conversation(conversation, None if conversation.id else name.partition(".")[0])
        count = ledger.stats()
        console.print(
            f"\n[bold]All in one ledger[/]: {count.threads} threads, {count.messages} messages. 'thames' is in:\n"
        )
        for hit in ledger.search("thames").items:
            place = "" if hit.active else f" [dim](not on the path: {hit.status})[/]"
            words = hit.snippet.replace("\x02", "[bold]").replace("\x03", "[/]")
            console.print(f"  {hit.thread_id}  {hit.role:<9} {words}{place}")


def _serve(console: Console, url: str, folder: Path) -> None:
    """The server with a scripted agent, until Ctrl-C."""
    try:
        from hansard.cli import serve
    except ImportError as error:
        console.print(f"\nnot served: {error}; pip install 'hansard[agent,server]'")
        return
    here = "http://127.0.0.1:8484"
    body = '{"id":"hello","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"Hello?"}]}]}'
    console.print("\n[bold]Try it[/], in another terminal (if the port below is another one, use that):")
    console.print(f"  .venv/bin/hansard convert {folder / 'anthropic_thinking.json'} --to gemini --pretty")
    console.print(f"  curl -N {here}/api/chat -H 'content-type: application/json' -d '{body}'", markup=False)
    console.print(f"  curl '{here}/api/threads'        # everything else is listed at {here}/schema/openapi.json\n")
    serve.command.main(["--db", url], standalone_mode=False)


def _found(console: Console, folder: Path, conversations: dict[str, Conversation]) -> None:
    table = Table("", "sample", "detected as", "messages", "written back", box=None, pad_edge=False)
    for number, (name, conversation) in enumerate(conversations.items(), start=1):
        raw = (folder / name).read_bytes()
        detected = formats.detect(formats.parse(raw))
        again = formats.write(conversation, detected).json
        same = again == raw or exact_json.same(exact_json.decode(again), exact_json.decode(raw))
        verdict = "[green]identical[/]" if same else "[red]different[/]"
        table.add_row(str(number), name, detected, str(len(conversation.messages)), verdict)
    console.print(table)


def _matrix(console: Console, conversations: dict[str, Conversation]) -> None:
    targets = formats.names()
    table = Table(box=None, pad_edge=False)
    table.add_column("sample")
    for number in range(1, len(SAMPLES) + 1):
        table.add_column(str(number), justify="right", min_width=4)
    for target in targets:
        cells = []
        for conversation in conversations.values():
            lost = [loss for loss in formats.write(conversation, target).losses if loss.kind in _COUNTED]
            cells.append(f"[yellow]{len(lost)}[/]" if lost else "[green]·[/]")
        table.add_row(f"to {target}", *cells)
    console.print(table)


def _one_trip(console: Console, folder: Path, conversation: Conversation) -> None:
    raw = (folder / "anthropic_thinking.json").read_bytes()
    written = formats.write(conversation, "openai-chat")
    console.print("\n[bold]One of them closely:[/] anthropic -> openai-chat could not carry\n")
    for loss in sorted(written.losses, key=_weight)[:6]:
        console.print(f"  {loss.path}  {loss.what:.60}\n      [dim]{loss.why}[/]")
    kept = formats.write(conversation, "hansard").json
    back = formats.write(formats.read(kept, "hansard"), "anthropic").json
    same = exact_json.same(exact_json.decode(back), exact_json.decode(raw))
    digest = hashlib.sha256(kept).hexdigest()[:12]
    verdict = "every value is the same" if same else "something changed"
    console.print(f"\nThe ledger's copy ({digest}) keeps all of it: written back for Anthropic, [bold]{verdict}[/].")


def _weight(loss: Loss) -> int:
    return ("content", "repair", "settings", "identity", "spelling").index(loss.kind)


if __name__ == "__main__":
    main()
