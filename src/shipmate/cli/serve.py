"""`shipmate serve`: the server, from its socket to its last round."""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import typer
import uvicorn
from starlette.types import ASGIApp

from shipmate.app import Parts, application, make_house, opened, settle
from shipmate.cli import server_file
from shipmate.cli.server_file import Running
from shipmate.cli.watchdog import watched
from shipmate.config import Config
from shipmate.config.directory import (
    DATABASE,
    data_directory,
    held,
)
from shipmate.database.daily import keep_daily
from shipmate.database.journal import ON_A_NETWORK, network_file_system
from shipmate.database.stores import has_users
from shipmate.errors import ConfigError, ConflictError, ShipmateError
from shipmate.faults import point
from shipmate.handlers.gate import Gate
from shipmate.handlers.house import House
from shipmate.safety.redaction import Redacting

log = logging.getLogger(__name__)

LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1", "[::1]": "::1"}
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - only with users, see `check_host`
GRACE_S = 7.0
"""How long what runs may take to end after the first signal; with what follows the server has
ended after ten seconds (FM014)."""
SETTLE_AFTER_S = 2.0
"""When heavy imports begin if nobody has asked for anything yet."""
LAST_ANSWERS_S = 1
"""How long answers that are being sent may take after that."""


@dataclass(frozen=True, slots=True)
class Options:
    host: str
    """Empty: as configured."""
    port: int | None
    data: Path | None
    open_page: bool
    json: bool


class Started(msgspec.Struct, frozen=True):
    """The line that `--json` prints once the server answers."""

    url: str
    token_url: str
    """Signs in whoever opens it first."""
    port: int
    pid: int


def serve(options: Options) -> int:
    data = data_directory(options.data)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Redacting("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.ERROR)  # what it warns of is told to the client
    if away := network_file_system(data):
        log.warning("the data directory %s lies on %s: %s", data, away, ON_A_NETWORK)
    with held(data):
        config = Config.load(data)
        host = options.host or config.settings.server.host
        check_host(host, config)
        listening = listen(
            host,
            config.settings.server.port if options.port is None else options.port,
        )
        with contextlib.closing(listening), asyncio.Runner(loop_factory=_loop()) as runner:
            runner.run(_serve(config, listening, options))
    return 0


def check_host(host: str, config: Config) -> None:
    """Other machines reach only a server where people sign in with passwords."""
    server = config.settings.server
    public_url = server.public_url
    if host in LOOPBACK:
        return
    if not has_users(server.database, config.data / DATABASE):
        raise ConfigError(
            f"The host {host!r} can be reached from other machines, and nobody has a password. Add"
            " a user first (`shipmate user add NAME --role admin`), or listen on 127.0.0.1 and use"
            " an SSH tunnel."
        )
    if host in EVERYWHERE and not public_url:
        raise ConfigError(
            f"With the host {host!r} the server cannot know its own name: set server.public_url to"
            " the address that browsers use, such as https://ship.example.org."
        )
    if not public_url.startswith("https://"):
        log.warning(
            "passwords and conversations cross the network unencrypted: put a proxy with https in"
            " front, and set server.public_url"
        )


def listen(host: str, port: int) -> socket.socket:
    address = LOOPBACK.get(host, host.strip("[]"))
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise _refused(host, port, error) from error
    return listening


def _refused(host: str, port: int, error: OSError) -> ConflictError:
    match error.errno:
        case errno.EADDRINUSE:
            why = "is in use by another program"
        case errno.EACCES:
            why = "may not be used by this user"
        case _:
            why = f"cannot be used ({error.strerror})"
    return ConflictError(
        f"Port {port} of {host} {why}. Choose another with --port, or --port 0 for a free one."
    )


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop  # not there on Windows

    return uvloop.new_event_loop


async def _serve(config: Config, listening: socket.socket, options: Options) -> None:
    address, port = listening.getsockname()[:2]
    reached: str = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address) or address  # noqa: S104
    local = f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"
    async with opened(config) as parts:
        house = await make_house(parts, port, "" if reached in LOOPBACK else local)
        gate = application(house)
        server = Server(gate)
        signals = asyncio.Queue[int]()
        for number in (signal.SIGINT, signal.SIGTERM):
            _on_signal(number, signals)
        ending = asyncio.ensure_future(_end_when_asked(signals, parts, house, server))
        settling = asyncio.ensure_future(_settle(parts, house, gate))
        backing_up = asyncio.ensure_future(keep_daily(parts.store.file))
        parts.audit.tell("server_started", what={"address": address, "port": port})
        try:
            with watched(asyncio.get_running_loop()):
                await server.answer(listening, lambda: _tell(config, house, local, options))
        finally:
            for task in (ending, settling, backing_up):
                task.cancel()
            await asyncio.wait([ending, settling, backing_up])
            await house.fetches.close()
            server_file.remove(config.data)
            parts.audit.tell("server_ended")


async def _settle(parts: Parts, house: House, gate: Gate) -> None:
    """Not before the first answer, which is what a person waits for; nor long after the start."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(gate.answered.wait(), SETTLE_AFTER_S)
    try:
        await settle(parts, house)
    except ShipmateError as error:
        log.warning("looking for model providers failed: %s", error)


def _protocol() -> str | type[asyncio.Protocol]:
    """What reads requests: ours; h11, which has bounds of its own, where httptools is not."""
    if sys.platform == "win32":
        return "h11"
    from shipmate.cli.wire import Wire  # not there on Windows

    return Wire


class Server(uvicorn.Server):
    """uvicorn without its signal handlers, which end it in the middle of a round."""

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(
            app,
            http=_protocol(),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=LAST_ANSWERS_S,
        )
        super().__init__(config)
        self._started: Callable[[], None] = lambda: None

    async def answer(self, listening: socket.socket, started: Callable[[], None]) -> None:
        """Answer until told to end; `started` is called when the first request can come."""
        self._started = started
        await self.serve([listening])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _tell(config: Config, house: House, local: str, options: Options) -> None:
    """Leave word for commands of this user, and print the sign-in link."""
    running = Running(local, house.keys.lend("this machine"), os.getpid())
    server_file.write(config.data, running)
    token_url = f"{house.place.url}/#token={house.keys.invite()}"
    if options.json:
        port = int(local.rpartition(":")[2])
        typer.echo(msgspec.json.encode(Started(house.place.url, token_url, port, running.pid)))
    elif house.users:
        typer.echo(f"shipmate is ready. Sign in with name and password:\n{house.place.url}")
    else:
        typer.echo(f"shipmate is ready. Open this link to sign in (it is good once):\n{token_url}")
    if options.open_page:
        asyncio.get_running_loop().run_in_executor(None, webbrowser.open, token_url)


async def _end_when_asked(
    asked: asyncio.Queue[int], parts: Parts, house: House, server: Server
) -> None:
    """First signal: nothing new, what runs may end within the grace. Second: at once."""
    await asked.get()
    house.closing.set()
    point("shutdown.begun")
    again = asyncio.ensure_future(asked.get())
    closing = asyncio.ensure_future(parts.executor.close(GRACE_S))
    await asyncio.wait([again, closing], return_when=asyncio.FIRST_COMPLETED)
    again.cancel()
    closing.cancel()
    await parts.executor.close()
    point("shutdown.rounds_cut")
    house.ended.set()
    server.should_exit = True


def _on_signal(number: int, asked: asyncio.Queue[int]) -> None:
    loop = asyncio.get_running_loop()

    def later(_number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(asked.put_nowait, number)

    try:
        loop.add_signal_handler(number, asked.put_nowait, number)
    except NotImplementedError:  # Windows
        signal.signal(number, later)
