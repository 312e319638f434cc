"""OpenClaw's sessions: what its calls record of the user's files."""

from __future__ import annotations

from hansard import formats
from hansard.formats.coding_agents.edits import UNKNOWN, edits_of, replayed
from hansard.model import Conversation, Message, ToolCallPart, ToolResultPart
from tests.conftest import GOLDEN

PATCH = """*** Begin Patch
*** Add File: added.txt
+one
*** Update File: README.md
@@
 # Kettle
-Boils water.
+Boils tea.
*** Delete File: tea.txt
*** End Patch
"""


def test_writes_and_edits_say_what_was_there_before() -> None:
    conversation = formats.read((GOLDEN / "openclaw" / "tools_and_edits.jsonl").read_bytes())
    steps = list(replayed(edits_of(conversation)))
    assert [(step.path, step.before, step.after) for step in steps[:2]] == [
        ("/work/tea/notes.txt", None, b"lid: loose\n"),
        ("/work/tea/notes.txt", b"lid: loose\n", b"lid: tight\n"),
    ]
    assert (steps[2].before, steps[2].after) == (UNKNOWN, b"new\n")
    assert len(steps) == 3, "the edit that failed is none"


def test_a_patch_adds_changes_and_deletes() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="apply_patch", input={"input": PATCH})
    done = ToolResultPart(tool_call_id="c1", tool_name="apply_patch", output="Success.", is_error=False)
    messages = [Message(id="a", role="assistant", parts=[call]), Message(id="t", role="tool", parts=[done])]
    added, changed, deleted = edits_of(Conversation(messages=messages, extra={"openclaw": {"entries": 2}}))
    assert (added.path, added.before, added.change(None)) == ("added.txt", None, b"one\n")
    assert (changed.path, changed.change(b"# Kettle\nBoils water.\n")) == ("README.md", b"# Kettle\nBoils tea.\n")
    assert changed.reverse is not None
    assert changed.reverse(b"# Kettle\nBoils tea.\n") == b"# Kettle\nBoils water.\n"
    assert (deleted.path, deleted.change(b"x")) == ("tea.txt", None)
