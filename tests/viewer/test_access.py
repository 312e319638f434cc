"""For everybody: what can be used has a name, the page has landmarks, text can be read in light and dark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.live import LiveServer
from tests.viewer.conftest import opened, show

NAMELESS = """[...document.querySelectorAll('button, input, select, textarea, a[href], [role=button], [tabindex="0"]')]
  .filter((one) => one.checkVisibility())
  .filter((one) => !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length || one.title))
  .map((one) => one.outerHTML.slice(0, 200))"""

# The contrast of every piece of text with the ground it stands on, as WCAG counts it.
DIM = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
  const ground = (one) => { for (let at = one; at; at = at.parentElement) {
    const colour = rgba(getComputedStyle(at).backgroundColor); if (colour[3] === 255) return colour; }
    return [255, 255, 255]; };
  const found = [];
  for (const one of document.body.querySelectorAll('*')) {
    if (![...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    if (!one.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (one.closest(':disabled, svg')) continue;
    const [a, b] = [light(rgba(getComputedStyle(one).color)), light(ground(one))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push([ratio.toFixed(2), one.className, one.textContent.slice(0, 40)]);
  }
  return found;
})()"""


@pytest.fixture(params=["light", "dark"])
def tab(request: Any, browser: Any, server: LiveServer) -> Any:
    yield from opened(browser, server, color_scheme=request.param)


def test_text_can_be_read_and_every_control_has_a_name(tab: Any) -> None:
    show(tab, "parts")
    tab.click("#show-tree")
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert tab.evaluate(NAMELESS) == []
    assert tab.evaluate(DIM) == []
    tab.click("#show-export")
    tab.wait_for_selector("dialog .report p")
    assert tab.evaluate(NAMELESS) == []
    assert tab.evaluate(DIM) == []


def test_the_page_has_landmarks_and_one_heading_of_the_first_order(page: Any) -> None:
    for landmark in ("main", "nav[aria-label]", "aside[aria-label]"):
        assert page.locator(landmark).count() >= 1
    assert page.locator("h1").count() == 1
    assert page.get_attribute("html", "lang") == "en"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
