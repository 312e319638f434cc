"""Messages of LangChain."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """`{type, data}` and constructors are unique to LangChain; a flat type beside content fits other formats too."""
    records = document
    if type(document) is dict:
        records = document.get("messages") if "messages" in document else [document]
    if type(records) is not list or not records:
        return 0
    best = 1
    for record in records:
        if type(record) is not dict or "role" in record:
            return 0
        if type(record.get("type")) is not str:
            return 0
        from hansard.formats.langchain.messages import open_envelope

        if (opened := open_envelope(record)) is None:
            if record.get("type") != "remove":
                return 0
        elif opened[0] != "flat" or "additional_kwargs" in record:
            best = 3 if "content" in opened[2] else best
        elif any(key in record for key in ("uuid", "sessionId", "timestamp")):
            return 0
        elif record["type"] in ("human", "ai"):
            best = max(best, 2)
    return best


FORMAT = Format(
    name="langchain",
    title="LangChain messages",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"content", "data", "kwargs", "messages"}),
    binds=True,
)
