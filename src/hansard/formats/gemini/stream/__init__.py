"""The stream of Gemini: `decoder.GeminiDecoder`, found by `streams.registry`.

`decoder` holds the answer as received so far and the handler of events; read its docstring first. `partial_args` joins
arguments that arrive as JSON paths and values. A streamed and a whole answer are read by the same code: the decoder
builds the response and lets `gemini.messages` read it. May import the core of `streams`, this format and the model.

Free to change: handlers, `_MERGED` and `_APPENDED` when the API adds metadata. Keep the deltas of recorded streams:
`tests/formats/gemini/test_stream.py` and `tests/laws/test_stream_repeats.py` compare both ways of reading an event.
"""
