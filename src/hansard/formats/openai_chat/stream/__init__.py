"""The stream of Chat Completions."""
