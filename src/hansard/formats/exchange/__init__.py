"""Formats in which conversations are exchanged, observed and trained on.

    sharegpt           training files of ShareGPT
    openai_finetune    training files of OpenAI: Chat Completions messages
    atif               trajectories of Harbor
    otel_genai         OpenTelemetry spans and events of generative AI
    chatgpt_export     the data export of ChatGPT
    dataset            files of many conversations, JSON lines or one array; shared by both training formats

Each folder has its own map. They share only `dataset` and know no other format, except that openai_finetune builds on
`openai_chat`. Formats that hold many conversations in one document declare `split` and `join` beside `read` and
`write`.

May import: the core of `formats`, the model. Free to change: a format's mapping, as long as its golden files and laws
pass; unknown fields must survive.
"""
