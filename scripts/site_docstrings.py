"""Examples in docstrings (`>>>` lines and their answers) as blocks of code on the pages of the reference."""

from __future__ import annotations

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Fences every run of lines that begins with `>>>` and ends before an empty line."""

    def on_object(self, *, obj: griffe.Object, **more: Any) -> None:
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    out: list[str] = []
    inside = False
    for line in [*text.split("\n"), ""]:
        if line.lstrip().startswith(">>>") and not inside:
            out.append("```pycon")
            inside = True
        elif inside and not line.strip():
            out.append("```")
            inside = False
        out.append(line.strip() if inside and line.lstrip().startswith((">>>", "...")) else line)
    return "\n".join(out).rstrip("\n")
