"""`hansard validate`: named checks; each finding has a place, a problem and a fix."""

from __future__ import annotations

import click

from hansard.cli.files import load, naming, save
from hansard.cli.terminal import display, echo
from hansard.formats.rules.checks import validate
from hansard.model import exact_json


@click.command("validate")
@click.argument("source", metavar="SRC")
@click.option("--from", "from_", metavar="FORMAT", help="Input format (auto-detected if omitted).")
@click.option("--for", "provider", metavar="PROVIDER", help="Also check the rules of this provider, e.g. anthropic.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as a JSON array.")
def command(source: str, from_: str | None, provider: str | None, as_json: bool) -> int:
    """Check the conversations in SRC (a file, or - for standard input); exit 1 if there are errors."""
    data = load(source)
    with naming(source):
        findings = validate(data, provider, from_)
    errors = [finding for finding in findings if finding.severity == "error"]
    if as_json:
        save(exact_json.encode(findings) + b"\n", None)
        return 1 if errors else 0
    for finding in findings:
        echo(display(f"{finding.severity}: {finding.path}: {finding.problem} [{finding.check}]; {finding.fix}"))
    warnings = len(findings) - len(errors)
    click.echo(f"{len(errors)} errors, {warnings} warnings" if findings else "no findings")
    return 1 if errors else 0
