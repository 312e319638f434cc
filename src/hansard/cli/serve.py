"""`hansard serve`: the chat server and the REST API on one address, until it is interrupted."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING, Any

import click

from hansard.cli.ledgers import db_option, open_ledger
from hansard.errors import HansardError

if TYPE_CHECKING:
    from hansard.agent import Agent
    from hansard.store.ledger import Ledger

PORT = 8484
_NEXT = 20  # how many ports are tried behind a taken one that nobody asked for
_GRACE = 3  # seconds that open streams are given when the server is told to end


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help=f"The port; else {PORT}, or the next one that is free.")
@click.option("--agent", "agents", metavar="MODULE:NAME", multiple=True, help="An Agent, or a function that makes one.")
@click.option("--token", envvar="HANSARD_TOKEN", help="What every request must carry; else HANSARD_TOKEN.")
@click.option("--allow-host", "hosts", metavar="NAME", multiple=True, help="A name this server is known by.")
@click.option("--allow-origin", "origins", metavar="ORIGIN", multiple=True, help="A site whose pages may use it.")
@db_option
def command(
    host: str,
    port: int | None,
    agents: tuple[str, ...],
    token: str | None,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    db: str | None,
) -> int:
    """Serve the ledger over HTTP: chat for AI SDK clients, and everything else as a REST API (see /schema).

    NAME is an Agent, whose ledger is then served, or a function that is given the ledger and gives back an Agent or a
    list of them. Without --agent a scripted one answers. An address that others can reach needs a token.
    """
    try:
        import uvicorn

        from hansard.server import create_app
        from hansard.server.door import is_loopback
    except ImportError as error:
        raise HansardError(
            f"the server needs more packages ({error}); way out: pip install 'hansard[server]'"
        ) from None
    if not is_loopback(host) and not token:
        raise HansardError(f"others can reach {host}; give a token with --token or HANSARD_TOKEN")
    listening = _listen(host, port)
    with listening, open_ledger(db, create=True) as ledger:
        found = [agent for name in agents for agent in _agents(name, ledger)] or [_scripted(ledger)]
        app = create_app(_ledger_of(found, ledger), found, token=token, hosts=(host, *hosts), origins=origins)
        config = uvicorn.Config(
            app, log_level="warning", lifespan="on", timeout_graceful_shutdown=_GRACE, server_header=False
        )
        click.echo(f"hansard serves {_shown(listening)} (open it in a browser; Ctrl-C ends it)")
        sys.stdout.flush()

        class Server(uvicorn.Server):
            def handle_exit(self, sig: int, frame: Any) -> None:
                app.state.served.hang_up()  # before uvicorn waits for streams that may last
                super().handle_exit(sig, frame)

        try:
            Server(config).run(sockets=[listening])
        except KeyboardInterrupt:  # uvicorn has ended in order and raises the signal again
            pass
    return 0


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
            return listening
        except OSError as error:
            listening.close()
            reason = error.strerror or str(error)
            if error.errno not in (48, 98, 10048):  # in use, as macOS, Linux and Windows number it
                raise HansardError(f"cannot listen on {host}: {reason}; give another --host or --port") from None
    taken = f"port {port} is taken" if port is not None else f"ports {PORT} to {PORT + _NEXT - 1} are taken"
    raise HansardError(f"{taken} on {host}; give another with --port, or --port 0 for any free one")


def _shown(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


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


def _ledger_of(agents: list[Agent], ledger: Ledger) -> Ledger:
    """The ledger to serve: the one that the agents write to."""
    ledgers = {id(agent.ledger): agent.ledger for agent in agents}
    if len(ledgers) > 1:
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
