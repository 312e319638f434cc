"""A request with tools, settings and an image moves from OpenAI to three other APIs, and the answer comes home.

python examples/move_between_providers.py
"""

import hansard

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MESSAGES = [
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
]
REQUEST = {
    "model": "gpt-5",
    "max_completion_tokens": 400,
    "temperature": 0.2,
    "tool_choice": "auto",
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "weather",
                "description": "The weather in a city.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            },
        }
    ],
    "messages": MESSAGES,
}


def main() -> None:
    talk = hansard.read(REQUEST, "openai-chat")
    for format, model in (("anthropic", "claude-opus-5"), ("gemini", None), ("openai-responses", "gpt-5")):
        written = hansard.write(talk, format, model=model)
        print(f"{format}: {', '.join(written.data)}; {len(written.losses)} losses; missing: {written.missing}")
        for loss in written.losses:
            print(f"    {loss.kind} {loss.path}: {loss.why}")
        for finding in hansard.validate(written.data, format):
            print(f"    {finding.severity} {finding.path}: {finding.problem}")

    answer = {"role": "assistant", "content": [{"type": "text", "text": "Eleven degrees again."}], "type": "message"}
    both = hansard.append_answer(talk, hansard.read(answer, "anthropic"))
    home = hansard.write(both, "openai-chat").data
    assert home["tools"] == REQUEST["tools"]
    assert home["messages"][: len(MESSAGES)] == MESSAGES
    print(home["messages"][-1])


main()
