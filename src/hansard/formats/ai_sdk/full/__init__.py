"""fullStream of the AI SDK: a stream only."""
