"""Session files of coding agents: what they share."""
