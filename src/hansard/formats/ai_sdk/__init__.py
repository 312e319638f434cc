"""The AI SDK (Vercel's `ai` package), versions 4 to 7: two document formats and a stream.

    ui          UIMessages: what browsers show and send (`useChat`); their stream, in both directions
    model       ModelMessages: what `streamText` is given and returns
    full        `fullStream`: what a server sees of its own run; a stream only, decoded through `ui`
    reasoning   opaque reasoning in `providerMetadata` and `providerOptions`, shared by ui, model and agent_store

Read `reasoning` first, then the folder of the format. May import: the core of `formats`, the model; `full` imports
`ui`. Free to change: mappings, as long as golden files, laws and the real clients agree. What the versions accept is in
`rules` of `ui` and `model`; the real npm packages check it in
`tests/judges/test_ai_sdk.py`.
"""
