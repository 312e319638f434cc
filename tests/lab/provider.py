"""The scripted provider: answers each request with the reply of the scenario that is due, and keeps what it saw.

It has no state between requests: the prompt is the last one of the scenario in the request, and the reply is chosen by
the number of tool results after it. So a session may be resumed at any point, and by another agent. A request without
tools (a title, a routing question) is answered with the title and is not part of the session.

A `say` of the last reply ends a turn. Figures of tokens differ in every answer, so that a sum tells which were counted.
"""

from __future__ import annotations

import gzip
import json
import re
import threading
import traceback
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.lab import wires
from tests.lab.agents import Agent
from tests.lab.scenario import OTHERWISE, TITLE, Prompt
from tests.lab.wires import Block, Seen, Wire


class Answer(NamedTuple):
    """One answered request; `usage` has input (without cache), cacheRead, cacheWrite, output (with reasoning)."""

    number: int
    aside: bool
    model: str
    usage: dict[str, int]
    request: dict[str, Any]
    blocks: list[Block]


class Provider:
    """The server of one agent; `prompts` are those that it may be asked, and `faults` what it could not do."""

    def __init__(self, prompts: list[Prompt]) -> None:
        self.prompts = prompts
        self.agent: Agent | None = None
        self.answers: list[Answer] = []
        self.faults: list[str] = []
        self._lock = threading.Lock()
        provider = self

        class Handler(_Handler):
            lab = provider

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, seen: Seen, wire: Wire, request: dict[str, Any]) -> Answer:
        """The answer that is due."""
        with self._lock:
            number = len(self.answers) + 1
            usage = {"input": 1000 + 7 * number, "cacheRead": 4000 + 11 * number, "cacheWrite": 200 + 3 * number}
            usage |= {"output": 80 + number, "reasoning": 20 + number % 13}
            if not wire.counts_cache_writes:
                usage["cacheWrite"] = 0
            try:
                blocks = self._blocks(seen)
            except Exception as error:  # told in the table; the agent gets an answer that ends its turn
                self.faults.append(f"request {number}: {error}")
                blocks = [("say", f"The lab has a fault: {error}")]
            answer = Answer(number, not seen.tools, seen.model, usage, request, blocks)
            self.answers.append(answer)
        return answer

    def _blocks(self, seen: Seen) -> list[Block]:
        if not seen.tools:
            return [("say", TITLE)]
        prompt, results = self._asked(seen)
        agent = self.agent
        if prompt is None or agent is None:
            return [("say", OTHERWISE)]
        for reply in agent.replies(prompt.replies):
            blocks: list[Block] = []
            calls = 0
            for step in reply:
                if step[0] in ("think", "say"):
                    blocks.append((step[0], step[1]))
                    continue
                made = agent.calls(step)
                if step[0] == "finish" and not made:
                    blocks.append(("say", step[1]))
                for name, given in made:
                    tool = name.split(".")[-1]
                    if tool not in seen.tools and "." not in name:
                        raise LookupError(f"{agent.name} offers no tool {tool!r}, only {', '.join(sorted(seen.tools))}")
                    blocks.append(("call", name, _filled(given, seen)))
                    calls += 1
            if calls <= results and calls:
                results -= calls
            elif calls or reply is prompt.replies[-1]:
                return blocks
        return [("say", OTHERWISE)]

    def _asked(self, seen: Seen) -> tuple[Prompt | None, int]:
        """The last prompt of the scenario in a request, and the number of results after it."""
        results = 0
        for kind, text in reversed(seen.turns):
            if kind == "result":
                results += 1
            elif "<task-notification>" in text:
                return None, 0
            else:
                for prompt in self.prompts:
                    if prompt.text in text:
                        return prompt, results
        return None, 0


def _filled(given: Any, seen: Seen) -> Any:
    """The arguments with `$AGENT` replaced by the id of the sub-agent that was started last."""
    if "$AGENT" not in json.dumps(given):
        return given
    ids = re.findall(r'"agent_id":\s*"([^"]+)"', "\n".join(text for kind, text in seen.turns if kind == "result"))
    return json.loads(json.dumps(given).replace("$AGENT", ids[-1] if ids else "none"))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lab: Provider

    def log_message(self, *args: Any) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        names = ["gpt-5", "gpt-5.5", "claude-sonnet-4-5"]
        rows = [{"id": name, "object": "model", "created": 1, "owned_by": "lab"} for name in names]
        self._json({"object": "list", "models": [], "data": rows})

    def do_POST(self) -> None:
        try:
            request = json.loads(self._body() or b"{}")
            path = self.path.split("?")[0]
            if path.endswith(("/count_tokens", ":countTokens")):
                self._json({"input_tokens": 1234, "totalTokens": 1234})
                return
            wire = next((wire for ending, wire in wires.WIRES if re.search(ending, path)), None)
            if wire is None:
                self._json({})
                return
            answer = self.lab.answer(wire.read(path, request), wire, request)
            if wire.streams(path, request):
                self._stream(lambda send: wire.stream(answer, send))
            else:
                self._json(wire.whole(answer))
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Exception:
            self.lab.faults.append(traceback.format_exc(limit=3))
            self.close_connection = True

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            data = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data

    def _json(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Callable[[Callable[..., None]], None]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

        def send(value: Any, event: str = "") -> None:
            text = value if isinstance(value, str) else json.dumps(value)
            data = ((f"event: {event}\n" if event else "") + f"data: {text}\n\n").encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        events(send)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()
