"""AG-UI: an emitter only."""
