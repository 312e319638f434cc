"""Bad input gets one line that names file, place and way out, exit code 2; never a traceback, nothing half written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = b'{"max_tokens":1,"messages":[{"role":"user","content":"hi"}]}'
CASES = {
    "truncated": (GOOD[:40], "line 1"),
    "wrong_types": (b'{"messages":[{"role":7,"content":"x"}]}', "$.messages[0].role"),
    "wrong_content": (b'{"messages":[{"role":"user","content":{}}]}', "$.messages[0].content"),
    "a_number": (b"17", "expected"),
    "no_messages": (b'{"model":"x"}', "$.messages"),
    "deep_nesting": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "open_brackets": (b"[" * 20_000_000, "nested too deeply"),
    "deep_in_data": (GOOD[:-1] + b',"x":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}", "nested too deeply"),
    "duplicate_keys": (b'{"messages":[{"role":"user","role":"user","content":"x"}]}', "'role' is given twice"),
    "duplicate_in_data": (b'{"messages":[],"metadata":{"a": {"b":1,"b":1}}}', "'b' is given twice"),
    "duplicate_behind_escape": (b'{"messages":[],"a":"\\u0022","b":1,"b":2}', "'b' is given twice"),
    "duplicate_hidden_by_numbers": (b'{"messages":[],"b":1,"b":2,"n":[1e9,1e9,1e9]}', "'b' is given twice"),
    "nan": (b'{"messages":[],"x":NaN}', "NaN"),
    "infinity": (b'{"messages":[],"x":-Infinity}', "Infinity"),
    "number": (b'{"messages":[],"x":1e9999999999999999999}', "1e9999999999999999999"),
    "utf16": (GOOD.decode().encode("utf-16"), "UTF-16"),
    "utf16_without_mark": (GOOD.decode().encode("utf-16-le"), "UTF-16"),
    "latin1": ('{"messages":[{"role":"user","content":"é"}]}'.encode("latin-1"), "not UTF-8"),
    "empty": (b"", "empty"),
    "blank": (b" \n\n", "empty"),
    "html": (b"<html><body>502</body></html>", "line 1"),
    "binary": (bytes(range(256)), ""),
}


def hansard(*arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "hansard", *arguments], input=stdin, capture_output=True, check=False)


def assert_one_line(done: subprocess.CompletedProcess[bytes], name: str, place: str) -> None:
    error = done.stderr.decode()
    assert done.returncode == 2, error
    assert done.stdout == b""
    assert error.count("\n") == 1, error
    assert error.startswith("hansard: ")
    assert "Traceback" not in error
    assert name in error
    assert place in error


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("command", ["convert", "validate"])
def test_bad_input_is_one_clear_line(case: str, command: str, tmp_path: Path) -> None:
    data, place = CASES[case]
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    out = tmp_path / "out.json"
    options = ["--to", "hansard", "-o", str(out)] if command == "convert" else []
    assert_one_line(hansard(command, str(path), "--from", "anthropic", *options), "bad.json", place)
    assert not out.exists()
    assert list(tmp_path.iterdir()) == [path], "something was left behind"


@pytest.mark.parametrize("case", ["truncated", "empty", "duplicate_keys", "nan", "html", "a_number"])
def test_without_a_format_name_it_is_the_same(case: str) -> None:
    done = hansard("convert", "-", "--to", "hansard", stdin=CASES[case][0])
    assert_one_line(done, "standard input", "")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    assert_one_line(hansard("convert", str(tmp_path), "--to", "hansard"), str(tmp_path), "folder")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert_one_line(hansard("convert", str(tmp_path / "no.json"), "--to", "hansard"), "no.json", "No such file")


def test_a_misspelt_format_is_corrected() -> None:
    assert_one_line(hansard("convert", "-", "--to", "antropic", stdin=GOOD), "'anthropic'", "did you mean")


def test_an_output_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    out = tmp_path / "no" / "such" / "out.json"
    assert_one_line(hansard("convert", "-", "--to", "hansard", "-o", str(out), stdin=GOOD), "such", "No such file")


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + GOOD,
        b'{"max_tokens":1,"messages":[{"role":"user","content":"half \\ud83d"}]}',
        b'{"max_tokens":1,"messages":[{"role":"user","content":"\\u0000 and \\u2028"}]}',
    ],
    ids=["bom", "lone_surrogate", "nul"],
)
def test_odd_but_readable_text_is_kept(data: bytes) -> None:
    there = hansard("convert", "-", "--to", "hansard", stdin=data)
    assert there.returncode == 0, there.stderr
    back = hansard("convert", "-", "--from", "hansard", "--to", "anthropic", stdin=there.stdout)
    assert back.returncode == 0
    assert json.loads(back.stdout) == json.loads(data.removeprefix(b"\xef\xbb\xbf"))


def test_a_pipe_is_written_to_and_a_link_stays_a_link(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        assert hansard("convert", "-", "--to", "anthropic", "-o", str(pipe), stdin=GOOD).returncode == 0
        assert reader.stdout is not None
        assert reader.stdout.read().strip() == GOOD
    assert pipe.is_fifo()
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(b"old")
    link.symlink_to(real)
    assert hansard("convert", "-", "--to", "anthropic", "-o", str(link), stdin=GOOD).returncode == 0
    assert link.is_symlink()
    assert real.read_bytes().strip() == GOOD


CLOSED = {
    "input": ("hansard convert - --to hansard <&-", 2, "standard input is closed"),
    "output": ("hansard convert good.json --to hansard >&-", 2, "standard output is closed"),
    "errors": ("hansard convert no.json --to hansard 2>&-", 2, ""),
    "reader": ("(hansard convert good.json --to hansard; echo $? >&2) | true", 0, "0"),
    "device": ("hansard convert good.json --to hansard -o /dev/full", 2, "/dev/full: No space left"),
}


@pytest.mark.parametrize("case", CLOSED)
def test_closed_streams_and_full_disks_are_named(case: str, tmp_path: Path) -> None:
    line, code, words = CLOSED[case]
    (tmp_path / "good.json").write_bytes(GOOD)
    script = f'hansard() {{ "{sys.executable}" -m hansard "$@"; }}; {line}'
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == code
    assert words in done.stderr.decode()
    assert b"fault" not in done.stderr
    assert done.stdout == b""


def test_a_file_that_is_replaced_stays_as_private_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / ("x" * 250)
    out.write_bytes(b"")
    out.chmod(0o600)
    assert hansard("convert", "-", "--to", "hansard", "-o", str(out), stdin=GOOD).returncode == 0
    assert out.stat().st_mode & 0o777 == 0o600
    assert out.read_bytes().startswith(b"{")
