"""Commands on files and streams: convert, validate, stream, formats, schema. None of them opens a ledger."""
