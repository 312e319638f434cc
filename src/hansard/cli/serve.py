"""`hansard serve`: the chat server and the REST API on one address, until it is interrupted."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from hansard.cli.options import db_option, open_ledger
from hansard.errors import HansardError

if TYPE_CHECKING:
    from hansard.agent import Agent
    from hansard.cli.access import Access
    from hansard.ledger.ledger import Ledger
    from hansard.server import App

PORT = 8484
_NEXT = 20  # how many ports are tried behind a taken one that nobody asked for
_GRACE = 3  # seconds that open streams are given when the server is told to end


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help=f"The port; else {PORT}, or the next one that is free.")
@click.option("--agent", "agents", metavar="MODULE:NAME", multiple=True, help="An Agent, or a function that makes one.")
@click.option(
    "--token",
    envvar="HANSARD_TOKEN",
    help="What opens it; else HANSARD_TOKEN (others can see options), else one is made.",
)
@click.option(
    "--tokens", "tokens_file", metavar="FILE", help="Tokens of tenants: a JSON list of {token, tenant, role}."
)
@click.option("--tls-cert", metavar="FILE", help="A certificate: serve HTTPS.")
@click.option("--tls-key", metavar="FILE", help="Its key.")
@click.option(
    "--workspace", "folders", metavar="FOLDER", multiple=True, help="Where undo may change files; else see below."
)
@click.option("--allow-host", "hosts", metavar="NAME", multiple=True, help="A name this server is known by.")
@click.option("--allow-origin", "origins", metavar="ORIGIN", multiple=True, help="A site whose pages may use it.")
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
    db: str | None,
) -> int:
    """Serve the ledger over HTTP: chat for AI SDK clients, and everything else as a REST API (see /schema).

    NAME is an Agent, whose ledger is then served, or a function that is given the ledger and gives back an Agent or a
    list of them. Without --agent a scripted one answers.

    Undo and redo change files in the folders named with --workspace. Without it, and where only this machine can reach
    the server, those are all that the ledger tracks; else none.

    Every request needs a token. A browser gets in by the link that is printed, which works once; programs send the
    token as `Authorization: Bearer`. An address that others can reach is served only with a token of yours.
    """
    try:
        import uvicorn

        from hansard.cli.access import access_to
        from hansard.gc_pause import freeze_startup_objects
        from hansard.server import create_app
        from hansard.server.access_control import is_loopback
        from hansard.server.app_state import Served
        from hansard.server.slow_clients import protocol
    except ImportError as error:
        raise HansardError(
            f"the server needs more packages ({error}); way out: pip install 'hansard[server]'"
        ) from None
    _check_certificate(tls_cert, tls_key)
    access = access_to(host, token, tokens_file)
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
        )
        config = uvicorn.Config(
            app,
            http=protocol(),
            ws="none",
            log_level="warning",
            lifespan="on",
            timeout_graceful_shutdown=_GRACE,
            server_header=False,
            proxy_headers=False,  # anybody can send those, and wrong tokens are counted by address
            ssl_certfile=tls_cert,
            ssl_keyfile=tls_key,
        )
        freeze_startup_objects()
        _announce(_shown(listening, "http" if tls_cert is None else "https"), app, access)
        if tls_cert is None and not is_loopback(host):
            click.echo(
                "hansard: without TLS whoever is on the way reads tokens and words; "
                "give --tls-cert and --tls-key, or put a proxy with TLS before it",
                err=True,
            )

        class Server(uvicorn.Server):
            def handle_exit(self, sig: int, frame: Any) -> None:
                app.hang_up()  # before uvicorn waits for streams that may last
                super().handle_exit(sig, frame)

        try:
            Server(config).run(sockets=[listening])
        except KeyboardInterrupt:  # uvicorn has ended in order and raises the signal again
            pass
    return 0


def _announce(url: str, app: App, access: Access) -> None:
    """The address, with a login that works once; a token is never printed."""
    if len(access.tenants) > 1 or app.door.tokens is None:
        click.echo(f"hansard serves {url} (log in there with a token; Ctrl-C ends it)")
    else:
        link = f"{url}/login#{app.door.tokens.new_code()}"
        click.echo(f"hansard serves {link} (open it in a browser, it logs one in; Ctrl-C ends it)")
    if access.kept is not None:
        click.echo(f"programs send the token in {access.kept} as `Authorization: Bearer`")
    sys.stdout.flush()


def _check_certificate(certificate: str | None, key: str | None) -> None:
    """Before anything is promised: does the server have what it needs for TLS?"""
    import ssl

    if (certificate is None) != (key is None):
        raise HansardError("--tls-cert and --tls-key go together; give both")
    if certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:  # which those of ssl are too
        raise HansardError(f"--tls-cert {certificate}, --tls-key {key}: {error.strerror or error}") from None


def _listen(host: str, port: int | None) -> socket.socket:
    """A socket on the address. A port that was asked for must be free; else the next free one is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    wanted = [port] if port is not None else range(PORT, PORT + _NEXT)
    for number in wanted:
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, number))
            listening.listen(2048)  # now, not later: a port bound by two is found out here
            listening.setblocking(False)
            if port is None and number != PORT:
                click.echo(f"port {PORT} is taken; {number} is used", err=True)
            return listening
        except (OSError, TypeError, UnicodeError) as error:  # the last two: what is no name of a host
            listening.close()
            reason = getattr(error, "strerror", None) or str(error)
            if getattr(error, "errno", None) not in (48, 98, 10048):  # in use, as macOS, Linux and Windows number it
                raise HansardError(f"cannot listen on {host}: {reason}; give another --host or --port") from None
    taken = f"port {port} is taken" if port is not None else f"ports {PORT} to {PORT + _NEXT - 1} are taken"
    raise HansardError(f"{taken} on {host}; give another with --port, or --port 0 for any free one")


def _shown(listening: socket.socket, scheme: str) -> str:
    host, port = listening.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _agents(name: str, ledger: Ledger) -> list[Agent]:
    """What `module:name` stands for."""
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
        raise HansardError(f"--agent {name}: {error}; give it as module:name, from the folder it is in") from None
    except Exception as error:  # code of the user's own, which may raise anything
        raise HansardError(f"--agent {name}: {type(error).__name__}: {error}") from error
    listed = found if isinstance(found, list) else [found]
    for one in listed:
        if not isinstance(one, Agent):
            raise HansardError(f"--agent {name}: {type(one).__name__} is no hansard.agent.Agent, nor makes one")
    return listed


def _ledger_of(agents: list[Agent], ledger: Ledger, *, alone: bool) -> Ledger:
    """The ledger to serve: the one that the agents write to. Where there are tenants, it must be the tenant's."""
    ledgers = {id(agent.ledger): agent.ledger for agent in agents}
    if len(ledgers) > 1 or (not alone and id(ledger) not in ledgers):
        raise HansardError("the agents write to different ledgers; give functions that take the ledger")
    return next(iter(ledgers.values()), ledger)


def _scripted(ledger: Ledger) -> Agent:
    """An agent without a model behind it, to try the server with."""
    from hansard.agent import Agent, ScriptedModel

    words = (
        "This is Hansard's scripted agent: it needs no key and says the same to everybody. "
        "What you said and what I say is in the ledger. Start `hansard serve --agent module:name` with one of your own."
    )
    return Agent(ScriptedModel([words], delay=0.03), ledger=ledger, name="scripted")
