"""The look of the HTML page: light and dark, no script, nothing fetched. The page's policy allows this sheet alone."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

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
