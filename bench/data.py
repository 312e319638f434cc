"""The conversations that are measured: made here, the same every time; 2.8 KB a message, as in real agent threads."""

from __future__ import annotations

import random
from typing import Any

_WORDS = (  # noqa: SIM905 (a paragraph is easier to read than a list)
    "the of and to in is that for it was on are with as be at by this had not but from or have an they which one you "
    "were all her she there would their we him been has when who will no more if out so what up said its about than "
    "into them can only other time new some could these two may first then do any like my now over such our man me "
    "even most made after also did many off before must well back through years where much your way down should "
    "because long each just state people those too mr how little good world make very year still see own work men "
    "day get here old between both life being under three never know same last another while us might great go come"
).split()


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words)) + "."


def anthropic_request(messages: int = 5000, *, thinking: bool = False, scale: float = 2.2) -> dict[str, Any]:
    """Turns of question, call, result and answer; `scale` 1 gives 1.3 KB a message."""
    rng = random.Random(7)
    out: list[dict[str, Any]] = []
    for turn in range(messages // 4):
        thought = (
            [{"type": "thinking", "thinking": _text(rng, int(120 * scale)), "signature": "EqQB" + "s" * 300}]
            if thinking
            else []
        )
        call = {
            "type": "tool_use",
            "id": f"toolu_{turn:06d}",
            "name": "search_documents",
            "input": {"query": _text(rng, 8), "limit": 5 + turn % 3, "filters": {"lang": "en", "year": 2026}},
        }
        out.append({"role": "user", "content": _text(rng, int(80 * scale))})
        out.append(
            {"role": "assistant", "content": [*thought, {"type": "text", "text": _text(rng, int(150 * scale))}, call]}
        )
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": _text(rng, int(500 * scale))}
        out.append({"role": "user", "content": [result]})
        out.append({"role": "assistant", "content": [{"type": "text", "text": _text(rng, int(250 * scale))}]})
    return {"model": "claude-opus-5", "max_tokens": 4096, "messages": out}
