"""ModelMessages of the AI SDK."""
