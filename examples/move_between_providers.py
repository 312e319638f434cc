"""A conversation with tools and an image moves from OpenAI to three other APIs, and the answers come home.

python examples/move_between_providers.py
"""

import hansard

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
REQUEST = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "Answer in one sentence."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is in this picture, and how warm is it there?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Leith"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"celsius": 11}'},
        {"role": "user", "content": "And tomorrow?"},
    ],
}


def main() -> None:
    talk = hansard.read(REQUEST, "openai-chat")
    for format in ("anthropic", "gemini", "openai-responses"):
        written = hansard.write(talk, format)
        print(f"{format}: {len(written.json)} bytes, {len(written.losses)} losses")
        for loss in written.losses:
            print(f"    {loss.kind} {loss.path}: {loss.why}")
        for finding in hansard.validate(written.data, format):
            print(f"    {finding.severity} {finding.path}: {finding.problem}")

    answer = {"role": "assistant", "content": [{"type": "text", "text": "Eleven degrees again."}], "type": "message"}
    both = hansard.append_answer(talk, hansard.read(answer, "anthropic"))
    home = hansard.write(both, "openai-chat").data
    assert home["messages"][: len(REQUEST["messages"])] == REQUEST["messages"]
    print(home["messages"][-1])


main()
