"""Markdown pages to read and paste: write-only.

    message                           a heading with the role, a line with model, agent, time and tokens
    text, refusal, compaction         as they are (they are Markdown already)
    reasoning                         folded
    tool-call, tool-result, data      a line with the name, a fenced block
    file, source                      a link, or its name

It shows the result of `kept`; everything else, bytes of files too, is reported as lost.

One module: `messages`. May import: `pages.display`, the core of `formats`, the model. Free to change: the layout, with
the golden files in `tests/golden/markdown`.
"""

from __future__ import annotations

from hansard.formats.contract import Format

FORMAT = Format(
    name="markdown",
    title="Markdown (only written)",
    module=__name__,
    text=True,
    suffix="md",
    write_only=True,
)
