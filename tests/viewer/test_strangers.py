"""A real browser of somebody who is logged in, led astray: names pointed at us, forms and requests of other pages,
files of the ledger opened as pages. Each attack is tried on something that lets it through as well, or it would prove
nothing."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.model import FilePart, Message
from tests.server.live import TOKEN, LiveServer
from tests.viewer.conftest import CHROMIUM, until

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>document.documentElement.id="ran"</script></svg>'
HTML = '<!doctype html><html><script>document.documentElement.id="ran"</script><p>x</p></html>'
PDF = "%PDF-1.4\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\ntrailer<</Root 1 0 R>>"
XML = f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">{HTML[21:]}'
FILES = {"image/svg+xml": SVG, "text/html": HTML, "application/pdf": PDF, "application/xhtml+xml": XML}


class Elsewhere(BaseHTTPRequestHandler):
    """Another server on this machine: any page that is asked for by its path, and a victim that checks nothing."""

    changed: list[str] = []

    def do_GET(self) -> None:
        kind = {"/svg": "image/svg+xml", "/html": "text/html"}.get(self.path, "text/html")
        body = {"/svg": SVG, "/html": HTML}.get(self.path, "<!doctype html><title>elsewhere</title><body>")
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.changed.append(self.headers.get("content-type", ""))
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running.server_address[1]
        running.shutdown()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    db = tmp_path_factory.mktemp("strangers") / "ledger.db"
    with hansard.open(str(db)) as ledger:
        ledger.create_thread("t", title="Behind a door")
        parts = [
            FilePart(media_type=kind, data=base64.b64encode(text.encode()).decode(), name=f'x"\r\n{kind}')
            for kind, text in FILES.items()
        ]
        ledger.append("t", Message(id="m", role="user", parts=parts))
    with LiveServer(db, "--allow-host", "known.test") as running:
        yield running


@pytest.fixture(scope="module")
def led_astray(playwright: Any) -> Iterator[Any]:
    """A browser for which names of others lead to this machine, and that does not itself keep pages off it."""
    rules = "--host-resolver-rules=MAP evil.test 127.0.0.1, MAP known.test 127.0.0.1"
    lenient = "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"
    opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", rules, lenient])
    yield opened
    opened.close()


@pytest.fixture
def victim(led_astray: Any, server: LiveServer) -> Iterator[Any]:
    """A browser that is logged in."""
    context = led_astray.new_context()
    assert context.request.post(f"{server.url}/api/login", data={"token": TOKEN}).status == 204
    yield context
    context.close()


def test_the_link_logs_one_browser_in_and_leaves_nothing_behind(led_astray: Any, tmp_path: Path) -> None:
    with hansard.open(str(tmp_path / "l.db")) as ledger:
        ledger.create_thread("t", title="Behind a door")
    with LiveServer(tmp_path / "l.db") as server:
        code = server.link.partition("#")[2]
        mine, other = led_astray.new_context(), led_astray.new_context()
        page, asked = mine.new_page(), []
        page.on("request", lambda request: asked.append((request.url, request.headers.get("referer", ""))))
        page.goto(server.link)
        page.wait_for_selector("#threads .row:has-text('Behind a door')")
        kept = (
            "[document.cookie, location.href, ...Object.values(localStorage), ...Object.values(sessionStorage)].join()"
        )
        for secret in (code, TOKEN, "hansard-"):
            assert secret not in page.evaluate(kept)
        assert not [place for place in asked if code in place[0].partition("#")[0] + place[1]]
        again = mine.new_page()
        again.goto(server.link)
        again.wait_for_selector("#threads .row:has-text('Behind a door')")
        second = other.new_page()
        second.goto(server.url)
        second.wait_for_url("**/login")
        second.goto(server.link)
        until(second, "document.getElementById('why').textContent.includes('used before')")
        assert second.locator("main >> text=Open the link that the server printed").count() >= 1
        second.fill("#token", "a wrong one")
        second.keyboard.press("Enter")
        until(second, "document.getElementById('why').textContent.includes('missing or wrong')")
        second.fill("#token", TOKEN)
        second.click("#enter")
        second.wait_for_selector("#threads .row:has-text('Behind a door')")
        mine.close()
        other.close()


def test_whoever_logs_out_sees_nothing_any_more(led_astray: Any, server: LiveServer) -> None:
    context = led_astray.new_context()
    assert context.request.post(f"{server.url}/api/login", data={"token": TOKEN}).status == 204
    page, beside = context.new_page(), context.new_page()
    for tab in (page, beside):
        tab.goto(server.url)
        tab.click("#threads .row:has-text('Behind a door')")
        tab.wait_for_selector(".message")
    page.click("#log-out")
    page.wait_for_selector("#token")
    assert context.cookies() == []
    beside.wait_for_selector("#token")  # the other tab finds out by itself
    page.go_back()
    page.wait_for_selector("#token")
    page.goto(server.url)
    page.wait_for_selector("#token")
    assert page.locator("text=Behind a door").count() == 0
    context.close()


def test_a_name_that_is_pointed_at_us_reads_nothing(victim: Any, server: LiveServer) -> None:
    """DNS rebinding: the page's own name leads here, so the browser calls it the same origin."""
    read = "path => fetch(path).then((answer) => answer.status)"
    for name, wanted in (("evil.test", 421), ("known.test", 200)):
        page = victim.new_page()
        assert page.goto(f"http://{name}:{server.port}/").status == wanted
        attack = f"http://{name}:{server.port}/attack"  # as it was before the name was pointed at us
        page.route(attack, lambda route: route.fulfill(body="<!doctype html><body>", content_type="text/html"))
        page.goto(attack)
        assert page.evaluate(read, "/viewer/main.js") == wanted
        assert page.evaluate(read, "/api/threads") == (421 if wanted == 421 else 401)
        assert page.evaluate(read, "/api/chat/t/stream") == (421 if wanted == 421 else 401)
        page.close()


FORM = """([to, kind, text]) => new Promise((done) => {
  const name = `answer${document.forms.length}`;
  const form = document.createElement('form');
  Object.assign(form, { action: to, method: 'post', enctype: kind, target: name });
  const field = document.createElement('input');
  Object.assign(field, { name: text, value: '"}' });
  const frame = document.createElement('iframe');
  frame.name = name;
  document.body.append(form, frame);
  form.append(field);
  frame.onload = () => setTimeout(done, 50);
  setTimeout(done, 2000);
  form.submit();
})"""
FETCH = """([to, how]) => fetch(to, { credentials: 'include', ...how })
  .then((answer) => answer.type === 'opaque' ? 'opaque' : answer.text()).catch((error) => 'refused')"""
BODY = '{"title":"forged"}'
FORGED = [
    {"method": "POST", "mode": "no-cors", "body": BODY, "headers": {"content-type": "text/plain"}},
    {"method": "POST", "mode": "no-cors", "body": BODY, "headers": {"content-type": "application/json"}},
    {"method": "POST", "body": BODY, "headers": {"content-type": "application/json"}},
    {"method": "POST", "body": BODY, "headers": {"authorization": "Bearer x", "content-type": "application/json"}},
    {"method": "DELETE"},
    {"method": "PATCH", "body": BODY, "headers": {"content-type": "application/json"}},
]


@pytest.mark.parametrize("name", ["evil.test", "127.0.0.1"])
def test_pages_of_others_change_and_read_nothing(victim: Any, server: LiveServer, elsewhere: int, name: str) -> None:
    """From another site, and from another port of this machine, which has the same cookies."""
    page = victim.new_page()
    page.goto(f"http://{name}:{elsewhere}/")
    before = server.ask("GET", "/api/threads")
    naive = len(Elsewhere.changed)
    text = '{"title":"forged","resourceId":"'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        page.evaluate(FORM, [f"http://127.0.0.1:{elsewhere}/victim", kind, text])
        for path in ("/api/threads", "/api/chat/t/stop", "/api/import"):
            page.evaluate(FORM, [server.url + path, kind, text])
    assert len(Elsewhere.changed) == naive + 3, "a server that checks nothing takes such forms"
    for how in FORGED:
        for path in ("/api/threads", "/api/threads/t", "/api/threads/t/checkout"):
            assert page.evaluate(FETCH, [server.url + path, how]) in ("opaque", "refused")
    for path in ("/api/threads", "/api/threads/t/export", "/schema"):
        assert page.evaluate(FETCH, [server.url + path, {}]) == "refused"
    page.evaluate(
        "to => new Promise((done) => { const made = document.createElement('script'); made.src = to;"
        " made.onload = made.onerror = done; document.body.append(made); })",
        f"{server.url}/api/threads",
    )
    assert page.evaluate("body => navigator.sendBeacon(body[0], body[1])", [f"{server.url}/api/threads", BODY]) in (
        True,
        False,
    )
    opened = "to => new Promise((done) => { const frame = document.createElement('iframe'); frame.src = to;"
    opened += " frame.onload = () => { try { done(frame.contentDocument?.body?.innerText ?? 'closed') }"
    opened += " catch { done('closed') } }; document.body.append(frame); })"
    assert page.evaluate(opened, f"{server.url}/") == "closed"
    assert server.ask("GET", "/api/threads") == before
    page.close()


def test_a_file_of_the_ledger_is_saved_never_shown_as_a_page(victim: Any, server: LiveServer, elsewhere: int) -> None:
    page = victim.new_page()
    for path in ("svg", "html"):  # what such a file does where it is served as what it says it is
        page.goto(f"http://127.0.0.1:{elsewhere}/{path}")
        assert page.evaluate("document.documentElement.id") == "ran"
    page.goto(server.url)
    for number, text in enumerate(FILES.values()):
        address = f"{server.url}/api/threads/t/messages/m/files/{number}"
        with page.expect_download() as saved:
            page.evaluate("to => { location.href = to }", address)
        assert Path(saved.value.path()).read_text() == text
        name = saved.value.suggested_filename
        assert not set(name) & set('"\r\n/\\')
        assert page.evaluate("document.documentElement.id") != "ran"
        answer = victim.request.get(address)
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-disposition"].startswith("attachment;")
    page.close()
