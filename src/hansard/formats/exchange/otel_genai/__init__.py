"""OpenTelemetry's conventions for generative AI: spans and events with `gen_ai.*` attributes.  As of semconv 1.41.

    canonical                         native
    first system message              gen_ai.system_instructions
    messages                          gen_ai.input.messages, then gen_ai.output.messages
    text, reasoning, tool-call        parts text, reasoning, tool_call
    tool-result                       part tool_call_response
    file by value, URL, id            parts blob, uri, file
    raw(otel-genai)                   any other part
    model, usage, finishReason        gen_ai.response.*, gen_ai.usage.* of the span of the message
    createdAt                         the end of that span
    conversation id                   gen_ai.conversation.id

The reader accepts OTLP JSON (traces, logs), spans or events as plain objects, alone or in a list, and a bare list of
messages, as the attribute of a span holds it. The messages come from the span with the most of them; other spans
repeat its beginning. The document around them is kept as residue, with a placeholder for each attribute that the
messages repeat. Conversations of other formats become one span; its ids are hashes of its content. Lost, and reported:
message ids, tool errors, signatures, branches, model and usage of all but the last answer.

Read `messages` first, then `content` (messages and parts in attributes) and `fields` (encodings of a value). May
import: the core of `formats`, the model. Free to change: detection, new attributes.
Stored, so never renamed: residue keys and spelling hints (`"$"`), names of encoding steps in `fields`.
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_TOP_LEVEL_KEYS = frozenset({"resourceSpans", "resourceLogs", "attributes", "spans", "logRecords"})
_DISTINCTIVE_TYPES = frozenset({"tool_call", "tool_call_response", "blob", "uri"})
_TEXT_TYPES = frozenset({"text", "reasoning", "thinking"})


def sniff(document: Any) -> int:
    """Attributes of generative AI with messages are unique to this format."""
    if is_bare(document):
        return 3
    first = document[0] if type(document) is list and document else document
    if type(first) is not dict or _TOP_LEVEL_KEYS.isdisjoint(first):
        return 0
    from hansard.formats.exchange.otel_genai.messages import INPUT, OUTPUT, records_in

    for record in records_in(document, []):
        if INPUT in record.attributes or OUTPUT in record.attributes:
            return 3
    return 0


def is_bare(document: Any) -> bool:
    """Whether it is a list of messages with at least one part that only these conventions spell so."""
    if type(document) is not list or not all(type(item) is dict and type(item.get("role")) is str for item in document):
        return False
    parts = [part for item in document for part in _parts(item)]
    if not parts or not all(type(part) is dict and type(part.get("type")) is str for part in parts):
        return False
    return any(
        part["type"] in _DISTINCTIVE_TYPES or (part["type"] in _TEXT_TYPES and "content" in part and "text" not in part)
        for part in parts
    )


def _parts(item: dict[str, Any]) -> list[Any]:
    parts = item.get("parts")
    return parts if type(parts) is list else [None]


FORMAT = Format(
    name="otel-genai",
    title="OpenTelemetry spans of generative AI",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"resourceSpans", "resourceLogs", "attributes", "spans", "logRecords"}),
    item_keys=frozenset({"resourceSpans", "resourceLogs", "attributes", "spans", "logRecords", "parts"}),
)
