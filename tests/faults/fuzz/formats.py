"""Documents of every format: read or refused; what is read is written the same again, at times to another format."""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import exact_json
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.faults.fuzz.engine import Surface, Target
from tests.laws.test_formats import identical

_LARGEST_SEED = 3000
_MOST_SEEDS = 120
_LONG = 20_000  # of longer ones the laws are not asked: they are there for time and memory


def seeds(name: str) -> list[bytes]:
    """Golden files, and recorded documents where there are any."""
    found = [path.read_bytes() for path in sorted((GOLDEN / name).glob("*")) if path.is_file()]
    if corpus := os.environ.get("HANSARD_CORPUS"):
        found += corpus_documents(Path(corpus), name)
    if formats.get(name).session is not None:  # of a long session, its beginning
        found = [_head(raw) for raw in found]
    small = [raw for raw in found if len(raw) <= _LARGEST_SEED]
    return random.Random(1).sample(small, min(_MOST_SEEDS, len(small)))


def _head(raw: bytes) -> bytes:
    cut = raw.rfind(b"\n", 0, _LARGEST_SEED) + 1
    return raw[:cut] if len(raw) > _LARGEST_SEED and cut else raw


def reading(name: str) -> Target:
    """Read it; what was accepted is written as it was read."""
    chosen = formats.get(name)
    others = [other for other in formats.names() if other != name]
    session = chosen.session

    def target(data: bytes, rng: random.Random) -> bool:
        dice = rng.random()
        if session is not None and dice < 0.1:
            cut = rng.randrange(len(data) + 1)
            opened = session.open()
            messages = [*opened.feed(data[:cut]), *opened.feed(data[cut:]), *opened.finish()]
            opened.conversation(messages)
            return bool(messages)
        if dice > 0.97:
            formats.detect(data)
        conversations = formats.read_all(data, name)
        if len(data) > _LONG:
            return True
        if dice < 0.3:
            written = formats.write_all(conversations, name)
            same = written.json == data if chosen.verbatim else exact_json.same(_values(written.json), _values(data))
            if name == "hansard":  # our own: what has its usual value may be said or not
                same = same or all(map(identical, formats.read_all(written.json, name), conversations))
            assert same or written.losses, "it is written another way than it was read, and nothing says so"
        elif dice > 0.95:
            other = formats.write_all(conversations[:1], rng.choice(others))
            if dice < 0.96:
                assert isinstance(other.losses, list)
        return True

    return target


def _values(raw: bytes) -> object:
    """What a document says: one JSON value, or one a line; a line ends at a line feed and nowhere else."""
    try:
        return exact_json.decode(raw)
    except Unreadable:
        pass
    try:
        lines = (line.strip(b"\xef\xbb\xbf \t\r") for line in raw.split(b"\n"))
        return [exact_json.decode(line) for line in lines if line]
    except Unreadable:
        return raw


def showing(name: str) -> Target:
    """Read a conversation of our own, write a page of it."""

    def target(data: bytes, rng: random.Random) -> bool:
        page = formats.write(formats.read(data, "hansard"), name)
        assert isinstance(page.json, bytes)
        if rng.random() < 0.1:
            assert isinstance(page.losses, list)
        return True

    return target


SURFACES = [
    Surface(f"{name} documents", partial(seeds, name), partial(reading, name))
    if not formats.get(name).write_only
    else Surface(f"{name} pages", partial(seeds, "hansard"), partial(showing, name))
    for name in formats.names()
]
