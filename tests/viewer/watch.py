"""Looks whether words of a ledger have become anything but words: what ran, what was asked for outside, what was made
of markup, where links lead, whether the page has kept its shape, and what is there but not to be seen."""

from __future__ import annotations

from typing import Any

# What is wrong with the page as it stands.
_WRONG = """(() => {
  const wrong = [];
  const say = (what, one) => wrong.push(`${what}: ${(one?.outerHTML ?? String(one ?? '')).slice(0, 160)}`);
  if (window.ran !== undefined) say('a script ran', window.ran);
  if (({}).polluted !== undefined) say('a prototype was changed');
  const made = 'iframe, object, embed, form, style, base, template, video, audio, source, track, portal, marquee, ' +
    'math, image, applet, frameset, meta[http-equiv], body ~ *, ' +
    'svg :is(script, foreignObject, image, use, animate, set, style), ' +
    'script:not([src^="/viewer/"]), link:not([href^="/viewer/"])';
  for (const one of document.querySelectorAll(made)) say('markup', one);
  for (const one of document.querySelectorAll('*')) {
    for (const { name, value } of one.attributes) {
      if (/^on/i.test(name)) say('a handler', one);
      if (name === 'style' && /url|expression|fixed/i.test(value)) say('a style', one);
      if (/^(srcdoc|formaction|action|ping|poster|background|xlink:href)$/i.test(name)) say('an address', one);
    }
  }
  for (const one of document.querySelectorAll('a[href]'))
    if (!['http:', 'https:', 'mailto:'].includes(one.protocol) && one.className !== 'skip') say('a link', one);
  for (const one of document.images)
    if (!/^data:image\\/(png|jpeg|gif|webp);base64,/.test(one.src) && !one.src.startsWith(`${location.origin}/viewer/`))
      say('a picture', one);
  for (const box of [document.documentElement, document.querySelector('#conversation')])
    if (box && box.scrollWidth - box.clientWidth > 1) say(`${box.scrollWidth - box.clientWidth} too wide`, box.tagName);
  const controls = '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f';
  const unseen =
    '\\u00ad\\u061c\\u115f\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2069\\u3164\\ufeff\\u{e0000}-\\u{e0fff}';
  const hidden = new RegExp(`[${controls}${unseen}]`, 'u');
  const found = hidden.exec(document.documentElement.innerText);
  if (found) say('hidden', `U+${found[0].codePointAt(0).toString(16)}`);
  if (location.pathname !== '/') say('gone to', location.href);
  return wrong;
})()"""


class Watch:
    """Watches a page from its beginning."""

    def __init__(self, page: Any, origin: str) -> None:
        self.page, self._seen = page, []
        self._origin = origin
        page.on("request", self._asked)
        page.on("dialog", lambda dialog: (self._seen.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("popup", lambda other: self._seen.append(f"a window: {other.url}"))
        page.on("frameattached", lambda frame: self._seen.append(f"a frame: {frame.url}"))
        page.on("console", self._said)
        page.on("pageerror", lambda error: self._seen.append(f"an error: {error}"))

    def _asked(self, asked: Any) -> None:
        if not asked.url.startswith((f"{self._origin}/", "data:image/", "blob:")):
            self._seen.append(f"asked for {asked.url[:160]}")

    def _said(self, said: Any) -> None:
        if "Content Security Policy" in said.text or "TrustedHTML" in said.text:
            self._seen.append(f"kept from it by the policy only: {said.text[:160]}")

    def wrong(self) -> list[str]:
        """Everything that is wrong since the last look."""
        every = "document.querySelectorAll('#conversation *')"
        self.page.evaluate(f"{every}.forEach((one) => one.dispatchEvent(new MouseEvent('mouseover')))")
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        found = [*self._seen, *self.page.evaluate(_WRONG)]
        self._seen.clear()
        return found
