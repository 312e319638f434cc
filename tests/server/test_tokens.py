"""What opens the server: tokens, login links that work once, cookies that count for our own pages only; who guesses
waits; and nothing of them is ever printed."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar.testing import TestClient

import hansard
from hansard import Ledger
from hansard.errors import HansardError
from hansard.model import Message, TextPart
from hansard.server import Grant, create_app
from hansard.server import tokens as tokens_module
from hansard.server.access_control import AccessControl, Refusal
from hansard.server.tokens import COOKIE_DAYS, OPEN, Attempts, Tokens, new_token
from tests.server.live import ROOT, TOKEN, LiveServer

HOST = "127.0.0.1:8484"
BASE = f"http://{HOST}"
PAGE = {"origin": BASE, "sec-fetch-site": "same-origin"}
WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


@pytest.fixture
def book() -> Iterator[Ledger]:
    with hansard.open(":memory:") as ledger:
        ledger.create_thread("t")
        ledger.append("t", Message(id="m", role="user", parts=[TextPart(text="hi")]))
        yield ledger


@pytest.fixture
def client(book: Ledger) -> Iterator[TestClient[Any]]:
    with TestClient(create_app(book, token="secret"), base_url=BASE) as opened:
        yield opened


def scope(method: str = "GET", address: str = "10.0.0.1", **headers: str) -> dict[str, Any]:
    given = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in given.items()]
    return {"method": method, "path": "/api/threads", "client": (address, 1), "headers": raw}


def status(entered: Grant | Refusal) -> int:
    return entered.status if isinstance(entered, Refusal) else 200


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000_000_000.0
        monkeypatch.setattr(tokens_module, "time", self)

    def time(self) -> float:
        return self.now

    monotonic = time


# -- tokens ------------------------------------------------------------------------------------------------------------


@given(st.dictionaries(WORDS, st.sampled_from([OPEN, Grant(), Grant(tenant="a")]), min_size=1, max_size=5), WORDS)
def test_a_token_opens_what_it_was_given_and_no_other_opens_anything(grants: dict[str, Grant], other: str) -> None:
    tokens = Tokens(grants)
    for token, grant in grants.items():
        assert tokens.find(token.encode()) == grant
        cookie = tokens.cookie_for_token(token.encode())
        assert cookie is not None
        assert tokens.find_cookie(cookie) == grant
        assert token not in cookie or len(token) < 5
        changed = cookie[:-1] + ("0" if cookie[-1] != "0" else "1")
        assert tokens.find_cookie(changed) is None
        date, seal = cookie.split(".")
        assert tokens.find_cookie(f"{int(date) + 1}.{seal}") is None
    assert tokens.find(other.encode()) == grants.get(other)
    for odd in (b"", other.encode() + b"\x00", b"\xff" + other.encode()):
        assert tokens.find(odd) is None


@pytest.mark.parametrize("token", ["", " ", "a\nb", " padded", "nul\x00"])
def test_a_token_that_no_header_can_carry_is_refused_at_once(book: Ledger, token: str) -> None:
    with pytest.raises(HansardError, match="invalid token"):
        create_app(book, token=token)


def test_a_list_that_lets_nobody_in_or_into_nowhere_is_refused(book: Ledger) -> None:
    with pytest.raises(HansardError, match="empty list of tokens"):
        create_app(book, tokens={})
    with pytest.raises(HansardError, match="unknown tenant 'acme'"):
        create_app(book, tokens={"t": Grant(tenant="acme")})


@pytest.mark.parametrize("headers", [{}, {"authorization": "Basic secret"}, {"authorization": "secret"}])
def test_without_the_token_nothing_is_told(client: TestClient[Any], headers: dict[str, str]) -> None:
    for path in ("/api/threads", "/api/threads/t", "/api/threads/none", "/schema", "/nowhere"):
        for query in ("", "?token=secret", "?authorization=Bearer%20secret", "?access_token=secret"):
            answer = client.get(path + query, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (401, "the token is missing or wrong")
            assert answer.headers["www-authenticate"] == "Bearer"
    assert client.get("/api/threads", headers={"authorization": "bearer  secret "}).status_code == 200


# -- browsers ----------------------------------------------------------------------------------------------------------


def log_in(client: TestClient[Any], given: dict[str, Any], **headers: str) -> Any:
    return client.post("/api/login", json=given, headers={**PAGE, **headers})


def test_a_link_logs_in_one_browser_once(client: TestClient[Any]) -> None:
    code = client.app.access_control.tokens.new_code()
    first = log_in(client, {"code": code})
    assert first.status_code == 204
    attributes = {part.strip() for part in first.headers["set-cookie"].split(";")[1:]}
    assert attributes == {"Path=/", "HttpOnly", "SameSite=Strict", f"Max-Age={COOKIE_DAYS * 86400}"}
    assert client.get("/api/threads/t", headers=PAGE).status_code == 200
    assert log_in(client, {"code": code}).status_code == 204, "the same browser may open its link again"
    client.cookies.clear()
    again = log_in(client, {"code": code})
    assert again.status_code == 401
    assert "used before" in again.json()["error"]
    assert "set-cookie" not in again.headers
    assert client.get("/api/threads/t", headers=PAGE).status_code == 401


def test_a_token_logs_in_and_anything_else_does_not(client: TestClient[Any]) -> None:
    for said, wanted in (
        ({"token": "wrong"}, 401),
        ({"token": ""}, 401),
        ({"token": "\ud800"}, 401),
        ({"code": "wrong"}, 401),
        ({}, 400),
        ({"token": "secret", "code": "x"}, 400),
        ({"token": 5}, 400),
        ({"password": "secret"}, 400),
    ):
        answer = client.post(
            "/api/login", content=json.dumps(said), headers={**PAGE, "content-type": "application/json"}
        )
        assert (answer.status_code, "set-cookie" in answer.headers) == (wanted, False), said
    assert client.get("/api/login").status_code == 405
    assert log_in(client, {"token": "secret"}).status_code == 204
    assert client.get("/api/threads", headers=PAGE).status_code == 200


def test_another_site_cannot_log_a_browser_in(client: TestClient[Any]) -> None:
    assert log_in(client, {"token": "secret"}, origin="http://evil.test").status_code == 403
    assert client.post("/api/login", content='{"token":"secret"}', headers=PAGE).status_code == 415


@pytest.mark.parametrize("token", ["secret", "reads"])
def test_whoever_logs_out_has_no_cookie(book: Ledger, token: str) -> None:
    grants = {"secret": Grant(role="write"), "reads": Grant()}
    with TestClient(create_app(book, tokens=grants), base_url=BASE) as client:
        log_in(client, {"token": token})
        for origin in ("http://evil.test", "http://127.0.0.1:3000"):
            assert client.post("/api/logout", headers={**PAGE, "origin": origin}).status_code == 403
        assert client.get("/api/threads", headers=PAGE).status_code == 200
        assert client.post("/api/logout", headers=PAGE).status_code == 204
        assert not client.cookies
        assert client.get("/api/threads", headers=PAGE).status_code == 401
        assert client.post("/api/logout", headers=PAGE).status_code == 204, "who is out already is out"


def test_over_https_the_cookie_is_secure(book: Ledger) -> None:
    with TestClient(create_app(book, token="secret"), base_url=f"https://{HOST}") as client:
        answer = client.post("/api/login", json={"token": "secret"})
        assert "Secure" in answer.headers["set-cookie"]


def test_where_no_token_is_needed_logging_in_gives_nothing(book: Ledger) -> None:
    with TestClient(create_app(book), base_url=BASE) as client:
        answer = log_in(client, {"token": "secret"})
        assert (answer.status_code, "set-cookie" in answer.headers) == (204, False)


@pytest.mark.parametrize(
    ("method", "headers", "wanted"),
    [
        ("GET", {}, 200),
        ("GET", {"sec-fetch-site": "none"}, 200),
        ("GET", PAGE, 200),
        ("GET", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", {"sec-fetch-site": "same-site"}, 403),
        ("GET", {"origin": "http://127.0.0.1:3000", "sec-fetch-site": "same-site"}, 403),
        ("GET", {"origin": "http://app.test"}, 401),  # allowed, but only with a token of its own
        ("POST", PAGE, 200),
        ("POST", {"origin": BASE}, 200),
        ("POST", {"sec-fetch-site": "same-origin"}, 200),
        ("POST", {}, 403),
        ("POST", {"sec-fetch-site": "none"}, 403),
        ("POST", {"origin": "null"}, 403),
        ("POST", {"origin": "http://evil.test"}, 403),
        ("POST", {"origin": "http://app.test"}, 401),
        ("POST", {**PAGE, "content-type": "text/plain", "content-length": "2"}, 415),
        ("DELETE", {}, 403),
        ("DELETE", PAGE, 200),
    ],
)
def test_a_cookie_counts_for_our_own_pages_only(method: str, headers: dict[str, str], wanted: int) -> None:
    tokens = Tokens({"secret": OPEN})
    access = AccessControl(tokens, [], ["http://app.test"])
    cookie = f"other=1; hansard-8484={tokens.cookie_for_token(b'secret')}"
    assert status(access.check(scope(method, **{"cookie": cookie, **headers}))) == wanted


def test_a_cookie_ends_with_its_date_and_with_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    cookie = Tokens({"secret": OPEN}).cookie_for_token(b"secret")
    assert cookie is not None
    assert Tokens({"other": OPEN, "secret": Grant()}).find_cookie(cookie) == Grant(), "what the token opens now"
    assert Tokens({"other": OPEN}).find_cookie(cookie) is None
    clock.now += COOKIE_DAYS * 86400 - 2
    assert Tokens({"secret": OPEN}).find_cookie(cookie) == OPEN
    clock.now += 4
    assert Tokens({"secret": OPEN}).find_cookie(cookie) is None


def test_the_cookie_of_a_server_on_another_port_is_not_ours() -> None:
    tokens = Tokens({"secret": OPEN})
    access, cookie = AccessControl(tokens, [], []), tokens.cookie_for_token(b"secret")
    assert status(access.check(scope(cookie=f"hansard-9999={cookie}"))) == 401
    assert status(access.check(scope(cookie=f"hansard-9999=x; hansard-8484={cookie}"))) == 200


def test_a_header_that_comes_twice_is_not_the_one_we_look_for() -> None:
    access = AccessControl(Tokens({"secret": OPEN}), [], [])
    for name, value in (("host", "evil.test"), ("origin", "http://evil.test"), ("authorization", "Bearer secret")):
        asked = scope(origin=BASE, authorization="Bearer secret")
        assert status(access.check(asked)) == 200
        for place in (0, len(asked["headers"])):
            twice = {**asked, "headers": list(asked["headers"])}
            twice["headers"].insert(place, (name.encode(), value.encode()))
            assert status(access.check(twice)) in (401, 403, 421)


# -- who guesses -------------------------------------------------------------------------------------------------------


def test_who_guesses_waits_and_who_was_right_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    tokens = Tokens({"secret": OPEN, "second": OPEN})
    access = AccessControl(tokens, [], [])
    assert status(access.check(scope(authorization="Bearer secret"))) == 200
    answers = [access.check(scope(authorization=f"Bearer guess{i}")) for i in range(30)]
    assert [status(answer) for answer in answers] == [401] * 10 + [429] * 20
    assert isinstance(answers[-1], Refusal)
    assert 0 < answers[-1].wait <= 61
    assert status(access.check(scope(authorization="Bearer second"))) == 429, (
        "a right guess is delayed like a wrong one"
    )
    assert status(access.check(scope(authorization="Bearer secret"))) == 200, "who came in from there before still does"
    assert status(access.check(scope(cookie=f"hansard-8484={tokens.cookie_for_token(b'secret')}"))) == 200
    assert status(access.check(scope(address="10.0.0.2", authorization="Bearer second"))) == 200
    clock.now += answers[-1].wait
    assert status(access.check(scope(authorization="Bearer second"))) == 200


def test_who_has_one_address_of_a_network_has_all_of_them() -> None:
    attempts = Attempts(most=3)
    for i in range(3):
        attempts.failed(f"2001:db8::{i}")
    assert attempts.wait("2001:db8::ffff", b"x") > 0
    assert attempts.wait("2001:db8:0:1::1", b"x") == 0
    for _ in range(3):
        attempts.failed("::ffff:10.0.0.1")
    assert attempts.wait("10.0.0.1", b"x") > 0


@given(st.lists(st.tuples(st.floats(0, 30), st.sampled_from(["a", "b"])), max_size=60))
def test_no_more_guesses_are_looked_at_than_allowed(steps: list[tuple[float, str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch)
        attempts, looked_at = Attempts(most=3, window=60), []
        for pause, address in steps:
            clock.now += pause
            if not attempts.wait(address, b"guess"):
                attempts.failed(address)
                looked_at.append((clock.now, address))
            recent = [when for when, who in looked_at if who == address and when > clock.now - 60]
            assert len(recent) <= 3


def test_logging_in_is_counted_too(client: TestClient[Any]) -> None:
    for _ in range(10):
        assert log_in(client, {"token": "guess"}).status_code == 401
    for said in ({"token": "guess"}, {"token": "secret"}, {"code": client.app.access_control.tokens.new_code()}):
        answer = log_in(client, said)
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) > 0
    answer = client.get("/api/threads", headers={"authorization": "Bearer guess"})
    assert (answer.status_code, int(answer.headers["retry-after"]) > 0) == (429, True)


def test_what_is_remembered_of_strangers_has_an_end() -> None:
    attempts = Attempts()
    for i in range(10_500):
        attempts.failed(f"10.{i >> 16}.{(i >> 8) & 255}.{i & 255}")
    assert len(attempts._failed) == 10_000


# -- hansard serve -----------------------------------------------------------------------------------------------------


def serve(folder: Path, *options: str, **environment: str) -> tuple[int, str]:
    """What a server that does not start says."""
    known = {key: value for key, value in os.environ.items() if key != "HANSARD_TOKEN"}
    done = subprocess.run(
        [sys.executable, "-m", "hansard", "serve", "--db", str(folder / "l.db"), "--port", "0", *options],
        cwd=ROOT,
        env={**known, "XDG_DATA_HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_that_others_can_reach_needs_a_token_worth_its_name(tmp_path: Path, host: str) -> None:
    for options, words in (((), "--token"), (("--token", "short"), "at least 16 characters")):
        code, said = serve(tmp_path, "--host", host, *options)
        assert (code, words in said, said.count("\n")) == (2, True, 1)


def test_tls_is_there_from_the_first_byte_or_the_server_is_not(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    for options in (("--tls-cert", str(bad)), *(("--tls-cert", str(one), "--tls-key", str(one)) for one in (bad, "x"))):
        code, said = serve(tmp_path, *options)
        assert (code, "--tls-cert" in said, said.count("\n")) == (2, True, 1)
    if shutil.which("openssl") is None:
        pytest.skip("no openssl: no certificate can be made to serve with")
    certificate, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    order = ["openssl", "req", "-x509", *curve, "-nodes", "-days", "2", "-subj"]
    subprocess.run([*order, "/CN=localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    trust = ssl._create_unverified_context()
    with LiveServer(tmp_path / "l.db", "--tls-cert", certificate, "--tls-key", key) as server:
        assert server.url.startswith("https://")
        assert server.link.startswith(f"{server.url}/login#")
        body = json.dumps({"token": TOKEN}).encode()
        asked = urllib.request.Request(f"{server.url}/api/login", body, {"content-type": "application/json"})
        with urllib.request.urlopen(asked, timeout=30, context=trust) as answer:
            assert "; Secure" in answer.headers["set-cookie"]


TOKEN_FILES = {
    "not json": "tokens",
    "an object": '{"token": "x"}',
    "empty": "[]",
    "a role there is not": '[{"token": "x", "role": "admin"}]',
    "a field there is not": '[{"token": "x", "rolle": "write"}]',
    "no token": '[{"tenant": "x"}]',
    "a token twice": '[{"token": "x"}, {"token": "x", "role": "write"}]',
    "a token of nothing": '[{"token": ""}]',
}


@pytest.mark.parametrize("name", TOKEN_FILES)
def test_a_bad_file_of_tokens_is_one_clear_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(TOKEN_FILES[name])
    path.chmod(0o600)
    code, said = serve(tmp_path, "--tokens", str(path))
    assert (code, said.count("\n")) == (2, 1)
    assert str(path) in said or "invalid token" in said


def test_a_file_of_tokens_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text('[{"token": "a long enough token"}]')
    for mode in (0o644, 0o640, 0o602):
        path.chmod(mode)
        code, said = serve(tmp_path, "--tokens", str(path))
        assert (code, "chmod 600" in said) == (2, True)
    code, said = serve(tmp_path, "--tokens", str(tmp_path / "none"))
    assert (code, "No such file" in said) == (2, True)
    path.chmod(0o600)
    code, said = serve(tmp_path, "--tokens", str(path), "--token", "another one")
    assert (code, "--tokens" in said) == (2, True)


def read(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_token_of_this_user_is_made_once_and_kept_to_oneself(tmp_path: Path) -> None:
    environment = {"XDG_DATA_HOME": str(tmp_path), "HANSARD_TOKEN": ""}
    kept = tmp_path / "hansard" / "token"
    links, cookies = [], []
    for _ in range(2):
        with LiveServer(tmp_path / "l.db", environment=environment) as server:
            token = kept.read_text()
            assert stat.S_IMODE(kept.stat().st_mode) == 0o600
            assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
            assert read(f"{server.url}/api/threads") == 401
            assert read(f"{server.url}/api/threads", authorization=f"Bearer {token}") == 200
            links.append(server.link)
            code = json.dumps({"code": server.link.partition("#")[2]}).encode()
            about = {"content-type": "application/json"}
            with urllib.request.urlopen(urllib.request.Request(f"{server.url}/api/login", code, about)) as answer:
                cookies.append(answer.headers["set-cookie"].partition(";")[0].partition("=")[2])
            name = f"hansard-{server.port}"
            assert [read(f"{server.url}/api/threads", cookie=f"{name}={cookie}") for cookie in cookies] == [200] * len(
                cookies
            ), "a browser stays logged in over a restart"
            assert kept.read_text() == token
    assert links[0].partition("#")[2] != links[1].partition("#")[2]
    assert sorted(path.name for path in kept.parent.iterdir()) == ["token"]
    kept.chmod(0o644)
    code_, said = serve(tmp_path)
    assert (code_, "chmod 600" in said) == (2, True)
    kept.chmod(0o600)
    kept.write_text("")
    code_, said = serve(tmp_path)
    assert (code_, "delete the file" in said) == (2, True)


def test_nothing_that_opens_the_server_is_printed(tmp_path: Path) -> None:
    guess = new_token()
    with LiveServer(tmp_path / "l.db") as server:
        code = server.link.partition("#")[2]
        assert server.ask("POST", "/api/login", {"code": code})[0] == 204
        assert server.ask("POST", "/api/login", {"token": guess})[0] == 401
        assert server.ask("GET", "/api/threads", authorization=f"Bearer {guess}")[0] == 401
        assert server.ask("GET", f"/api/threads?token={guess}", authorization="")[0] == 401
        cookie = Tokens({TOKEN: OPEN}).cookie_for_token(TOKEN.encode())
        name = f"hansard-{server.port}"
        assert server.ask("GET", "/api/threads", authorization=f"Bearer {TOKEN}", cookie=f"{name}={cookie}")[0] == 200
        assert server.process is not None
        server.process.terminate()
        printed, errors = server.process.communicate(timeout=60)
    for secret in (TOKEN, guess, code, str(cookie)):
        assert secret not in printed + errors


def test_each_token_of_a_file_opens_its_tenant_in_its_role(tmp_path: Path) -> None:
    lines = [
        {"token": "token of acme, writes", "tenant": "acme", "role": "write"},
        {"token": "token of acme, reads", "tenant": "acme"},
        {"token": "token of bolt, writes", "tenant": "bolt", "role": "write"},
    ]
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps(lines))
    path.chmod(0o600)
    acme, reader, bolt = ({"authorization": f"Bearer {line['token']}"} for line in lines)
    with LiveServer(tmp_path / "l.db", "--tokens", str(path), environment={"HANSARD_TOKEN": ""}) as server:
        assert "#" not in server.link
        assert server.ask("POST", "/api/threads", {"id": "mine"}, **acme)[0] == 201
        assert server.ask("POST", "/api/threads", {"id": "mine", "title": "of bolt"}, **bolt)[0] == 201
        assert server.ask("POST", "/api/threads", {"id": "other"}, **reader)[0] == 403
        assert server.ask("GET", "/api/threads/mine", **reader)[1].get("title") is None
        chat = {"id": "talk", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "hello"}]}]}
        request = urllib.request.Request(
            f"{server.url}/api/chat", json.dumps(chat).encode(), {"content-type": "application/json", **bolt}
        )
        with urllib.request.urlopen(request) as answer:
            assert b'"finishReason":"stop"' in answer.read()
        assert server.ask("GET", "/api/chat/talk", **bolt)[0] == 200
        assert server.ask("GET", "/api/chat/talk", **acme) == (200, [])
        assert server.ask("GET", "/api/threads/talk", **reader)[0] == 404
        with hansard.open(str(tmp_path / "l.db")) as own:
            assert own.threads().items == []
    code, said = serve(tmp_path, "--tokens", str(path), "--agent", "tests.server.scripted:shared")
    assert (code, "functions that take the ledger" in said) == (2, True)
