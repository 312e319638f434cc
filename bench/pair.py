"""`python bench/pair.py FROM TO`: one conversion against the floor, and where its time goes.

The floor is msgspec's decode + encode of the same bytes; all steps are measured in turn, CPU time, best of many.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec
from data import anthropic_request

from hansard import formats
from hansard.formats.contract import Target
from hansard.gc_pause import gc_pause
from hansard.model import exact_json


def main(source: str, target: str, rounds: int = 25) -> None:
    """Print the steps of one conversion."""
    raw = formats.convert(exact_json.encode(anthropic_request()), source, "anthropic").json
    reader, writer = formats.get(source), formats.get(target)
    conversation = formats.read(raw, source)
    steps: dict[str, Callable[[], Any]] = {
        "floor": lambda: msgspec.json.encode(msgspec.json.decode(raw)),
        "parse": lambda: exact_json.decode(raw),
        f"parse + {source}.read": lambda: reader.read(exact_json.decode(raw)),
        "read (with binding and law)": lambda: formats.read(raw, source),
        f"{target}.write": lambda: writer.write(conversation, Target()),
        "write (with law) to JSON": lambda: formats.write(conversation, target).json,
        "convert": lambda: formats.convert(raw, target, source).json,
    }
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for name, step in steps.items():
            start = time.process_time()
            if name == "floor":
                step()
            else:
                with gc_pause():
                    step()
            best[name] = min(best[name], (time.process_time() - start) * 1000)
    messages = len(conversation.messages)
    for name, used in best.items():
        print(f"{name:<40} {used:8.2f} ms {used / best['floor']:6.2f}x {used * 1000 / messages:6.2f} us a message")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
