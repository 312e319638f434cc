"""Field tables: what a block of a format is, as rows; its reader and writer are generated from them.

A `Block` lists one `Row` for each native key: the canonical field, the kind of its values, whether it is required.

    CALL = Block("anthropic", "tool_use", ToolCallPart, [
        #   native key    canonical        kind   required
        Row("id",         "tool_call_id",  str,   True),
        Row("name",       "tool_name",     str,   True),
        Row("input",      "input"),
        Row("cache_control"),
    ])

    CALL.read({"type": "tool_use", "id": "c1", "name": "f", "x": 1}, {})
        ToolCallPart(tool_call_id="c1", tool_name="f", extra={"anthropic": {"x": 1}})
    CALL.write(part)         the same dict, residue put back after the fields
    CALL.write_record(part)  a struct for a part without residue: quicker to make and to encode than a dict

Residue needs no line: a key without a row, a row without a canonical field, and a value of another kind stay in
`extra[format]`. A required field that is missing or of another kind raises `SchemaMismatch`; the block is kept raw.
Where a value needs logic its row has `read` and `write`; where the whole block does, the block has them.

**Typed documents.** `Block.record` is a msgspec struct of all rows. `decode` decodes a text that holds no other key to
such records in one go, without a dict for each object, and `Blocks.read_record` maps them by the same rows. A text
with one unknown key anywhere is decoded to plain values as a whole, so what is read is the same either way.

**Generated code** is straight-line Python, compiled when a block is first met. Its file is called
`<field table anthropic: tool_use>`, its lines end with the native key of their row, and tracebacks show them;
`print(CALL.source())` shows all of it.

Read in this order:

    rows       `Row`, and `check`, which refuses a wrong row when the table is made
    blocks     `Block` and `Blocks`: a kind of block, and all blocks of a format
    source     the generated code of a block, as lines of Python; `compiled` makes a function of it
    complete   `CompleteBlock`, for formats that write every key with a default, and its generated code
    records    the structs of typed documents, to decode and to write

May import: `residue`, the model. Free to change: the generated code, with `make bench ARGS=conversions`; tables of the
formats rely on `Row` and on the arguments of the blocks.
"""
