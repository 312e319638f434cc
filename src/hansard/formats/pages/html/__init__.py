"""A web page in one file: write-only.

    message                           an article; role, model, agent, time and tokens in its heading
    text                              as it is, fenced code highlighted
    reasoning, tool-call, tool-result folded, with a preview line
    data, retry, raw
    image by value                    shown; other files by name or as a link

The page fetches and runs nothing: its Content-Security-Policy allows one style sheet, by its hash, and inline images.
All text of the conversation is escaped. It shows the result of `display.kept`.

One module: `messages`. May import: `pages.display`, the core of `formats`, the model. Free to change: the look and the
markup, with the golden files in `tests/golden/html`. Never add scripts or remote resources.
"""

from __future__ import annotations

from hansard.formats.contract import Format

FORMAT = Format(
    name="html",
    title="A web page in one file (only written)",
    module=__name__,
    text=True,
    suffix="html",
    write_only=True,
)
