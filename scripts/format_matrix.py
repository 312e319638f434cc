"""Write docs/formats.md: what every format carries to every other, computed by converting one rich conversation.

    python scripts/format_matrix.py            writes it
    python scripts/format_matrix.py --check    says whether it is up to date

Nothing here is written by hand: each cell is a conversion whose losses were proven by reading the result back.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from hansard import formats
from hansard.formats.contract import Loss, Target
from hansard.model import (
    Agent,
    Conversation,
    DataPart,
    FilePart,
    Message,
    ModelRef,
    ReasoningPart,
    RefusalPart,
    Run,
    SourcePart,
    TextPart,
    Todo,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from hansard.model.hashing import bind

PAGE = Path(__file__).parent.parent / "docs" / "formats.md"
SAME = Target(provider="anthropic", model="claude-opus-4-6")  # who answered is asked again
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def sample() -> Conversation:
    """Every kind of part and of fact, once or twice."""

    def said(n: int, role: str, *parts: object, **about: object) -> Message:
        time = f"2026-11-02T10:00:{n:02}.000Z"
        return Message(id=f"01JCX0000000000000000000M{n}", role=role, parts=list(parts), created_at=time, **about)  # type: ignore[arg-type]

    model = ModelRef(provider="anthropic", name="claude-opus-4-6", response_id="msg_1")
    call = ToolCallPart(tool_call_id="toolu_1", tool_name="weather", input={"city": "Paris", "days": 2})
    shell = ToolCallPart(tool_call_id="toolu_2", tool_name="shell", input={"command": "ls"})
    messages = [
        said(1, "system", TextPart(text="Be brief.")),
        said(2, "user", TextPart(text="What is in the picture?"), FilePart(media_type="image/png", data=PIXEL)),
        said(
            3,
            "assistant",
            ReasoningPart(text="A dot. I check the weather too.", signature="EqQBCk"),
            TextPart(text="A dot."),
            call,
            shell,
            agent_id="waiter",
            run_id="r1",
            model=model,
            usage=Usage(input_tokens=120, output_tokens=30, total_tokens=150, cache_read_tokens=100),
            finish_reason="tool_call",
        ),
        said(
            4,
            "tool",
            ToolResultPart(tool_call_id="toolu_1", tool_name="weather", output="18.5 degrees", is_error=False),
            ToolResultPart(tool_call_id="toolu_2", tool_name="shell", output="denied by the user", status="denied"),
            run_id="r1",
        ),
        said(
            5,
            "assistant",
            TextPart(text="18.5 degrees."),
            SourcePart(source_id="s1", url="https://example.org/weather", title="Weather"),
            DataPart(name="chart", data={"high": 21}),
            agent_id="waiter",
            run_id="r1",
            model=model,
            todos=[Todo(content="Ask about tea", status="pending")],
            metadata={"rated": 5},
        ),
        said(6, "user", TextPart(text="And how do I pick a lock?")),
        said(7, "assistant", RefusalPart(text="I will not say."), agent_id="guard"),
        said(8, "assistant", TextPart(text="Ask a locksmith."), parent_message_id="01JCX0000000000000000000M6"),
    ]
    bind(messages, "anthropic")
    return Conversation(
        id="01JCX0000000000000000000T1",
        title="A dot",
        created_at="2026-11-02T10:00:00.000Z",
        agents={"waiter": Agent(id="waiter", name="Waiter"), "guard": Agent(id="guard", name="Guard")},
        runs=[Run(id="r1", agent_id="waiter", status="committed")],
        head="01JCX0000000000000000000M7",
        messages=messages,
    )


# What is looked for in what was read back, by the end of a loss's path.
_KINDS = {
    "system": lambda loss: _part(loss, 0),
    "images": lambda loss: _part(loss, 1, 1),
    "thinking": lambda loss: _part(loss, 2, 0) and not loss.path.endswith(".binding.model"),
    "calls": lambda loss: _part(loss, 2, 2) or _part(loss, 2, 3),
    "results": lambda loss: _part(loss, 3, 0),
    "denials": lambda loss: _part(loss, 3, 1),
    "sources": lambda loss: _part(loss, 4, 1),
    "data": lambda loss: _part(loss, 4, 2),
    "refusals": lambda loss: _part(loss, 6, 0),
    "todos": lambda loss: loss.path.endswith(".todos"),
    "agents": lambda loss: loss.path.endswith(".agentId"),
    "model": lambda loss: ".model" in loss.path,
    "usage": lambda loss: ".usage" in loss.path,
    "times": lambda loss: loss.path.endswith("].createdAt"),
    "ids": lambda loss: loss.path.endswith("].id"),
}


def _part(loss: Loss, message: int, part: int | None = None) -> bool:
    """Is it about this part, or the message as a whole?"""
    start = f"$.messages[{message}]"
    if part is None:
        return loss.path == start or loss.path.startswith(f"{start}.parts")
    return loss.path == start or loss.path.startswith(f"{start}.parts[{part}]")


def carried() -> list[str]:
    """What each format keeps of the sample: read back and compared."""
    rows = ["| format | branches | " + " | ".join(_KINDS) + " | losses |", "|---" * (len(_KINDS) + 3) + "|"]
    for name in formats.names():
        losses = formats.write(sample(), name, target=SAME).losses
        cells = ["yes" if formats.get(name).trees else "-"]
        cells += ["-" if any(test(loss) for loss in losses) else "yes" for test in _KINDS.values()]
        rows.append(f"| `{name}` | " + " | ".join(cells) + f" | {len(losses)} |")
    return rows


def pairs() -> list[str]:
    """The sample written in each format (a row) and then, from there, in every other (a column)."""
    names = formats.names()
    readable = [name for name in names if not formats.get(name).write_only]
    numbers = {name: str(i + 1) for i, name in enumerate(names)}
    rows = ["| from \\ to | " + " | ".join(numbers.values()) + " |", "|---" * (len(names) + 1) + "|"]
    for source in readable:
        document = formats.write(sample(), source, target=SAME).json
        cells = []
        for target in names:
            written = formats.convert(document, target, source, target=SAME)
            counts = Counter(loss.kind for loss in written.losses)
            said = sum(counts[kind] for kind in ("text", "files", "calls", "instructions", "repair"))
            cells.append("." if not written.losses else f"{said}/{len(written.losses)}")
        rows.append(f"| {numbers[source]} `{source}` | " + " | ".join(cells) + " |")
    only = [f"{numbers[name]} `{name}`" for name in names if name not in readable]
    return [*rows, "", f"Write-only: {', '.join(only)}."]


_TEXT = """# What each format carries

`make matrix` computes this page, and a test checks that it is up to date. A sample conversation with every kind of part
(an image, signed thinking, two calls, a result, a denial, a source, named data, a refusal, a branch, todos, tokens, two
agents) is written in each format, read back and compared. For your own conversation use
`hansard convert SRC --to FORMAT --losses -`.

## By kind of content
*yes*: it reads back unchanged. *-*: some of it does not, and is in the list of losses; the last column has its length.
Signed thinking is written for the model that made it.

{carried}

## From each format to each
The sample written in the format of the row, then converted to the format of the column. `2/7`: seven losses, two of
them of text, files, calls, instructions or repairs; the others are settings, metadata and spelling. A dot: no losses. A
document written in its own format is always unchanged.

{pairs}
"""


def page() -> str:
    return _TEXT.format(carried="\n".join(carried()), pairs="\n".join(pairs()))


def main() -> int:
    made = page()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text() != made:
            print("docs/formats.md is out of date; run make matrix")
            return 1
        return 0
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
