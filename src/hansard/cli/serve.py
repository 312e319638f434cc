"""`hansard serve`: the chat server and the REST API on one address, until it is interrupted.

Tokens come from `--token`, from a file of tenants' tokens, or from a file of this user that the first start creates.
A file with tokens is read only if its permissions keep other users out.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec
from msgspec import Struct

from hansard.atomic_file import make_folders, write_whole
from hansard.cli.options import db_option, default_path, open_ledger
from hansard.errors import HansardError

if TYPE_CHECKING:
    from hansard.agent import Agent
    from hansard.ledger.ledger import Ledger
    from hansard.server import App
    from hansard.server.tokens import Grant

PORT = 8484
_NEXT = 20  # ports tried from PORT on, without --port
_SHORTEST = 16  # characters of a token, where other machines can reach the server
_GRACE = 3  # seconds for open streams at shutdown


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help=f"The port (default: {PORT}, or the next free port).")
@click.option(
    "--agent",
    "agents",
    metavar="MODULE:NAME",
    multiple=True,
    help="An Agent, or a function that returns one; repeatable.",
)
@click.option(
    "--token",
    envvar="HANSARD_TOKEN",
    help="The access token; prefer HANSARD_TOKEN, since other users can see options (default: a generated token).",
)
@click.option(
    "--tokens",
    "tokens_file",
    metavar="FILE",
    help="A file with tokens of tenants: a JSON list of {token, tenant, role}.",
)
@click.option("--tls-cert", metavar="FILE", help="A TLS certificate: serve HTTPS.")
@click.option("--tls-key", metavar="FILE", help="The private key of the certificate.")
@click.option(
    "--workspace",
    "folders",
    metavar="FOLDER",
    multiple=True,
    help="A folder in which undo may change files; repeatable.",
)
@click.option(
    "--allow-host", "hosts", metavar="NAME", multiple=True, help="A further host name of this server; repeatable."
)
@click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    help="A web origin whose pages may call the API; repeatable.",
)
@click.option("--allow-prune", is_flag=True, help="Let chat requests delete what their answer replaces.")
@db_option
def command(
    host: str,
    port: int | None,
    agents: tuple[str, ...],
    token: str | None,
    tokens_file: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    folders: tuple[str, ...],
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    allow_prune: bool,
    db: str | None,
) -> int:
    """Serve the ledger over HTTP: chat for AI SDK clients, everything else as a REST API (documented at /schema).

    NAME is an Agent, whose ledger is then served, or a function that takes the ledger and returns an Agent or a list
    of Agents. Without --agent, a scripted agent answers.

    Undo and redo change files only in the folders given with --workspace. Without --workspace, a server on a loopback
    address may change files in every folder that the ledger tracks, any other server in none.

    Every request needs a token. The printed login link works once, in a browser; programs send the token as
    `Authorization: Bearer`. On an address that other machines can reach, --token or --tokens is required.
    """
    try:
        import uvicorn

        from hansard.gc_pause import freeze_startup_objects
        from hansard.server import create_app
        from hansard.server.access_control import is_loopback
        from hansard.server.app_state import Served
        from hansard.server.slow_clients import protocol
    except ImportError as error:
        raise HansardError(f"the server needs more packages ({error}); run: pip install 'hansard[server]'") from None
    _check_certificate(tls_cert, tls_key)
    access = _access(host, token, tokens_file)
    listening = _listen(host, port)
    with listening, ExitStack() as opened:
        tenants = {}
        for tenant in access.tenants:
            ledger = opened.enter_context(open_ledger(db, create=True, tenant=tenant))
            found = [agent for name in agents for agent in _agents(name, ledger)] or [_scripted(ledger)]
            tenants[tenant] = Served(_ledger_of(found, ledger, alone=len(access.tenants) == 1), found)
        own = tenants.pop("")
        app = create_app(
            own.ledger,
            own.agents.values(),
            tokens=access.grants,
            tenants=tenants,
            hosts=(host, *hosts),
            origins=origins,
            workspaces=folders if folders or not is_loopback(host) else None,
            allow_prune=allow_prune,
        )
        config = uvicorn.Config(
            app,
            http=protocol(),
            ws="none",
            log_level="warning",
            lifespan="on",
            timeout_graceful_shutdown=_GRACE,
            server_header=False,
            proxy_headers=False,  # clients can forge them, and failed logins are counted by address
            ssl_certfile=tls_cert,
            ssl_keyfile=tls_key,
        )
        freeze_startup_objects()
        _announce(_url(listening, "http" if tls_cert is None else "https"), app, access)
        if tls_cert is None and not is_loopback(host):
            click.echo(
                "hansard: without TLS, tokens and messages cross the network in clear text; "
                "give --tls-cert and --tls-key, or use a reverse proxy with TLS",
                err=True,
            )

        class Server(uvicorn.Server):
            def handle_exit(self, sig: int, frame: Any) -> None:
                app.hang_up()  # before uvicorn waits for open streams
                super().handle_exit(sig, frame)

        try:
            Server(config).run(sockets=[listening])
        except KeyboardInterrupt:  # uvicorn has shut down and raises the signal again
            pass
    return 0


# -- tokens ----------------------------------------------------------------------------------------------------------


class _TokenRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the file given with `--tokens`."""

    token: str
    tenant: str = ""
    role: Literal["read", "write"] = "read"


class _Access(Struct, frozen=True, kw_only=True):
    """The accepted tokens with their grants; `token_file` is this user's own file, if it is used."""

    grants: dict[str, Grant]
    token_file: str | None = None

    @property
    def tenants(self) -> list[str]:
        """All tenants; the first, "", is the ledger's own."""
        return list(dict.fromkeys(["", *(grant.tenant for grant in self.grants.values())]))


def _access(host: str, token: str | None, tokens_file: str | None) -> _Access:
    """The tokens of a server on this address; an address that other machines can reach needs an explicit token."""
    from hansard.server.access_control import is_loopback
    from hansard.server.tokens import OPEN

    if token and tokens_file:
        raise HansardError("--token and --tokens exclude each other; give one of them")
    if tokens_file:
        found = _Access(grants=_read_tokens(tokens_file))
    elif token:
        found = _Access(grants={token: OPEN})
    elif is_loopback(host):
        path = os.path.join(os.path.dirname(default_path()), "token")
        return _Access(grants={_own_token(path): OPEN}, token_file=path)
    else:
        raise HansardError(f"other machines can reach {host}; give a token with --token, HANSARD_TOKEN or --tokens")
    if not is_loopback(host) and min(map(len, found.grants)) < _SHORTEST:
        raise HansardError(
            f"other machines can reach {host} and guess short tokens; give tokens of at least {_SHORTEST} characters"
        )
    return found


def _read_tokens(path: str) -> dict[str, Grant]:
    from hansard.server.tokens import Grant

    try:
        rows = msgspec.json.decode(_read_private(path), type=list[_TokenRow])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        shape = '[{"token": "...", "tenant": "...", "role": "read"}]'
        raise HansardError(f"{path}: {error}; expected a list like {shape}, with the role read or write") from None
    if not rows:
        raise HansardError(f"{path}: no tokens, so every request would be rejected; add at least one")
    if len({row.token for row in rows}) != len(rows):
        raise HansardError(f"{path}: a token is listed twice; each token belongs to one tenant and role")
    return {row.token: Grant(tenant=row.tenant, role=row.role) for row in rows}


def _own_token(path: str) -> str:
    """The token of this user; the first start creates it, so that logins and scripts survive restarts."""
    from hansard.server.tokens import new_token

    if not os.path.exists(path):
        make_folders(os.path.dirname(path), 0o700)
        with suppress(FileExistsError):  # another server created it first: its token counts
            write_whole(path, new_token().encode(), mode=0o600, replace=False)
    token = _read_private(path).decode("utf-8", "replace").strip()
    if len(token) < _SHORTEST or not token.isascii():
        raise HansardError(f"{path}: not a valid token; delete the file, the next start creates a new one")
    return token


def _read_private(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            known = os.fstat(file.fileno())
            if os.name == "posix" and (known.st_mode & 0o077 or known.st_uid not in (os.getuid(), 0)):
                raise HansardError(
                    f"{path}: other users may have read or changed these tokens; replace them, then chmod 600"
                )
            return file.read()
    except OSError as error:
        raise HansardError(f"{path}: {error.strerror or error}") from None


# -- address, TLS, agents --------------------------------------------------------------------------------------------


def _announce(url: str, app: App, access: _Access) -> None:
    """Print the address with a single-use login link; tokens are never printed."""
    if len(access.tenants) > 1 or app.access_control.tokens is None:
        click.echo(f"hansard serves {url} (log in with a token; Ctrl-C stops the server)")
    else:
        link = f"{url}/login#{app.access_control.tokens.new_code()}"
        click.echo(f"hansard serves {link} (open it in a browser, the link works once; Ctrl-C stops the server)")
    if access.token_file is not None:
        click.echo(f"programs send the token in {access.token_file} as `Authorization: Bearer`")
    sys.stdout.flush()


def _check_certificate(certificate: str | None, key: str | None) -> None:
    """Check certificate and key before the server listens."""
    import ssl

    if (certificate is None) != (key is None):
        raise HansardError("--tls-cert and --tls-key go together; give both")
    if certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:  # ssl.SSLError too
        raise HansardError(f"--tls-cert {certificate}, --tls-key {key}: {error.strerror or error}") from None


def _listen(host: str, port: int | None) -> socket.socket:
    """A listening socket; an explicit port must be free, else the next free port is used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    wanted = [port] if port is not None else range(PORT, PORT + _NEXT)
    for number in wanted:
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, number))
            listening.listen(2048)  # now: a port that two processes have bound fails here
            listening.setblocking(False)
            if port is None and number != PORT:
                click.echo(f"port {PORT} is in use; using {number}", err=True)
            return listening
        except (OSError, TypeError, UnicodeError) as error:  # the last two: an invalid host name
            listening.close()
            reason = getattr(error, "strerror", None) or str(error)
            if getattr(error, "errno", None) not in (48, 98, 10048):  # in use, as macOS, Linux and Windows number it
                raise HansardError(f"cannot listen on {host}: {reason}; give another --host or --port") from None
    in_use = f"port {port} is in use" if port is not None else f"ports {PORT} to {PORT + _NEXT - 1} are in use"
    raise HansardError(f"{in_use} on {host}; give another with --port, or --port 0 for any free port")


def _url(listening: socket.socket, scheme: str) -> str:
    host, port = listening.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _agents(name: str, ledger: Ledger) -> list[Agent]:
    """The agents that `module:name` names."""
    from importlib import import_module

    from hansard.agent import Agent

    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = getattr(import_module(module), attribute or "agent")
        if not isinstance(found, Agent) and callable(found):
            found = found(ledger)
    except (ImportError, AttributeError, ValueError) as error:
        raise HansardError(
            f"--agent {name}: {error}; expected module:name, importable from the current folder"
        ) from None
    except Exception as error:  # the user's code can raise anything
        raise HansardError(f"--agent {name}: {type(error).__name__}: {error}") from error
    listed = found if isinstance(found, list) else [found]
    for one in listed:
        if not isinstance(one, Agent):
            raise HansardError(
                f"--agent {name}: got {type(one).__name__}, expected a hansard.agent.Agent or a function returning one"
            )
    return listed


def _ledger_of(agents: list[Agent], ledger: Ledger, *, alone: bool) -> Ledger:
    """The ledger that the agents write to; with several tenants it must be the tenant's own."""
    ledgers = {id(agent.ledger): agent.ledger for agent in agents}
    if len(ledgers) > 1 or (not alone and id(ledger) not in ledgers):
        raise HansardError("the agents write to different ledgers; give --agent functions that take the ledger")
    return next(iter(ledgers.values()), ledger)


def _scripted(ledger: Ledger) -> Agent:
    """An agent without a model, to try the server with."""
    from hansard.agent import Agent, ScriptedModel

    words = (
        "This is Hansard's scripted agent: it needs no API key and always gives this answer. "
        "Your message and this answer are in the ledger. Start `hansard serve --agent module:name` with your own agent."
    )
    return Agent(ScriptedModel([words], delay=0.03), ledger=ledger, name="scripted")
