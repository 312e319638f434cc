"""The fields that each release of Pydantic AI writes, with their defaults."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.pydantic_ai.fields import Dialect

NAME = "pydantic-ai"
NEWEST = "2.66"
_FEEDBACK = {"cause": "model_retry", "attempt": None, "max_retries": None}
_MADE = {"id": None, "provider_name": None, "provider_details": None}
_CALL = {"tool_kind": None, **_MADE}
_RETURN = {"tool_kind": None, "metadata": None, "outcome": "success"}
_DEFAULTS_262: dict[str, dict[str, Any]] = {
    "request": {
        "instructions": None,
        "run_id": None,
        "conversation_id": None,
        "metadata": None,
        "state": "complete",
    },
    "response": {
        "model_name": None,
        "provider_name": None,
        "provider_url": None,
        "provider_details": None,
        "provider_response_id": None,
        "finish_reason": None,
        "run_id": None,
        "conversation_id": None,
        "metadata": None,
        "workspace_ref": None,
        "history_digest": None,
        "failed_attempts": None,
        "state": "complete",
    },
    "system-prompt": {"dynamic_ref": None, "scope": "conversation", "metadata": None},
    "user-prompt": {},
    "tool-return": {**_RETURN, "retry": None},
    "retry-feedback": {"retry": _FEEDBACK},
    "retry-prompt": {"tool_name": None},
    "text": {**_MADE, "citations": None},
    "thinking": {**_MADE, "signature": None},
    "tool-call": _CALL,
    "builtin-tool-call": _CALL,
    "builtin-tool-return": {**_RETURN, "provider_name": None, "provider_details": None},
    "file": _MADE,
    "compaction": {"content": None, **_MADE, "metadata": None},
    "url": {"force_download": False, "vendor_metadata": None, "media_type": None},
    "binary": {"vendor_metadata": None},
    "uploaded-file": {"vendor_metadata": None, "media_type": "application/octet-stream"},
    "text-content": {"metadata": None},
    "structured-content": {"metadata": None, "tag": None, "description": None},
}
_NEW_266 = {
    "response": {"model_id": None, "canonical_system": None},
    "system-prompt": {"context_id": None},
}
_NEW_KEYS = frozenset({"model_id", "canonical_system", "context_id", "content_file_digests"})
_OUTCOMES: dict[str, tuple[bool, str | UnsetType]] = {
    "success": (False, UNSET),
    "failed": (True, UNSET),
    "denied": (True, "denied"),
    "interrupted": (True, "interrupted"),
    "retried": (True, "retried"),
}
DIALECTS = {
    "2.62": Dialect(NAME, _DEFAULTS_262, _OUTCOMES, without=_NEW_KEYS),
    "2.66": Dialect(
        NAME,
        {kind: {**fields, **_NEW_266.get(kind, {})} for kind, fields in _DEFAULTS_262.items()},
        _OUTCOMES,
        digests=True,
    ),
}
