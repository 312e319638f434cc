"""What people asked, which tools failed, what was spent: six tables of a ledger, in a few lines each.

python examples/analyse.py [ledger.db]
"""

import sys
from collections import Counter

import hansard


def main(path: str) -> None:
    with hansard.open(path) as ledger:
        if not ledger.threads(limit=1).items:
            thread = ledger.create_thread().id
            call = hansard.ToolCallPart(tool_call_id="c1", tool_name="weather", input={"city": "Leith"})
            result = hansard.ToolResultPart(tool_call_id="c1", tool_name="weather", output="11 degrees")
            usage = hansard.Usage(input_tokens=12, cache_read_tokens=8, output_tokens=3)
            asked = hansard.Message.user("How warm is it in Leith?")
            answer = hansard.Message.assistant("Eleven degrees.", model="claude-opus-5", usage=usage)
            ledger.append(thread, [asked, hansard.Message.assistant(call), hansard.Message.tool(result), answer])

        for prompt in ledger.rows("prompts"):
            print(f"{prompt['at'][:16]}  {prompt['title']}: {prompt['text'][:70]}")

        tools = Counter((call["tool"], call["status"]) for call in ledger.rows("calls"))
        for (tool, status), count in tools.most_common():
            print(f"tool {tool}, {status}: {count}")

        spent: Counter[tuple[str, str]] = Counter()
        for row in ledger.rows("usage"):
            spent[row["project"] or "no project", row["at"][:10]] += row["inputTokens"] + row["outputTokens"]
        for (project, day), tokens in spent.most_common():
            print(f"{day} {project}: {tokens} tokens")

        for path, count in Counter(change["path"] for change in ledger.rows("files")).most_common(5):
            print(f"file {path}: {count}")

        for session in ledger.iter_threads():
            print(f"{session.title} ({', '.join(session.models)}): {session.usage.total} tokens")
            for message in ledger.iter_messages(session.id):
                print(f"    {message.role}: {message.text[:60]}")


main(sys.argv[1] if len(sys.argv) > 1 else ":memory:")
