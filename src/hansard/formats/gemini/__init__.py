"""Gemini generateContent: a request, a list of contents, or a response.  As of google-genai 3.1.0.

    canonical                         native
    system (leading)                  `systemInstruction`
    user, tool                        role user; function responses and other parts become messages of their own
    assistant                         role model
    text, reasoning                   text; with `thought: true`
    signature of any part             thoughtSignature; the documented dummy is written for a call without one
    tool-call                         functionCall; provider-executed: executableCode, toolCall
    tool-result                       functionResponse (files in its `parts`); provider-executed:
                                      codeExecutionResult, toolResponse
    file                              inlineData, fileData; videoMetadata and the like are residue
    raw(gemini)                       any other part, verbatim; alone in an event: a content of an unknown role
    model, usage, finish reason       of a response; further candidates and grounding are residue
    tools, settings                   see `settings`; docs/model.md has the table

Keys are camelCase, or snake_case as the SDK has them. Other settings stay with the conversation. Lost, and reported:
ids of messages, times, agents, other providers' signatures.

Read `messages` first, then `content` (parts), `tools`, `files`, `reasoning` (signatures), `fields` (keys and their two
spellings), `rules`. `stream` is the decoder; only it may import `streams`. Otherwise: the core of `formats`, `rules`,
the model. Free to change: detection, new keys in `fields`, `rules` when the API changes what it accepts.
Stored, so never renamed: residue keys and spelling hints (`"$"`: `keys`, `case`, `apart`, `joined`, `without` ...).
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

ROLES = {"user": "user", "model": "assistant", "function": "user", "tool": "user", "system": "system"}
_RESPONSE_ONLY = frozenset({"promptFeedback", "usageMetadata", "modelVersion"})


def sniff(document: Any) -> int:
    """Only Gemini has `contents` of `parts` without types, a role `model`, and candidates."""
    if type(document) is dict and "contents" not in document:
        first = document.get("candidates")
        candidate = first[0] if type(first) is list and first else None
        if type(candidate) is dict and any(key in candidate for key in ("content", "finishReason", "finish_reason")):
            return 3
        return 0 if _RESPONSE_ONLY.isdisjoint(document) else 2
    contents = document.get("contents") if type(document) is dict else document
    if type(contents) is str and type(document) is dict:
        return 1
    if type(contents) is dict:
        contents = [contents]
    if type(contents) is not list:
        return 0
    roles = set()
    for record in contents:
        if type(record) is str and type(document) is dict:
            continue
        if type(record) is not dict or "kind" in record or "content" in record:
            return 0
        role, parts = record.get("role"), record.get("parts")
        if (record and not ("parts" in record or "role" in record)) or type(parts or []) is not list:
            return 0
        if role is not None and (type(role) is not str or (role not in ROLES and type(document) is not dict)):
            return 0
        if any(type(part) is dict and ("type" in part or "part_kind" in part) for part in parts or ()):
            return 0
        roles.add(role if parts else None)
    if type(document) is dict:
        return 3 if contents else 2
    return 3 if "model" in roles else 2 if "user" in roles else 0


FORMAT = Format(
    name="gemini",
    title="Gemini generateContent (Content)",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"candidates", "contents", "modelVersion", "promptFeedback", "usageMetadata"}),
    binds=True,
    own_provider="google",
)
