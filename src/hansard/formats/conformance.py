"""The laws of formats for those who write one elsewhere: `check(FORMAT, samples)` says which of them it breaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hansard.errors import HansardError, Unreadable
from hansard.formats.contract import Format
from hansard.formats.detection import TEXTS, as_bytes, may_be
from hansard.formats.documents import read_all, write, write_all
from hansard.model import exact_json, native
from hansard.model.conversation import Conversation
from hansard.model.finding import Finding

_JUNK = (
    b"",
    b"x",
    b"{}",
    b"[]",
    b"null",
    b"[[]]",
    b'{"messages": 5}',
    b'[{"role": 5}]',
    b"\xff\xfe",
    b"\n\n",
    b'"\\ud800"',
)
_FOREIGN = ("forked.json", "anthropic_thinking.json", "openai_chat_support.json", "gemini_signed_call.json")


def check(format: Format, samples: Iterable[Any]) -> list[Finding]:
    """What a format does wrong with these documents (paths, bytes, text or parsed JSON); empty if it keeps the laws.

    detect        its `sniff` knows each sample, and answers 0 to 3 for any other data
    read          each sample is read; what is not of the format raises `Unreadable`, and nothing else
    round-trip    a sample is written as it was read: the same bytes of a `verbatim` format, else the same JSON
    losses        no losses are found between a sample and itself
    native        a sample survives being stored: as Hansard's own JSON, and back
    write         conversations of other formats are written, and what was written reads and writes the same again

    >>> from hansard import formats
    >>> check(formats.get("openai-chat"), [{"messages": [{"role": "user", "content": "hi"}]}])
    []
    """
    documents = [_loaded(sample) for sample in samples]
    found = [] if documents else [_finding("samples", "$", "no samples were given", "give documents of the format")]
    for i, document in enumerate(documents):
        found += _of_sample(format, document, f"samples[{i}]")
    found += _of_junk(format, documents)
    found += _of_foreign(format)
    return found


def _loaded(sample: Any) -> Any:
    if hasattr(sample, "read_bytes"):
        sample = sample.read_bytes()
    return as_bytes(sample) if isinstance(sample, TEXTS) else exact_json.copied(sample)


def _of_sample(row: Format, document: Any, place: str) -> Iterator[Finding]:
    given = exact_json.encode(document) if not isinstance(document, bytes) else document
    try:
        confidence = _confidence(row, document)
        if not confidence:
            yield _finding("detect", place, "sniff and the hints do not know the sample", "return 1, 2 or 3 for it")
        if row.write_only:
            return
        conversations = read_all(document, row)
        yield from _same(row, conversations, given, place, "round-trip", "keep with residue.pack what no field says")
        for loss in write_all(conversations, row).losses:
            yield _finding("losses", f"{place}: {loss.path}", f"{loss.what}: {loss.why}", "write all that was read")
        stored = read_all(write_all(conversations, "hansard").json, "hansard")
        yield from _same(row, stored, given, place, "native", "keep plain JSON only in `extra` and in parts")
    except HansardError as error:
        yield _finding("read", place, str(error), "read and write each sample without an error")


def _same(
    row: Format, conversations: list[Conversation], given: bytes, place: str, check: str, fix: str
) -> Iterator[Finding]:
    """Whether conversations are written as the document they were read from."""
    written = write_all(conversations, row).json
    if written == given:
        return
    if row.verbatim:
        at = next((i for i, (a, b) in enumerate(zip(written, given, strict=False)) if a != b), len(written))
        was, now = given[at : at + 20], written[at : at + 20]
        yield _finding(check, f"{place}, byte {at}", f"{now!r} was written for {was!r}", fix)
        return
    try:
        before, after = exact_json.decode(given), exact_json.decode(written)
    except Unreadable:
        before, after = _lines(given), _lines(written)
    if (path := _first_difference(before, after, "$")) is not None:
        yield _finding(check, f"{place}: {path}", "was written differently than it was read", fix)


def _lines(text: bytes) -> list[Any]:
    """A text line by line, each as JSON if it is that."""
    found: list[Any] = []
    for line in text.splitlines():
        try:
            found.append(exact_json.decode(line))
        except Unreadable:
            found.append(line.decode("utf-8", "surrogateescape"))
    return found


def _first_difference(before: Any, after: Any, path: str) -> str | None:
    if exact_json.same(before, after):
        return None
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            if key not in before or key not in after:
                return f"{path}.{key}"
            if found := _first_difference(before[key], after[key], f"{path}.{key}"):
                return found
    elif isinstance(before, list) and isinstance(after, list):
        for i, (one, other) in enumerate(zip(before, after, strict=False)):
            if found := _first_difference(one, other, f"{path}[{i}]"):
                return found
        if len(before) != len(after):
            return f"{path}[{min(len(before), len(after))}]"
    return path


def _of_junk(row: Format, documents: list[Any]) -> Iterator[Finding]:
    """Data that is not of the format, and samples that were cut."""
    texts = [document for document in documents if isinstance(document, bytes)]
    cut = [text[: len(text) * part // 4] for text in texts[:3] for part in (1, 2, 3)]
    for junk in [*_JUNK, *cut]:
        shown = f"{junk[:30]!r}"
        try:
            if (confidence := _confidence(row, junk)) not in (0, 1, 2, 3):
                yield _finding("detect", shown, f"sniff returned {confidence!r}", "return 0, 1, 2 or 3")
            if not row.write_only:
                read_all(junk, row)
        except Unreadable:
            continue
        except HansardError as error:
            yield _finding("read", shown, str(error), "raise hansard.errors.Unreadable, with the place")


def _of_foreign(row: Format) -> Iterator[Finding]:
    """Conversations of other formats, written in this one."""
    from importlib.resources import files  # loads much, and `hansard.formats` loads this module

    for name in _FOREIGN:
        (conversation,) = read_all(files("hansard.samples").joinpath(name).read_bytes())
        before = native.encode(conversation)
        try:
            once = write(conversation, row)
            text, _ = once.json, once.losses
            if native.encode(conversation) != before:
                yield _finding("write", name, "writing changed the conversation", "copy what is changed")
            if not row.write_only:
                yield from _same(row, read_all(text, row), text, name, "write", "read all that is written")
        except HansardError as error:
            yield _finding("write", name, str(error), "write every conversation; what has no place is left out")


def _confidence(row: Format, document: Any) -> int:
    """What detection asks: the parsed document, or the bytes if it is text."""
    if isinstance(document, bytes):
        try:
            parsed = exact_json.decode(document)
        except Unreadable:
            return row.confidence(document) if row.text else 0
        return (row.confidence(parsed) if may_be(row, parsed) else 0) or (row.confidence(document) if row.text else 0)
    return row.confidence(document) if may_be(row, document) else 0


def _finding(check: str, path: str, problem: str, fix: str) -> Finding:
    return Finding(check=check, path=path, severity="error", problem=problem, fix=fix)


__all__ = ["check"]
