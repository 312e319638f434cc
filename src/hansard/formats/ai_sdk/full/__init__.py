"""fullStream of the AI SDK, versions 5 to 7: a stream only, without documents.

Read `stream`: each part becomes the UI chunk that `toUIMessageStream` would send, and `ai_sdk.ui.stream` decodes it.
The table of parts is at the top of the module. May import: `ai_sdk.ui`, `streams`, the core of `formats`, the model.
Free to change: parts of new SDK versions.
Stored, so never renamed: the residue key `ai-sdk-full`.
"""
