"""`hansard stream`: as bytes arrive, on bad input, and with its own streams closed."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "hansard", "stream", "--from", "openai-chat"]
START = b'data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
END = b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def piece(text: str) -> bytes:
    return b'data: {"id":"c","choices":[{"index":0,"delta":{"content":%b}}]}\n\n' % json.dumps(text).encode()


def run(raw: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *options], input=raw, capture_output=True, check=False)


@pytest.mark.parametrize("to", ["ai-sdk-ui", "openai-chat", "ag-ui"])
def test_every_piece_is_written_when_it_comes(to: str) -> None:
    with subprocess.Popen([*COMMAND, "--to", to], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(START)
        for i in range(40):  # also when pieces are read by their bytes
            word = f"word-{i}."
            raw = piece(word)
            process.stdin.write(raw[:30])
            process.stdin.write(raw[30:])
            seen = b""
            while word.encode() not in seen:
                got = process.stdout.read(4096)
                assert got
                seen += got
        process.stdin.write(END)
        process.stdin.close()
        process.stdout.read()
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "the stream was cut"),
        (b"<html>502</html>", "it is an HTML page"),
        (gzip.compress(START, mtime=0), "it is gzip, decompress it first"),
        (START + piece("x"), "the stream was cut"),
        (START + b"data: {broken\n\n" + END, "event 2 is not valid JSON"),
        (b'{"error":{"message":"no such\\nmodel"}}', "no such model"),
    ],
)
@pytest.mark.parametrize("to", ["message", "ai-sdk-ui", "openai-chat", "ag-ui"])
def test_what_went_wrong_is_said_in_lines_and_what_came_is_written(raw: bytes, said: str, to: str) -> None:
    done = run(raw, "--to", to)
    assert done.returncode == 1
    assert done.stdout.endswith(b"\n")
    lines = done.stderr.decode().splitlines()
    assert said in done.stderr.decode()
    assert all(line.startswith("hansard: ") for line in lines)


def test_closed_standard_streams_are_named() -> None:
    for closed, what in (("<&-", "input"), (">&-", "output")):
        shell = f'"$0" -m hansard stream --from anthropic --to message {closed}'
        done = subprocess.run(
            ["sh", "-c", shell, sys.executable], capture_output=True, stdin=subprocess.PIPE, check=False
        )
        assert done.returncode == 2
        assert done.stderr.decode().startswith(f"hansard: standard {what} is closed")
        assert done.stderr.count(b"\n") == 1


def test_a_reader_that_goes_away_is_no_fault() -> None:
    shell = '(cat; yes "$1") | "$0" -m hansard stream --from openai-chat --to ai-sdk-ui | head -c 100 > /dev/null'
    raw = START + piece("x") * 200
    done = subprocess.run(
        ["sh", "-c", shell, sys.executable, ":"], input=raw, capture_output=True, check=False, timeout=60
    )
    assert done.stderr == b""


def test_the_message_has_the_id_that_it_is_given() -> None:
    done = run(START + piece("hi") + END, "--to", "message", "--message-id", "m7")
    assert json.loads(done.stdout)["messages"][0]["id"] == "m7"
