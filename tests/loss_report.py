"""What the loss report has to say: every place that reads back otherwise, down to the leaf, and no other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from hansard import formats
from hansard.formats.coding_agents.session_file import evidence, without_evidence
from hansard.formats.contract import Written
from hansard.model import Conversation, exact_json, native
from hansard.model.diff import _match_parts
from hansard.model.tree import active_path

NOTHING: Any = object()
_RESIDUE = re.compile(r"\.extra(\.|$)|\.settings$")
_PART = re.compile(r"\.(parts|content)\[\d+\]$")


def check(written: Written) -> None:
    """Assert that the paths of the losses are the places that differ."""
    back = read_back(written)
    reported = [loss.path for loss in written.losses]
    expected = list(places(written.source, back, left_out(written)))
    for path in [path for path in expected if path.endswith("[*]")]:
        inside = [one for one in reported if one.startswith(path[:-2])]
        assert inside, f"parts of {path} are missing or added, and nothing says so"
        reported = [one for one in reported if one not in inside] + [path]
    for path in (Counter(expected) - Counter(reported)).elements():  # of a message that is gone, each part
        message = written.source.messages[int(path.removeprefix("$.messages[").removesuffix("]"))]
        for j in range(len(message.parts)):
            reported.remove(f"{path}.parts[{j}]")
        reported.append(path)
    assert sorted(reported) == sorted(expected)
    same = exact_json.same(native.plain(written.source), native.plain(back))
    assert (written.losses == []) == same


def read_back(written: Written) -> Conversation:
    if written.format.kept is not None:
        return written.format.kept(written.source)
    back = formats.read(written.json, written.format)
    if written.format.coding_agent and evidence(written.source, written.format.name) is None:
        return without_evidence(back, written.format.name)
    return back


def left_out(written: Written) -> set[int]:
    """The messages on other branches, which a linear format does not write."""
    source, format = written.source, written.format
    if format.trees:
        return set()
    active = {run.id for run in source.runs or () if run.status == "active"} if format.active_runs else set()
    shown = {i for i, message in enumerate(source.messages) if message.run_id in active}
    return {*range(len(source.messages))} - {*active_path(source)} - shown


def places(source: Conversation, back: Conversation, left: set[int]) -> Iterator[str]:
    """The paths in which two conversations differ, those of messages by where their parts are now."""
    yield from leaves(*({**native.plain(one), "messages": []} for one in (source, back)), "$")
    before, after = ([native.plain(message) for message in one.messages] for one in (source, back))
    shapes = [
        [(one["role"], *map(type, of.parts)) for one, of in zip(plain, real.messages, strict=True)]
        for plain, real in ((before, source), (after, back))
    ]
    if not left and shapes[0] == shapes[1]:
        yield from leaves(before, after, "$.messages")
        return
    written = [replace(one, parts=[]) if i in left else one for i, one in enumerate(source.messages)]
    found = _match_parts(written, back.messages)
    assert len(set(found.values())) == len(found)
    homes: dict[int, int] = {}
    for i, message in enumerate(before):
        at = [found.get((i, j)) for j in range(len(message["parts"]))]
        targets = {home[0] for home in at if home is not None}
        last = max(homes.values(), default=-1)
        if not targets and not message["parts"] and i not in left:
            empty = next((k for k in range(last + 1, len(after)) if not after[k]["parts"]), None)
            targets = {empty} if empty is not None and after[empty]["role"] == message["role"] else set()
        if not targets:
            yield f"$.messages[{i}]"  # it is gone
            continue
        yield from [f"$.messages[{i}]"] * (len(targets) > 1)  # it became several
        home = min(targets)
        yield from [f"$.messages[{i}]"] * (home in homes.values() or home < last)  # it was joined, or moved
        homes[i] = home
        yield from leaves({**message, "parts": []}, {**after[home], "parts": []}, f"$.messages[{i}]")
        for j, place in enumerate(at):
            now = NOTHING if place is None else after[place[0]]["parts"][place[1]]
            yield from leaves(message["parts"][j], now, f"$.messages[{i}].parts[{j}]")
        order = [home for home in at if home is not None]
        yield from [f"$.messages[{i}].parts"] * any(one > other for one, other in pairwise(order))
    came = set(found.values())
    for k, message in enumerate(after):
        new = [j for j in range(len(message["parts"])) if (k, j) not in came]
        if k not in homes.values() and len(new) == len(message["parts"]):
            yield f"$.messages[{k}]"  # it was added
        else:
            yield from (f"$.messages[{k}].parts[{j}]" for j in new)


def leaves(one: Any, other: Any, path: str) -> Iterator[str]:
    """Where two plain values differ; of residue and settings that only one side has, every leaf."""
    if one is NOTHING or other is NOTHING:
        value = other if one is NOTHING else one
        if type(value) is dict and value and _RESIDUE.search(path):
            for key, item in value.items():
                yield from leaves(*((item, NOTHING) if other is NOTHING else (NOTHING, item)), f"{path}.{key}")
        elif one is not other:
            yield path
    elif type(one) is dict and type(other) is dict:
        if one.get("type") != other.get("type") and _PART.search(path):
            yield path
            return
        for key in {**one, **other}:
            yield from leaves(one.get(key, NOTHING), other.get(key, NOTHING), f"{path}.{key}")
    elif type(one) is list and type(other) is list and len(one) == len(other):
        for i, pair in enumerate(zip(one, other, strict=True)):
            yield from leaves(*pair, f"{path}[{i}]")
    elif not exact_json.same(one, other):
        parts = type(one) is list and type(other) is list and path.endswith("].content")
        yield f"{path}[*]" if parts else path  # of a result, some parts
