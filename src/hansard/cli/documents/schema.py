"""`hansard schema`: the JSON Schema of native conversations."""

from __future__ import annotations

import click

from hansard.cli.files import save
from hansard.model import exact_json
from hansard.model.schema import json_schema


@click.command("schema")
@click.option("-o", "--output", metavar="OUT", help="Output file (default: standard output).")
@click.option("--json", "as_json", is_flag=True, help="Print compact JSON on one line.")
def command(output: str | None, as_json: bool) -> int:
    """Print the JSON Schema of a native conversation."""
    schema = json_schema()
    save((exact_json.encode(schema) if as_json else exact_json.pretty(schema)) + b"\n", output)
    return 0
