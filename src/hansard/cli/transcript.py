"""Messages as text for a terminal: a heading, then the content, part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click
from msgspec import UNSET

from hansard.cli.terminal import counted, display
from hansard.ledger.results import SubAgent
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import Message
from hansard.model.display import shown_error, shown_input, shown_output
from hansard.model.machinery import is_machinery

LONG = 2000
COLOURS = {"user": "green", "assistant": "cyan", "tool": "yellow", "system": "magenta", "developer": "magenta"}


def page(message: Message, *, full: bool, colour: bool, agents: Sequence[SubAgent] = ()) -> list[str]:
    """The lines of a message; after its calls, the sub-agents that they started."""
    paint = click.style if colour else _plain
    who = [paint(display(message.role), fg=COLOURS.get(message.role, "white"), bold=True)]
    who += [display(name) for name in (message.agent_id, _model(message)) if isinstance(name, str)]
    who += [display(when) for when in (message.created_at,) if isinstance(when, str)]
    who += [
        f"({display(message.state)})" for _ in (0,) if isinstance(message.state, str) and message.state != "complete"
    ]
    who.append(paint(display(message.id) if isinstance(message.id, str) else "", dim=True))
    lines = ["  ".join(text for text in who if text)]
    for part in message.parts:
        text = _cut(said(part), full)
        dim = not isinstance(part, p.TextPart)
        lines += [paint(f"  {line}", dim=True) if dim else f"  {line}" for line in text.split("\n")]
        mine = [one for one in agents if isinstance(part, p.ToolCallPart) and one.tool_call_id == part.tool_call_id]
        lines += [paint(f"    {sub_agent(one)} (--branch {display(one.last)})", dim=True) for one in mine]
    calls = {part.tool_call_id for part in message.parts if isinstance(part, p.ToolCallPart)}
    nameless = [one for one in agents if one.tool_call_id not in calls]
    return lines + [paint(f"    {sub_agent(one)} (--branch {display(one.last)})", dim=True) for one in nameless]


def sub_agent(one: SubAgent) -> str:
    """What a sub-agent did, in a line."""
    tokens = one.usage.total
    told = [counted(one.messages, "message")]
    if tokens:
        told.append(f"{tokens / 1000:,.0f}k tokens" if tokens >= 1000 else counted(tokens, "token"))
    if one.seconds is not None:
        minutes, seconds = divmod(round(one.seconds), 60)
        told.append(f"{minutes} min {seconds} s" if minutes else f"{seconds} s")
    return f"sub-agent: {', '.join(told)}"


def events(messages: Sequence[Message], *, width: int, colour: bool = False) -> list[str]:
    """Events that follow each other: a line for each text that the model saw, one for all other records between."""
    paint = click.style if colour else _plain
    lines: list[str] = []
    names: list[str] = []

    def close() -> None:
        if names:
            shown = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in Counter(names).items())
            text = f"{counted(len(names), 'event')}: {shown}"
            lines.append(shortened(text, width))
            names.clear()

    for message in messages:
        seen = [part for part in message.parts if isinstance(part, p.DataPart) and is_machinery(part)]
        if not seen:
            names.extend(_event_name(part) for part in message.parts)
            continue
        close()
        told = [(part.name, part.data["text"] if isinstance(part.data, dict) else "") for part in seen]
        lines += [shortened(display(f"{name}: {text}", lines=True), width) for name, text in told]
    close()
    return [paint(line, dim=True) for line in lines]


def _event_name(part: Any) -> str:
    """What an event is: the name of its data, or the type that the agent gave it."""
    value = getattr(part, "data", None) or getattr(part, "value", None)
    told = value.get("type") if isinstance(value, dict) else None
    name = getattr(part, "name", None)
    named = name if isinstance(name, str) and name != "attachment" else told
    return display(named if isinstance(named, str) else getattr(part, "format", type(part).__name__))


def gist(message: Message, width: int = 60) -> str:
    """The beginning of a message on one line."""
    return shortened(" ".join(said(part) for part in message.parts), width)


def shortened(text: str, width: int = 60) -> str:
    """A text on one line, cut to a width."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def said(part: Any) -> str:
    """The text of a part, safe for a terminal."""
    return display(_said(part), lines=True)


def _said(part: Any) -> str:
    match part:
        case p.TextPart() | p.RefusalPart():
            return part.text
        case p.ReasoningPart():
            return f"[thinking] {part.text}" if part.text else "[thinking, not shown]"
        case p.ToolCallPart():
            return f"→ {_name(part)} {_data(shown_input(part))}".rstrip()
        case p.ToolResultPart() if part.is_error is True:
            return f"← {_name(part)} failed: {shown_error(part)}"
        case p.ToolResultPart() | p.RetryPart():
            return f"← {_name(part)} {_data(shown_output(part))}".rstrip()
        case p.FilePart():
            named = [text for text in (part.name, part.media_type, part.file_id) if isinstance(text, str)]
            address = part.url if isinstance(part.url, str) and not part.url.startswith("data:") else ""
            return f"[file {' '.join([*named, address]).strip()}]"
        case p.SourcePart():
            return f"[source {' '.join(text for text in (part.title, part.url) if isinstance(text, str))}]"
        case p.DataPart():
            return f"[{part.name}] {_data(part.data) if part.data is not UNSET else ''}".rstrip()
        case p.CompactionPart():
            return f"[summary of earlier messages] {part.text if isinstance(part.text, str) else ''}".rstrip()
    return f"[{getattr(part, 'format', 'part')}] {_data(getattr(part, 'value', None))}"


def _name(part: Any) -> str:
    return part.tool_name if isinstance(part.tool_name, str) else "tool"


def _data(value: Any) -> str:
    if (
        isinstance(value, list)
        and value
        and all(isinstance(one, dict) and one.keys() == {"type", "text"} for one in value)
    ):
        return "\n".join(str(one["text"]) for one in value)
    return value if isinstance(value, str) else exact_json.encode(value).decode("utf-8", "surrogatepass")


def _model(message: Message) -> Any:
    return message.model.name if message.model else None


def _cut(text: str, full: bool) -> str:
    if full or len(text) <= LONG:
        return text
    return f"{text[:LONG]}… ({len(text) - LONG} more characters; --full shows them)"


def _plain(text: str, **_: Any) -> str:
    return text
