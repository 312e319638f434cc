import json
from pathlib import Path

from hansard.agent import to_ai_sdk_messages

for message in to_ai_sdk_messages(json.loads(Path("store.json").read_text())):
    parts = message["content"]
    kinds = ["text"] if isinstance(parts, str) else [part["type"] for part in parts]
    print(message["role"], *kinds)
    print(*[part["toolCallId"] for part in parts if "toolCallId" in part])
