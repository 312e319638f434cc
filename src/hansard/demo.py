"""`make demo`: the sample conversations through every format, what each cannot carry, and the way back.

No key, no network: it runs on the samples that ship with the package.
"""

from __future__ import annotations

import hashlib
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
    console.print("\n[bold]Seven conversations, seven formats[/], read without being told which is which:\n")
    _found(console, folder, conversations)
    console.print(
        "\n[bold]Each written in every format.[/] A cell counts what the target could not carry of the content"
    )
    console.print("(a dot: nothing); lost ids, times, settings and spelling are reported too, but not counted here.\n")
    _matrix(console, conversations)
    _one_trip(console, folder, conversations["anthropic_thinking.json"])
    here = folder / "anthropic_thinking.json"
    console.print("\n[bold]Try it[/]")
    console.print(f"  .venv/bin/hansard convert {here} --to gemini --pretty")
    console.print(f"  .venv/bin/hansard convert {folder / 'ai_sdk_approval.json'} --to openai-chat --losses -")
    console.print(f"  .venv/bin/hansard validate {folder / 'openai_chat_support.json'} --for anthropic\n")


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
