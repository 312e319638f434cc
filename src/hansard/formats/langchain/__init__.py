"""LangChain messages: the output of `messages_to_dict`, `dumpd` and `model_dump`.  As of langchain-core 1.7.2.

    canonical                         native
    system, user, assistant           system, human, ai; ChatMessage by its role
    developer                         system with `additional_kwargs.__openai_role__`
    tool                              one message per result; `status: error`; legacy FunctionMessage
    text, reasoning, refusal, file    content (see `content`, `files`)
    tool-call                         tool_calls, invalid_tool_calls; also in content (see `tools`)
    reasoning, refusal                `additional_kwargs.reasoning_content`, `.refusal` if read from there
    model, finishReason               response_metadata: model_name, model_provider, id, finish_reason
    usage                             usage_metadata
    agentId                           name of an ai message
    raw(langchain)                    any other message (RemoveMessage) or block, verbatim

A record is `{type, data}`, `{lc, type: constructor, id, kwargs}` or flat; a document is a list of records, an object
with `messages`, or one record. Conversations of other formats become `{type, data}`; an answer with more than text
followed by calls is written in LangChain's standard blocks (`output_version: v1`).
A signature is written only together with the provider that made it, in `model_provider`.
Lost, and reported: times, branches, application data, sources; results that are not text become JSON in a string.

Read `messages` first, then `content` (blocks), `tools` (client calls and results), `usage` (response metadata) and
`files` (a table of spellings). May import: the core of `formats`, the model. Free to change: detection, new blocks, a
row in `files`.
Stored, so never renamed: residue keys and spelling hints (`"$"`), also the names of the spellings in `files`.
"""

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
