from hansard.agent import MessageList, to_ai_sdk_messages

listed = MessageList(thread_id="t")
listed.update_from_stream_part({"type": "tool-input-start", "id": "c1", "toolName": "rules"})
listed.update_from_stream_part({"type": "tool-input-delta", "id": "c1", "delta": '{"car'})
message = listed.flush_to_canonical()
print(message["content"]["parts"][0]["state"])
print("for the model:", to_ai_sdk_messages([message]))
