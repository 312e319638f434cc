"""The AI SDK: what its formats share."""
