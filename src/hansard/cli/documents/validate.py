"""`hansard validate`: named checks, each with the place, the problem and the fix."""

from __future__ import annotations

import click

from hansard.cli.files import load, naming, save
from hansard.cli.options import say, shown
from hansard.formats.rules.checks import validate_all
from hansard.model import exact_json


@click.command("validate")
@click.argument("source", metavar="SRC")
@click.option("--from", "from_", metavar="FORMAT", help="The format of SRC; told from the data when left out.")
@click.option("--for", "provider", metavar="PROVIDER", help="Also check the rules of this provider's format.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as a JSON array.")
def command(source: str, from_: str | None, provider: str | None, as_json: bool) -> int:
    """Check the conversations in SRC; exit 1 when there are errors."""
    data = load(source)
    with naming(source):
        findings = validate_all(data, from_, provider)
    errors = [finding for finding in findings if finding.severity == "error"]
    if as_json:
        save(exact_json.encode(findings) + b"\n", None)
        return 1 if errors else 0
    for finding in findings:
        say(shown(f"{finding.severity}: {finding.path}: {finding.problem} [{finding.check}]; {finding.fix}"))
    warnings = len(findings) - len(errors)
    click.echo(f"{len(errors)} errors, {warnings} warnings" if findings else "no findings")
    return 1 if errors else 0
