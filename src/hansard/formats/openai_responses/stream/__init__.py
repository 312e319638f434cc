"""The stream of the Responses API: `decoder.OpenAIResponsesDecoder`, found by `streams.registry`.

Read `decoder` first: a table of event types and their handlers. `items` holds the items while they grow (`_GROWTHS`
says which event grows which text) and emits their parts. Deltas that repeat are read by the byte pattern of
`streams.learned_pattern`. A streamed and a whole answer are read by the same code: the decoder builds the response and
lets `openai_responses.messages` read it. May import the core of `streams`, this format and the model.

Free to change: a handler for a new event, a row in `_GROWTHS`, `_STATUS`. The final form of an item or response wins
over its deltas: keep that order.
"""
