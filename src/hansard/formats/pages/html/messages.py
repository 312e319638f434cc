"""The HTML page: parts, document and style sheet."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape as _escape
from typing import Any

from hansard.formats.contract import Target
from hansard.formats.pages.display import about, call_input, heading, kept, outcome, spelled
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import PART_TYPES, TextPart

NAME = "html"
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_CODE = re.compile(
    r"^(?P<first>(?P<fence>`{3,}|~{3,})[^`\n]*\n)(?P<body>.*?)(?P<last>^(?P=fence)[ \t]*$|\Z)|`[^`\n]+`",
    re.MULTILINE | re.DOTALL,
)
_ROLES = frozenset({"user", "assistant", "system", "developer", "tool"})
_PREVIEW = 120


def escape(text: str) -> str:
    """Escape text; a browser would read a raw carriage return as a newline."""
    return _escape(text).replace("\r", "&#13;")


def _text_html(text: str) -> str:
    """Text with fenced and inline code marked up; every character stays."""
    out: list[str] = []
    at = 0
    for match in _CODE.finditer(text):
        out.append(escape(text[at : match.start()]))
        if match["fence"]:
            first, body, last = map(escape, (match["first"], match["body"], match["last"]))
            out.append(f'<code class="block"><i>{first}</i>{body}<i>{last}</i></code>')
        else:
            out.append(f"<code>{escape(match[0])}</code>")
        at = match.end()
    return "".join([*out, escape(text[at:])])


def _said(text: str, kind: str = "said") -> str:
    return f'<div class="{kind}">{_text_html(text)}</div>'


def _folded(title: str, name: Any, call_id: Any, text: str, inside: str, bad: str = "") -> str:
    """A folded block: title, name, preview, call id."""
    preview = " ".join(text[: _PREVIEW * 2].split())[:_PREVIEW]
    parts = [f"<span>{escape(title)}</span>"]
    parts += [f"<b>{escape(name)}</b>"] if type(name) is str and name else []
    parts += [f'<span class="bad">{escape(bad)}</span>'] if bad else []
    parts.append(f'<span class="peek" aria-hidden="true">{escape(preview)}</span>')
    parts += [f'<span class="id">{escape(call_id)}</span>'] if type(call_id) is str and call_id else []
    return f"<details><summary>{''.join(parts)}</summary>{inside}</details>"


def _block(text: str) -> str:
    return f"<pre>\n{escape(text)}</pre>" if text else ""  # a parser drops the first newline of a pre


def _link(url: str) -> str:
    if url.startswith(("https://", "http://")):
        return f'<a href="{escape(url)}" rel="noopener noreferrer nofollow">{escape(url)}</a>'
    return f"<code>{escape(url)}</code>"


# -- parts ---------------------------------------------------------------------------------------------------------


def _text(part: Any) -> str:
    return _said(part.text)


def _reasoning(part: Any) -> str:
    inside = _said(part.text, "said thought") if part.text else ""
    return _folded("Reasoning" if part.text else "Reasoning, not shown", None, None, part.text, inside)


def _refusal(part: Any) -> str:
    return _said(part.text, "said refusal")


def _compaction(part: Any) -> str:
    text = part.text if type(part.text) is str else ""
    return _folded("Summary of earlier messages", None, None, text, _said(text))


def _call(part: Any) -> str:
    text = call_input(part)
    return _folded("Call", part.tool_name, part.tool_call_id, text, _block(text))


def _result(part: Any) -> str:
    text = spelled(part.output)
    inside = _block(text)
    if type(part.content) is list:
        inside += "".join(map(_part, part.content))
        text = text or " ".join(item.text for item in part.content if type(item) is TextPart)
    return _folded("Result", part.tool_name, part.tool_call_id, text, inside, outcome(part))


def _file(part: Any) -> str:
    names = " ".join(f"<code>{escape(value)}</code>" for value in (part.name, part.file_id, part.media_type) if value)
    inside: list[str] = [part.data] if type(part.data) is str else []
    media, link = part.media_type, ""
    if type(part.url) is str:
        given, comma, data = part.url.removeprefix("data:").partition(";base64,")
        if part.url.startswith("data:") and comma:
            inside.append(data)
            media = given
        else:
            link = _link(part.url)
    return f'<p class="about">File {names} {link}</p>' + "".join(_bytes(media, data, part.name) for data in inside)


def _bytes(media: Any, data: str, name: Any) -> str:
    """Show an image, offer other bytes as a download."""
    spaced, data = data, "".join(data.split())
    if not _BASE64.fullmatch(data):
        return _block(spaced)
    if media in _IMAGES:
        return f'<img alt="" src="data:{media};base64,{data}">'
    called = escape(name) if type(name) is str and name else "file"
    return f'<p><a download="{called}" href="data:application/octet-stream;base64,{data}">Save {called}</a></p>'


def _source(part: Any) -> str:
    names = [escape(value) for value in (part.title, part.name, part.source_id, part.media_type) if value]
    link = _link(part.url) if type(part.url) is str else ""
    return f'<p class="about">Source {" · ".join([*names, link])}</p>'


def _data(part: Any) -> str:
    text = spelled(part.data)
    return _folded("Data", part.name, None, text, _block(text))


def _retry(part: Any) -> str:
    text = spelled(part.content)
    return _folded("Asked again", part.tool_name, part.tool_call_id, text, _block(text))


def _raw(part: Any) -> str:
    text = spelled(part.value)
    return _folded("Part of", part.format, None, text, _block(text))


_PARTS = (_text, _reasoning, _call, _result, _file, _source, _refusal, _data, _retry, _compaction, _raw)
_WRITERS: dict[type, Any] = dict(zip(PART_TYPES, _PARTS, strict=True))


def _part(part: Any) -> str:
    return str(_WRITERS[type(part)](part))


# -- documents -----------------------------------------------------------------------------------------------------


def _message(message: Message) -> str:
    kind = f' class="{message.role}"' if message.role in _ROLES else ""
    more = f'<span class="about">{escape(" · ".join(about(message)))}</span>' if about(message) else ""
    head = f"<h2><span>{escape(heading(message.role))}</span>{more}</h2>"
    return f"<article{kind}>{head}{''.join(map(_part, message.parts))}</article>"


def write(conversation: Conversation, target: Target) -> bytes:
    """Write one HTML file."""
    shown = kept(conversation)
    title = escape(shown.title) if shown.title else "Conversation"
    count = len(shown.messages)
    facts = [value for value in (shown.id, shown.created_at) if type(value) is str and value]
    facts.append(f"{count} message{'' if count == 1 else 's'}")
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<header><h1>{title}</h1><p>{escape(" · ".join(facts))}</p></header>
<main>
{"".join(f"{_message(message)}{chr(10)}" for message in shown.messages)}</main>
<footer>Written by Hansard</footer>
</body>
</html>
"""
    return page.encode()


# -- the look: light and dark, no script, nothing fetched. The policy allows this sheet alone. --------------------

STYLE = """
:root { color-scheme: light dark; --page: #fbfaf8; --ink: #1d1d1f; --soft: #63636b; --line: #e2dfd9; --card: #fff;
  --code: #f3f1ed; --user: #2f6fed; --assistant: #0f8a6a; --tool: #8a6d1f; --system: #7a5bd0; --bad: #c0362c; }
@media (prefers-color-scheme: dark) { :root { --page: #16171a; --ink: #e7e6e3; --soft: #a0a0a8; --line: #303238;
  --card: #1e2024; --code: #26282d; --user: #7aa7ff; --assistant: #4fd0a9; --tool: #d9b95a; --system: #b59cff;
  --bad: #ff8178; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main, header { max-width: 52rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2.5rem; padding-bottom: 1rem; border-bottom: 1px solid var(--line); margin-bottom: 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .35rem; overflow-wrap: anywhere; }
header p, .about { color: var(--soft); font-size: .8125rem; margin: 0; overflow-wrap: anywhere; }
article { margin: 0 0 1.25rem; padding: .75rem 1rem; border: 1px solid var(--line);
  border-left: 3px solid var(--who, var(--soft)); border-radius: .5rem; background: var(--card); }
.user { --who: var(--user); } .assistant { --who: var(--assistant); } .tool { --who: var(--tool); }
.system, .developer { --who: var(--system); }
h2 { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; margin: 0 0 .35rem;
  font-size: .875rem; font-weight: 650; color: var(--who, var(--soft)); }
h2 .about { font-weight: 400; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; margin: .35rem 0; }
.said code { background: var(--code); border-radius: .25rem; padding: .1em .2em; }
.said .block { display: inline-block; width: 100%; border-radius: .375rem; padding: .5rem .75rem; overflow-x: auto;
  white-space: pre; overflow-wrap: normal; vertical-align: top; }
.block i { color: var(--soft); font-style: normal; opacity: .7; }
code, pre { font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: .5rem 0 .25rem; padding: .625rem .75rem; background: var(--code); border-radius: .375rem;
  max-height: 30rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: .5rem 0; border: 1px solid var(--line); border-radius: .375rem; padding: .375rem .75rem; }
summary { cursor: pointer; color: var(--soft); font-size: .875rem; display: flex; gap: .5rem; align-items: baseline;
  min-width: 0; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before { content: "\\25B8"; flex: none; }
details[open] > summary::before { content: "\\25BE"; }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--user); outline-offset: 2px; border-radius: .25rem; }
summary b { color: var(--ink); font-weight: 600; overflow-wrap: anywhere; }
summary .peek { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
details[open] > summary .peek { visibility: hidden; }
summary .id { margin-left: auto; font-size: .75rem; overflow-wrap: anywhere; }
.bad, .bad b { color: var(--bad); }
.refusal { border-left: 3px solid var(--bad); padding-left: .75rem; }
.thought { color: var(--soft); }
img { max-width: 100%; height: auto; border-radius: .375rem; display: block; margin: .5rem 0; }
a { color: var(--user); overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: .75rem; text-align: center; padding: 1.5rem 1rem 3rem; }
@media print { body { background: none; } pre { max-height: none; } article { break-inside: avoid-page; } }
"""
POLICY = (
    "default-src 'none'; img-src data:; style-src 'sha256-"
    + b64encode(sha256(STYLE.encode()).digest()).decode()
    + "'; base-uri 'none'; form-action 'none'"
)


__all__ = ["kept", "write"]
