"""Pages for people: markdown and HTML."""
