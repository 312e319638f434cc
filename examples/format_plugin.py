"""A format of your own, 'mylog': lines of JSON. As a package it is an entry point; here it is used as it is.

python examples/format_plugin.py
"""

import json

import hansard
from hansard import Conversation, Format, Message, Target, formats
from hansard.errors import Unreadable

LOG = b'{"who": "ann", "said": "Which tea?"}\n{"who": "bot", "said": "Assam."}\n'
ROLES = {"bot": "assistant"}


def read(document: bytes) -> Conversation:
    """Each line as a message; the name of a person is kept as the sender's."""
    messages: list[Message] = []
    for number, line in enumerate(document.splitlines(), start=1):
        try:
            row = json.loads(line)
            who, said = str(row["who"]), str(row["said"])
        except (ValueError, KeyError, TypeError):
            raise Unreadable("not a line of mylog", f"line {number}", 'write {"who": NAME, "said": TEXT}') from None
        role = ROLES.get(who, "user")
        text = hansard.TextPart(text=said)
        messages.append(Message(role=role, parts=[text], name=who))
    return Conversation(messages=messages)


def write(conversation: Conversation, target: Target) -> bytes:
    """Each message as a line."""
    lines: list[str] = []
    for message in conversation.messages:
        who = message.name if isinstance(message.name, str) else "bot" if message.role == "assistant" else "me"
        lines.append(json.dumps({"who": who, "said": message.text}))
    return "".join(f"{line}\n" for line in lines).encode()


def sniff(document: object) -> int:
    """Likely, if it begins as such a line does."""
    return 2 if isinstance(document, bytes) and document.startswith(b'{"who": ') else 0


FORMAT = Format(name="mylog", title="My log", module=__name__, sniff=sniff, text=True, suffix="jsonl")


def main() -> None:
    talk = read(LOG)
    print(hansard.write(talk, "anthropic").data)
    written = hansard.write(talk, FORMAT)
    print(written.json == LOG, written.losses)
    for finding in formats.check(FORMAT, [LOG]):
        print(finding)


if __name__ == "__main__":
    main()
