"""ThreadProtocol 2.0.0."""
