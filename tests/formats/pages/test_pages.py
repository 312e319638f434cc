"""Pages for people: what they show is what `kept` leaves, every word of it, escaped; the rest is reported."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, structs

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.pages.display import spelled
from hansard.formats.pages.html.messages import POLICY, STYLE
from hansard.model import Conversation, FilePart, Message, TextPart, ToolResultPart, exact_json, native
from tests.conftest import GOLDEN
from tests.strategies import conversations, parts, rich_messages

NAMES = [name for name in formats.names() if formats.get(name).write_only]
CASES = [
    pytest.param(name, path, id=f"{name}/{path.stem}")
    for name in NAMES
    for path in sorted((GOLDEN / "pages").glob("*.json"))
]


def page(name: str, conversation: Conversation) -> str:
    return formats.write(conversation, name).json.decode()


@pytest.mark.parametrize(("name", "path"), CASES)
def test_a_page_is_written_as_the_golden_file_says(name: str, path: Path) -> None:
    written = page(name, formats.read(path.read_bytes(), "hansard")).replace(POLICY, "{POLICY}")
    golden = GOLDEN / name / f"{path.stem}.{formats.get(name).suffix}"
    assert written.replace(STYLE, "{STYLE}") == golden.read_bytes().decode()


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_only_written(name: str) -> None:
    with pytest.raises(Unreadable, match="only written"):
        formats.read(b"# Conversation\n", name)
    assert formats.get(name).sniff(b"# Conversation\n") == 0


@pytest.mark.parametrize("name", NAMES)
@given(conversation=conversations)
def test_no_losses_if_and_only_if_everything_is_shown(name: str, conversation: Conversation) -> None:
    before = native.encode(conversation)
    kept = formats.get(name).kept
    assert kept is not None
    shown = kept(conversation)
    written = formats.write(conversation, name)
    assert (written.losses == []) == exact_json.same(native.plain(shown), native.plain(conversation))
    assert native.encode(conversation) == before, "writing changed its input"
    assert formats.write(shown, name).json == written.json, "the page says more than `kept` leaves"
    assert native.encode(kept(shown)) == native.encode(shown)


def words(shown: list[Any]) -> list[str]:
    """What a reader must find on a page: every field that is kept, but for bytes, which are pictures and links."""
    found: list[str] = []
    for part in shown:
        for field in structs.fields(type(part)):
            value = getattr(part, field.name)
            if value is UNSET or type(value) is bool or (type(part) is FilePart and field.name in ("data", "url")):
                continue
            if type(part) is ToolResultPart and field.name == "content":
                found += words(value)
            else:
                found.append(spelled(value))
    return found


def spiked(value: Any, numbers: Iterator[int]) -> Any:
    """The same JSON with something nasty and unlike any other in every string of data."""
    if type(value) is list:
        return [spiked(item, numbers) for item in value]
    if type(value) is dict:
        own = ("type", "role", "mimeType", "url", "data") if "type" in value or "role" in value else ()
        return {
            key: item if key in own else spiked(item, numbers)
            for key, item in value.items()
            if key != "parentMessageId"  # one path, so that all of it is shown
        }
    return f"{value}<b id='{next(numbers)}'>&amp;\"" if type(value) is str else value


nasty = st.lists(rich_messages, min_size=1, max_size=2).flatmap(
    lambda messages: st.lists(parts, min_size=6, max_size=12).map(
        lambda more: Conversation(
            messages=[
                native.build(Message, spiked(native.plain(message), count()), "$")
                for message in [*messages, Message(role="assistant", parts=more)]
            ]
        )
    )
)


class Seen(HTMLParser):
    """The words of a page, and every tag and attribute in it."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def seen(text: str) -> Seen:
    parser = Seen()
    parser.feed(text)
    parser.close()
    return parser


@given(conversation=nasty)
def test_every_word_is_on_the_page_and_no_tag_of_the_conversation(conversation: Conversation) -> None:
    read = seen(page("html", conversation))
    text = "".join(read.text)
    kept = formats.get("html").kept
    assert kept is not None
    for message in kept(conversation).messages:
        for word in words(message.parts):
            assert word in text
    assert read.tags <= TAGS
    assert read.attributes <= ATTRIBUTES
    assert all(
        re.match(r"https?://|data:(image/(png|jpeg|gif|webp|avif)|application/octet-stream);base64,", one)
        for one in read.addresses
    )


TAGS = {"html", "head", "meta", "title", "style", "body", "header", "h1", "p", "main", "article", "h2", "span", "div"}
TAGS |= {"code", "i", "details", "summary", "b", "pre", "a", "img", "footer"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "aria-hidden", "alt", "src", "href", "rel"}
ATTRIBUTES |= {"download"}


@given(conversation=nasty)
def test_every_word_is_in_the_markdown(conversation: Conversation) -> None:
    text = page("markdown", conversation)
    kept = formats.get("markdown").kept
    assert kept is not None
    for message in kept(conversation).messages:
        assert all(word in text for word in words(message.parts))


def test_a_page_fetches_nothing_and_runs_nothing() -> None:
    assert POLICY.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in POLICY
    assert "script" not in POLICY
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_fences_that_never_close_cost_no_more_than_others() -> None:
    """Each would be searched to the end of the text, if the first did not already run to it."""
    text = "```a\n" * 200_000
    conversation = Conversation(messages=[Message(role="user", parts=[TextPart(text=text)])])
    assert len(page("html", conversation)) > len(text)


def test_spaces_in_what_is_no_base64_cost_no_more_than_others() -> None:
    data = " " * 200_000 + "!"
    conversation = Conversation(messages=[Message(role="user", parts=[FilePart(data=data, media_type="image/png")])])
    assert data in page("html", conversation)


@pytest.mark.parametrize("path", sorted((GOLDEN / "pages").glob("*.json")), ids=lambda path: path.stem)
def test_a_browser_shows_the_words_and_reports_no_violation(path: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium: the page is not looked at in a browser")
    conversation = formats.read(path.read_bytes(), "hansard")
    file = tmp_path / "page.html"
    file.write_text(page("html", conversation), newline="")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run([*command, file.as_uri()], capture_output=True, check=True, timeout=60)
    assert b"Content Security Policy" not in done.stderr
    text = "".join(seen(done.stdout.decode()).text)
    kept = formats.get("html").kept
    assert kept is not None
    for message in kept(conversation).messages:
        for part in message.parts:
            if type(part) is TextPart:
                assert part.text in text
