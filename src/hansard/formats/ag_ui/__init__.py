"""AG-UI, the Agent User Interaction protocol: only an emitter, so it has no FORMAT row.

`emit.AgUiEmitter` writes runs as SSE for AG-UI clients; `streams.registry` finds it as `ag-ui`. Its docstring has the
table of deltas and events, and what is not sent. Targets: `reasoning` (protocol 1.0, the default) and `thinking`
(before 1.0). May import the core of `streams` (`emitter_base`) and the model, no other format.

Free to change: events for new kinds of parts. Clients rely on the event types, on one message id for the whole answer
and on ids of the form `<message>-reasoning-<n>`: see `tests/streams/test_emitters.py`.
"""
