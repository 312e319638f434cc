"""Hand-over between coding agents: calls are mapped to the other's tools or carried as text, none lost."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from hansard import formats
from hansard.formats.coding_agents.handover import call_as_text, from_text, result_as_text, source_of
from hansard.formats.coding_agents.opencode.session import message_id
from hansard.formats.coding_agents.tool_names import AGENTS, TOOLS, call_for, understood
from hansard.model import (
    Context,
    Conversation,
    FilePart,
    Message,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    exact_json,
)
from hansard.model.tree import active_path
from hansard.sessions.handover import TARGETS
from tests.strategies import ids, json_values, texts

LISTED = [agent for agent in AGENTS if agent in TARGETS]  # calls of the others are understood
PAIRS = list(permutations(LISTED, 2))
OWN = {"claude-code": {"claude-code": {"version": "2.1.37"}}, "codex": {"codex": {"originator": "codex-tui"}}}
OWN |= {name: {name: {"a": 1}} for name in ("gemini-cli", "sage", "pi", "copilot-cli", "opencode", "kilo", "openclaw")}


def called(name: str, given: Any, source: str, **more: Any) -> Conversation:
    """A conversation of one call and its result."""
    call = ToolCallPart(tool_call_id="c1", tool_name=name, input=given)
    result = ToolResultPart(tool_call_id="c1", tool_name=name, output="done", is_error=False)
    context = Context(cwd="/work")
    messages = [
        Message(role="user", parts=[TextPart(text="go")], context=context, **more),
        Message(role="assistant", parts=[call], context=context),
        Message(role="tool", parts=[result], context=context),
    ]
    return Conversation(messages=messages, extra=OWN[source])


def handed(conversation: Conversation, to: str) -> list[Message]:
    return formats.read(formats.write(conversation, to).json, to).messages


def folders_of(conversation: Conversation) -> list[str]:
    """The working directories of a conversation, those below others first."""
    return sorted({f"{one.context.cwd}/" for one in conversation.messages if one.context and one.context.cwd})[::-1]


def said(conversation: Conversation, folders: list[str]) -> dict[str, Counter[Any]]:
    """Every text, call and result on the path. Paths below the working directories are made relative to them: some
    agents take only absolute ones."""
    found: dict[str, Counter[Any]] = {"texts": Counter(), "calls": Counter(), "results": Counter()}
    for i in active_path(conversation):
        message = conversation.messages[i]
        for part in message.parts:
            if type(part) is TextPart and message.role in ("user", "assistant"):
                found["texts"][part.text] += 1
            elif type(part) is ToolCallPart:
                given = exact_json.encode(_relative(part.input, folders))
                found["calls"][part.tool_call_id, part.tool_name, given] += 1
            elif type(part) is ToolResultPart:
                words: Any = part.output
                if part.content is not UNSET:
                    words = [getattr(inner, "text", "") for inner in part.content]
                    words = words[0] if len(words) == 1 else words
                found["results"][part.tool_call_id, repr(words)] += 1
    return found


def _relative(given: Any, folders: list[str]) -> Any:
    """The arguments of a call with its path relative to the working directory."""
    if isinstance(given, str) and given.startswith("*** Begin Patch"):
        for folder in folders:
            given = given.replace(f"*** Add File: {folder}", "*** Add File: ")
    key = next(
        (key for key in ("path", "file_path", "filePath", "absolute_path") if isinstance(given, dict) and key in given),
        "",
    )
    if not key or not isinstance(given[key], str):
        return given
    path = given[key]
    for folder in folders:
        path = path.removeprefix(folder)
    return {**given, key: path.removeprefix("./")}


MATCHES = [
    ("claude-code", "Bash", {"command": "ls", "description": "List"}, "codex", "exec_command", {"cmd": "ls"}),
    ("claude-code", "Bash", {"command": "ls", "timeout": 5000}, "codex", "shell_command", {"timeout_ms": 5000}),
    ("claude-code", "Bash", {"command": "ls", "timeout": 5000}, "pi", "bash", {"command": "ls", "timeout": 5}),
    ("claude-code", "Bash", {"command": "ls"}, "gemini-cli", "run_shell_command", {"command": "ls"}),
    ("claude-code", "Read", {"file_path": "/a", "offset": 10, "limit": 5}, "gemini-cli", "read_file", {"offset": 9}),
    ("claude-code", "Read", {"file_path": "/a", "offset": 10, "limit": 5}, "pi", "read", {"path": "/a", "offset": 10}),
    ("claude-code", "Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "pi", "edit", {"oldText": "x"}),
    ("claude-code", "Grep", {"pattern": "x", "-n": True}, "sage", "Grep", {"pattern": "x", "-n": True}),
    ("claude-code", "TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}, "codex", "update_plan", {}),
    ("gemini-cli", "write_todos", {"todos": [{"description": "a", "status": "pending"}]}, "sage", "TodoWrite", {}),
    ("qwen-code", "edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "pi", "edit", {"oldText": "x"}),
    ("gemini-cli", "replace", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "sage", "Edit", {}),
    ("codex", "exec_command", {"cmd": "ls", "workdir": "/work"}, "claude-code", "Bash", {"command": "ls"}),
    ("codex", "shell", {"command": ["bash", "-lc", "ls"]}, "sage", "bash", {"command": "ls"}),
    ("codex", "exec_command", {"cmd": "ls", "workdir": "/x"}, "gemini-cli", "run_shell_command", {"dir_path": "/x"}),
    ("pi", "bash", {"command": "ls", "timeout": 5}, "claude-code", "Bash", {"command": "ls", "timeout": 5000}),
    ("copilot-cli", "bash", {"command": "ls"}, "codex", "exec_command", {"cmd": "ls"}),
    ("copilot-cli", "create", {"path": "/a", "file_text": "x\n"}, "claude-code", "Write", {"file_path": "/a"}),
    ("gemini-cli", "replace", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "copilot-cli", "edit", {}),
    ("pi", "write", {"path": "a", "content": "x"}, "claude-code", "Write", {"file_path": "/work/a"}),
    ("pi", "read", {"path": "./a"}, "copilot-cli", "view", {"path": "/work/a"}),
]


@pytest.mark.parametrize(("source", "name", "given_", "to", "other", "expected"), MATCHES)
def test_a_tool_that_does_the_same_is_called(
    source: str, name: str, given_: Any, to: str, other: str, expected: dict[str, Any]
) -> None:
    call = understood(source, name, given_, "/work")
    assert call is not None
    found = call_for(to, call, source, name, "/work")
    assert found is not None
    assert found[0].name == other
    assert found[1].items() >= expected.items()


def test_a_new_file_is_a_patch_for_codex() -> None:
    written = {"file_path": "/work/a", "content": "one\n\ntwo\n"}
    call = understood("claude-code", "Write", written, UNSET)
    assert call is not None
    found = call_for("codex", call, "claude-code", "Write", UNSET)
    patch = "*** Begin Patch\n*** Add File: /work/a\n+one\n+\n+two\n*** End Patch\n"
    assert found is not None
    assert (found[0].name, found[1]) == ("apply_patch", patch)
    back = understood("codex", "apply_patch", patch, UNSET)
    assert back is not None
    assert call_for("claude-code", back, "codex", "apply_patch", UNSET)[1] == written  # type: ignore[index]


NO_MATCHES = [
    ("claude-code", "Read", {"file_path": "/a"}, "codex"),  # it reads by its shell
    ("claude-code", "Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "codex"),
    ("claude-code", "Write", {"file_path": "/a", "content": "no end of line"}, "codex"),
    ("pi", "write", {"content": "", "path": "/a"}, "codex"),  # a patch would give it back in another order
    ("claude-code", "Edit", {"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": True}, "pi"),
    ("claude-code", "Bash", {"command": "ls", "timeout": 5}, "pi"),  # five milliseconds are no seconds
    ("claude-code", "Bash", {"command": "ls", "run_in_background": True}, "codex"),
    ("claude-code", "Bash", {"command": "ls", "of_tomorrow": 1}, "codex"),
    ("claude-code", "mcp__x__y", {"a": 1}, "sage"),
    ("claude-code", "LS", {"path": "/a"}, "gemini-cli"),  # it would not come back: Claude Code has it no more
    ("codex", "exec_command", {"cmd": "ls", "workdir": "/elsewhere"}, "claude-code"),
    ("codex", "apply_patch", "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\n", "claude-code"),
    ("gemini-cli", "grep_search", {"pattern": "x"}, "claude-code"),  # it does not mind case
]


@pytest.mark.parametrize(("source", "name", "given_", "to"), NO_MATCHES)
def test_any_other_call_becomes_text_and_is_named(source: str, name: str, given_: Any, to: str) -> None:
    if to not in LISTED:
        pytest.skip(f"{to} is not a format yet")
    conversation = called(name, given_, source)
    written = formats.write(conversation, to)
    messages = formats.read(written.json, to).messages
    assert not any(type(part) is ToolCallPart for message in messages for part in message.parts)
    assert any(isinstance(p, TextPart) and p.text.startswith("<tool_call") for m in messages for p in m.parts)
    assert any("becomes text" in loss.what for loss in written.losses)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_tool_is_understood_by_its_own_agent_as_it_was_meant(agent: str) -> None:
    for tool in TOOLS[agent]:
        if tool.offered and not tool.patch:
            given_ = {name: f"a {name}" for key, name in tool.fields.items() if key not in tool.spellings}
            call = understood(agent, tool.name, given_, UNSET)
            assert call is not None
            found = call_for(agent, call, agent, tool.name, UNSET)
            assert found is not None
            assert found[1] == given_


results = st.one_of(
    st.builds(ToolResultPart, tool_call_id=ids, tool_name=ids, output=st.one_of(texts, json_values)),
    st.builds(
        ToolResultPart,
        tool_call_id=ids,
        content=st.lists(st.one_of(st.builds(TextPart, text=texts), st.just(FilePart(data="aGk="))), max_size=3),
        is_error=st.booleans(),
        status=st.sampled_from([UNSET, "denied"]),
    ),
)


@given(result=results, agent=st.sampled_from(AGENTS))
def test_a_result_carried_as_text_is_read_back(result: ToolResultPart, agent: str) -> None:
    carried = from_text(result_as_text(result, agent), 0)
    assert carried is not None
    found = carried.part
    assert isinstance(found, ToolResultPart)
    assert (found.tool_call_id, found.tool_name, carried.agent) == (result.tool_call_id, result.tool_name, agent)
    assert exact_json.same(found.output, result.output) or found.output is result.output
    assert (found.content, found.status) == (result.content, result.status)


@given(name=ids, given_=json_values, id=ids, agent=st.sampled_from(AGENTS))
def test_a_call_carried_as_text_is_read_back(name: str, given_: Any, id: str, agent: str) -> None:
    call = ToolCallPart(tool_call_id=id, tool_name=name, input=given_)
    carried = from_text(call_as_text(call, agent), 0)
    assert carried is not None
    assert (carried.part.tool_call_id, carried.part.tool_name, carried.agent) == (id, name, agent)
    assert exact_json.same(carried.part.input, given_)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>",
        '<tool_call agent="codex">\n{\n</tool_call>',
        '<tool_result agent="codex" as="parts">\n[0]\n</tool_result>',
        '<tool_result agent="codex" as="parts">\n5\n</tool_result>',
        '<tool_result agent="codex" as="parts">\n[1.5,null,true]\n</tool_result>',
        '<tool_call agent="codex" name="x" id="1">\n{ "a" : 1 }\n</tool_call>',
        '<tool_call agent="\\q">\n{}\n</tool_call>',
    ],
)
def test_text_that_carries_no_call_stays_text(text: str) -> None:
    assert from_text([TextPart(text=text)], 0) is None


def test_results_of_calls_come_before_those_that_became_text() -> None:
    calls = [
        ToolCallPart(tool_call_id="c1", tool_name="Read", input={"file_path": "/a"}),
        ToolCallPart(tool_call_id="c2", tool_name="Bash", input={"command": "ls"}),
    ]
    answers = [ToolResultPart(tool_call_id=id, tool_name="x", output=id, is_error=False) for id in ("c1", "c2")]
    conversation = Conversation(
        messages=[
            Message(role="assistant", parts=list(calls), id="a"),
            Message(role="tool", parts=[answers[0]], id="r1", parent_message_id="a"),
            Message(role="tool", parts=[answers[1]], id="r2", parent_message_id="r1"),
            Message(role="assistant", parts=[TextPart(text="so")], id="b", parent_message_id="r2"),
        ],
        extra=OWN["claude-code"],
    )
    messages = handed(conversation, "codex")
    assert [message.role for message in messages] == ["assistant", "tool", "user", "assistant"]
    assert isinstance(messages[1].parts[0], ToolResultPart)
    assert messages[1].parts[0].tool_call_id == "c2"


def test_system_messages_are_not_handed_over() -> None:
    conversation = called("exec_command", {"cmd": "ls"}, "codex")
    told = [Message(role="system", parts=[TextPart(text="You are Codex.")]), *conversation.messages]
    written = formats.write(Conversation(messages=told, extra=conversation.extra), "claude-code")
    assert b"You are Codex." not in written.json
    assert any("instructions of its own" in loss.why for loss in written.losses)


def test_tools_of_unknown_agents_are_left_as_they_are() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="get_weather", input={"city": "Rome"})
    conversation = Conversation(messages=[Message(role="assistant", parts=[call])])
    assert source_of(conversation, "codex") is None
    assert handed(conversation, "codex")[0].parts == [call]


def test_an_agent_gets_its_own_conversation_unchanged() -> None:
    conversation = called("Read", {"file_path": "/a"}, "claude-code")
    assert handed(conversation, "claude-code")[1].parts == conversation.messages[1].parts


_LATER = ("shell_command",)  # comes back as the usual way to do the same


@st.composite
def sessions(draw: st.DrawFn, source: str) -> Conversation:
    """A session of one agent: calls of its tools, given this and that, and their results."""
    values = st.one_of(texts, st.integers(0, 9000), st.booleans(), st.just("/work"), st.just([{"content": "a"}]))
    messages: list[Message] = [Message(role="user", parts=[TextPart(text="go")], context=Context(cwd="/work"))]
    for i in range(draw(st.integers(1, 3))):
        calls = []
        for j in range(draw(st.integers(1, 3))):
            tool = draw(st.sampled_from([tool for tool in TOOLS[source] if tool.offered and tool.name not in _LATER]))
            names = [*tool.fields.values(), "description", "of_tomorrow"]
            fields = draw(st.dictionaries(st.sampled_from(names), values, max_size=4))
            calls.append(ToolCallPart(tool_call_id=f"c{i}_{j}", tool_name=tool.name, input=fields))
        answers = [
            ToolResultPart(tool_call_id=call.tool_call_id, tool_name=call.tool_name, output=draw(texts), is_error=False)
            for call in calls
        ]
        messages.append(Message(role="assistant", parts=list(calls), context=Context(cwd="/work")))
        messages.append(Message(role="tool", parts=list(answers), context=Context(cwd="/work")))
    return Conversation(messages=messages, extra=OWN[source])


@pytest.mark.parametrize(("source", "to"), PAIRS)
@settings(max_examples=30)
@given(data=st.data())
def test_any_call_comes_back_as_it_went(source: str, to: str, data: st.DataObject) -> None:
    conversation = data.draw(sessions(source))
    there = formats.read(formats.write(conversation, to).json, to)
    back = formats.read(formats.write(there, source).json, source)
    folders = folders_of(conversation)
    before, after = said(conversation, folders), said(back, folders)
    assert after["calls"] == before["calls"]
    assert after["results"] == before["results"]


@pytest.mark.parametrize(("source", "to"), PAIRS)
def test_there_and_back_every_text_call_and_result_is_kept(source: str, to: str, corpus: Path) -> None:
    files = sorted((corpus / "sessions" / source).glob("*.json*"))
    for path in files:
        conversation = formats.read(path.read_bytes(), source)
        there = formats.read(formats.write(conversation, to).json, to)
        back = formats.read(formats.write(there, source).json, source)
        folders = folders_of(conversation)
        before, after = said(conversation, folders), said(back, folders)
        for what in before:
            assert not before[what] - after[what], (path.name, what)


@pytest.mark.parametrize(("source", "to"), PAIRS)
def test_a_call_of_an_agent_that_is_not_known_stays_text(source: str, to: str) -> None:
    """None of its tools can be called by another agent, whatever they are named."""
    call = ToolCallPart(tool_call_id="c1", tool_name="Bash", input={"command": "ls"})
    result = ToolResultPart(tool_call_id="c1", tool_name="Bash", output="done", is_error=False)
    parts = call_as_text(call, "aider"), result_as_text(result, "aider")
    messages = [
        Message(role="user", parts=[TextPart(text="go")]),
        Message(role="assistant", parts=parts[0]),
        Message(role="user", parts=parts[1]),
    ]
    found = handed(Conversation(messages=messages, extra=OWN[source]), to)
    assert [part for message in found for part in message.parts if type(part) in (ToolCallPart, ToolResultPart)] == []
    texts = [part.text for message in found for part in message.parts if type(part) is TextPart]
    assert [part.text for side in parts for part in side if type(part) is TextPart] == texts[
        -len(parts[0] + parts[1]) :
    ]


def test_an_id_that_opencode_would_sort_otherwise_is_not_kept() -> None:
    own = "msg_1f64fe348002HHscs5W6ZNXKKl"
    assert message_id(own, 5, 1) == own
    for foreign in ("msg_kf8jd8H_", "msg_1", None):  # the first is Cline's
        assert message_id(foreign, 5, 1) < message_id(foreign, 6, 1) < own
