"""ModelMessages of Pydantic AI and its events."""
