import json
from pathlib import Path

import hansard

given = json.loads(Path("store.json").read_text())
print("equal:", hansard.convert(given, "agent-store", "agent-store").data == given)
conversation = hansard.read(given, "agent-store")
print("roles:", *[message.role for message in conversation.messages])
print("parts:", *[type(part).__name__ for message in conversation.messages for part in message.parts])
print("call:", [part.state for part in conversation.messages[2].parts if type(part).__name__ == "ToolCallPart"][-1])
