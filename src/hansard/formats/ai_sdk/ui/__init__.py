"""UIMessages of the AI SDK, their stream and its emitter."""
