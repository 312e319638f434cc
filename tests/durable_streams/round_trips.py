"""What a round trip costs: append 100 bytes, get them by the long-poll that waits for them.

    python -m tests.durable_streams.round_trips LEDGER [COUNT]

The overhead is the median round trip without a ping (HEAD), as the protocol's authors count it (under 10 ms).
"""

from __future__ import annotations

import http.client
import socket
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.waiting import wait_until

DATA = b"x" * 100


class Client:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def call(self, method: str, query: str = "", body: bytes | None = None) -> tuple[float, str, bytes]:
        """When the answer was there, the offset after it, and its body."""
        self._connection.request(method, f"/streams/trips{query}", body, {"content-type": "text/plain"})
        answer = self._connection.getresponse()
        data = answer.read()
        return time.perf_counter(), answer.headers["stream-next-offset"], data


def measured(port: int, count: int) -> dict[str, float]:
    """Medians in milliseconds, and appends per second of one writer."""
    writer, reader = Client(port), Client(port)
    _, offset, _ = writer.call("PUT")
    pings, trips = [], []
    with ThreadPoolExecutor(1) as background:
        for _ in range(count):
            start = time.perf_counter()
            pings.append(writer.call("HEAD")[0] - start)
            waiting = background.submit(reader.call, "GET", f"?offset={offset}&live=long-poll")
            time.sleep(0.03)  # for it to wait; it is not part of the time
            start = time.perf_counter()
            writer.call("POST", body=DATA)
            done, offset, data = waiting.result()
            assert data == DATA
            trips.append(done - start)
    start = time.perf_counter()
    for _ in range(count):
        writer.call("POST", body=DATA)
    rate = count / (time.perf_counter() - start)
    ping, trip = (1000 * statistics.median(times) for times in (pings, trips))
    return {"ping": ping, "round trip": trip, "overhead": trip - ping, "appends a second": rate}


def main(ledger: str, count: int = 200) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "tests.durable_streams.server", ledger, str(port)])
    try:
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "the server")
        print(", ".join(f"{name} {value:.1f}" for name, value in measured(port, count).items()))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
