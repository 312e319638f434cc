"""Command and server find the same in a document, with the number of the conversation where there are several."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from litestar.testing import TestClient

import hansard
from hansard.cli import run
from hansard.formats.rules.checks import validate
from hansard.server import create_app

EMPTY = {"messages": [{"role": "user", "content": ""}]}
FULL = {"messages": [{"role": "user", "content": "tea"}]}


@pytest.mark.parametrize(
    ("lines", "place"), [([EMPTY], "$.messages[0].parts[0].text"), ([FULL, EMPTY], "$[1].messages[0].parts[0].text")]
)
def test_a_finding_names_its_conversation_where_there_are_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[object], place: str
) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (finding,) = validate(text.encode(), "anthropic", "openai-finetune")
    assert (finding.path, finding.check) == (place, "empty")
    (tmp_path / "talks.jsonl").write_text(text)
    given = ["--from", "openai-finetune", "--for", "anthropic", "--json"]
    run(["validate", str(tmp_path / "talks.jsonl"), *given])
    told = json.loads(capsys.readouterr().out)
    assert [one["path"] for one in told] == [place]
    with hansard.open(":memory:") as ledger, TestClient(create_app(ledger), base_url="http://127.0.0.1") as client:
        body = {"text": text, "format": "openai-finetune", "provider": "anthropic"}
        assert client.post("/api/validate", json=body).json()["findings"] == told
