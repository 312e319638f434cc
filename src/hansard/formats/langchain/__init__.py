"""Messages of LangChain."""
