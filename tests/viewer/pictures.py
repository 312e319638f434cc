"""The pictures of the README, from the demo's ledger: `python -m tests.viewer.pictures` writes `docs/pictures/`."""

from __future__ import annotations

import base64
import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hansard
from hansard.demo import agents as teahouse
from hansard.demo import sample_threads as shelf
from tests.server.live import ROOT, TOKEN, LiveServer
from tests.viewer.conftest import CHROMIUM, show

FOLDER = ROOT / "docs" / "pictures"
LARGEST = 150_000


def conversation(page: Any, threads: dict[str, str]) -> None:
    show(page, threads["The test that fails at night"])
    page.wait_for_selector(".tool")
    page.evaluate("document.querySelector('details.reasoning')?.setAttribute('open', '')")
    page.evaluate("document.getElementById('conversation').scrollTop = 0")


def branches(page: Any, threads: dict[str, str]) -> None:
    show(page, threads["A tagline, three ways"])
    page.click("#show-tree")
    page.wait_for_selector("#tree .knot.gone")
    page.wait_for_timeout(500)
    page.locator("#tree .knot.gone").last.click()
    page.wait_for_selector("#tree .tree-card")


def undo(page: Any, threads: dict[str, str]) -> None:
    show(page, teahouse.THREAD)
    page.click("#undo")
    page.wait_for_selector("#files .plan .primary")
    page.wait_for_timeout(800)
    page.evaluate("document.getElementById('conversation').scrollTop = 0")


PICTURES: dict[str, Callable[[Any, dict[str, str]], None]] = {
    "conversation": conversation,
    "branches": branches,
    "undo": undo,
}


PIXELS = """async (data) => {
  const picture = new Image();
  picture.src = `data:image/png;base64,${data}`;
  await picture.decode();
  const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  canvas.drawImage(picture, 0, 0);
  const { data: all } = canvas.getImageData(0, 0, picture.width, picture.height);
  let words = "";
  for (let at = 0; at < all.length; at += 8192) words += String.fromCharCode(...all.subarray(at, at + 8192));
  return [picture.width, picture.height, btoa(words)];
}"""


def small(page: Any, picture: bytes) -> bytes:
    """The same picture with its 256 most common colours; the others become the nearest of them."""
    width, height, data = page.evaluate(PIXELS, base64.b64encode(picture).decode())
    raw = base64.b64decode(data)
    pixels = [raw[at : at + 3] for at in range(0, len(raw), 4)]
    counted = [colour for colour, _ in Counter(pixels).most_common()]
    colours = {colour: number for number, colour in enumerate(counted[:256])}
    palette = list(colours)
    for colour in counted[256:]:
        far = [sum((one - two) ** 2 for one, two in zip(colour, known, strict=True)) for known in palette]
        colours[colour] = far.index(min(far))
    indexed = bytes(colours[pixel] for pixel in pixels)
    rows = b"".join(b"\0" + indexed[at : at + width] for at in range(0, len(indexed), width))
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"PLTE", b"".join(palette)), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def main() -> None:
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hansard-pictures-") as place:
        db, project = Path(place) / "ledger.db", Path(place).resolve() / "teahouse"
        with hansard.open(str(db)) as ledger:
            teahouse.build(ledger, project)
            threads = {one.title: one.thread_id for one in shelf.fill(ledger)}
        with LiveServer(db) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            context = browser.new_context(viewport={"width": 1400, "height": 860}, reduced_motion="reduce")
            context.request.post(f"{server.url}/api/login", data={"token": TOKEN})
            page = context.new_page()
            for name, act in PICTURES.items():
                page.goto("about:blank")
                page.goto(server.url)
                page.wait_for_selector("#threads .row")
                act(page, threads)
                page.wait_for_timeout(800)
                page.mouse.move(0, 0)
                path = FOLDER / f"{name}.png"
                taken = page.screenshot()
                page.goto("about:blank")
                path.write_bytes(small(page, taken))
                size = path.stat().st_size
                print(f"{path.relative_to(ROOT)}: {size:,} bytes{', too large' if size > LARGEST else ''}")
            browser.close()


if __name__ == "__main__":
    main()
