"""Documents and messages of Pydantic AI."""
