"""The stream of Chat Completions and its dialects: `decoder.OpenAIChatDecoder`, found by `streams.registry`.

Read `decoder` first: one handler for each key of a delta. `answer` is the answer as received so far (choices, calls,
keys of parts), `growth` says how values of chunks are merged. Chunks that repeat are read by the byte pattern of
`streams.learned_pattern`; `_learn_from` in `decoder` decides which chunks may teach one. A streamed and a whole answer
are read by the same code: the decoder builds the response and lets `openai_chat.messages` read it. May import the core
of `streams`, this format and the model.

Free to change: a handler for a dialect's key, identifiers and text keys in `growth`. A chunk may teach a pattern only
if repeating it with another text changes nothing else: `tests/laws/test_stream_repeats.py` tries every variation.
"""
