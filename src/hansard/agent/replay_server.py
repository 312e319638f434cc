"""A model server that replays recorded streams, for tests and demos without an API key.

    with ReplayServer(anthropic=[Path("answer.sse").read_bytes()]) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="none")

A recording is the bytes of a stream as its provider sent them, or one JSON event per line; lines are sent in the
provider's own framing. Each request gets the next recording of its provider, starting again after the last.
`server.requests` has the requests. The server has each provider's own paths, so that the official SDKs and everything
built on them work when their base URL is `server.url` (for OpenAI `server.url + "/v1"`):

    anthropic           /v1/messages
    openai-chat         /v1/chat/completions
    openai-responses    /v1/responses
    gemini              /v1beta/models/{model}:streamGenerateContent

Only streams are replayed: a request without streaming gets an error.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

from hansard.errors import HansardError

_PATHS = {
    "anthropic": re.compile(r"/messages$"),
    "openai-chat": re.compile(r"/chat/completions$"),
    "openai-responses": re.compile(r"/responses$"),
    "gemini": re.compile(r":(streamGenerateContent|generateContent)$"),
}
_NAMED = ("anthropic", "openai-responses")  # formats with an `event:` line
_END = {"openai-chat": b"data: [DONE]\n\n"}


class Asked(NamedTuple):
    """A received request."""

    format: str
    path: str
    body: Any


class ReplayServer:
    """Listens on 127.0.0.1 from creation; `delay` is the time between two events, in seconds."""

    def __init__(
        self,
        *,
        anthropic: Sequence[bytes] = (),
        openai_chat: Sequence[bytes] = (),
        openai_responses: Sequence[bytes] = (),
        gemini: Sequence[bytes] = (),
        delay: float = 0.0,
        port: int = 0,
    ) -> None:
        given = (anthropic, openai_chat, openai_responses, gemini)
        self._recordings = {name: list(played) for name, played in zip(_PATHS, given, strict=True)}
        if not any(self._recordings.values()):
            raise HansardError(f"no recordings; pass some for at least one of {', '.join(_PATHS)}")
        self._played = dict.fromkeys(_PATHS, 0)
        self._lock = threading.Lock()
        self.delay, self.requests = delay, list[Asked]()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"replay": self}))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def next_recording(self, asked: Asked) -> bytes | None:
        """Store a request and return its recording; None if there is none for this provider."""
        with self._lock:
            self.requests.append(asked)
            recordings = self._recordings[asked.format]
            if not recordings:
                return None
            self._played[asked.format] += 1
            return recordings[(self._played[asked.format] - 1) % len(recordings)]

    def close(self) -> None:
        """Stop listening; may be called twice."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
            self._http.server_close()

    def __enter__(self) -> ReplayServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def framed(recording: bytes, format: str) -> Iterator[bytes]:
    """The events of a recording in the provider's framing; a framed recording is used as it is."""
    if recording.lstrip()[:1] != b"{":
        for event in re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", recording):
            if event:
                yield event
        return
    for line in recording.splitlines():
        if line.strip():
            yield _event(line.strip(), format)
    yield from (_END[format],) if format in _END else ()


def _event(line: bytes, format: str) -> bytes:
    end = b"\r\n\r\n" if format == "gemini" else b"\n\n"
    kind = json.loads(line).get("type") if format in _NAMED else None
    return (f"event: {kind}\n".encode() if kind else b"") + b"data: " + line + end


class _Handler(BaseHTTPRequestHandler):
    replay: ReplayServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        format = next((name for name, pattern in _PATHS.items() if pattern.search(path)), None)
        if format is None:
            return self._refuse(404, f"nothing is served at {path!r}; choose from {', '.join(_PATHS)}")
        try:
            body = json.loads(raw)
        except ValueError as error:
            return self._refuse(400, f"the body is not valid JSON: {error}")
        if not isinstance(body, dict):
            return self._refuse(400, "the body is not an object")
        whole = path.endswith(":generateContent") if format == "gemini" else not body.get("stream")
        if whole:
            return self._refuse(400, "only streams are served; request a stream")
        recording = self.replay.next_recording(Asked(format, path, body))
        if recording is None:
            return self._refuse(404, f"no recording of {format} was given to this server")
        self._play(recording, format)

    def _play(self, recording: bytes, format: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for event in framed(recording, format):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
                time.sleep(self.replay.delay)
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            self.close_connection = True  # the client disconnected

    def _refuse(self, status: int, words: str) -> None:
        data = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": words}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """No log: see `requests`."""
