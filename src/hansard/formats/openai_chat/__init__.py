"""Chat Completions of OpenAI, and its dialects."""
