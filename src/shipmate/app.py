"""The composition root: the only module that knows which parts the system is made of."""

import asyncio
import importlib
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shipmate.agent.profile import ASSISTANT, BUILT_IN, Profile
from shipmate.config import Config
from shipmate.config.directory import DATABASE, FILES, MCP, MODELS
from shipmate.config.first_run import set_up_found
from shipmate.database.keys import Keys
from shipmate.database.pins import Pins
from shipmate.database.sql_store import SqlStore
from shipmate.database.stores import open_store
from shipmate.database.users import Users
from shipmate.errors import ConfigError
from shipmate.github.client import GitHub
from shipmate.github.credentials import Credentials
from shipmate.github.remote import Repositories
from shipmate.github.tools import PROVIDER, GitHubTools
from shipmate.handlers.fetches import Fetches
from shipmate.handlers.gate import Gate
from shipmate.handlers.house import House
from shipmate.handlers.mcp_sign_in import CALLBACK
from shipmate.handlers.place import Place
from shipmate.handlers.stored import stored
from shipmate.handlers.table import ENDPOINTS
from shipmate.llm.listing import is_local
from shipmate.llm.providers import Providers
from shipmate.llm.windows import Windows
from shipmate.mcp.pool import Pool
from shipmate.mcp.presets import Installer
from shipmate.mcp.server import Surroundings
from shipmate.mcp.settings import McpServerSettings
from shipmate.mcp.sign_in import SignIns
from shipmate.network.client import Client
from shipmate.safety.audit import Audit
from shipmate.session.assembly import Assembly
from shipmate.session.background import Background
from shipmate.session.executor import Executor
from shipmate.session.history import past
from shipmate.session.noticing import noticing
from shipmate.session.searching import keep_indexed
from shipmate.tools import processes, remains, replacing
from shipmate.tools.catalog import BUILTIN
from shipmate.tools.shell import end_background

PARSERS = ("tree_sitter", "tree_sitter_bash")
"""Needed by the first command of an agent, not by the first page."""
PATIENCE_S = 5.0
"""For the lists of models that are asked for at the start."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The system without HTTP. The caller holds the data directory's lock."""

    config: Config
    store: SqlStore
    providers: Providers
    assembly: Assembly
    executor: Executor
    pool: Pool
    installer: Installer
    audit: Audit
    github: Repositories


@asynccontextmanager
async def opened(config: Config, *, grace: float = 0) -> AsyncGenerator[Parts]:
    """The system at work on a data directory; at the end, after `grace` seconds, rounds are cut
    and can be resumed."""
    async with _one_error(), AsyncExitStack() as stack:
        config.secrets.recall()
        store = await open_store(config.settings.server.database, config.data / DATABASE)
        stack.push_async_callback(store.close)
        audit = Audit(config.data)
        stack.push_async_callback(asyncio.to_thread, audit.close)
        providers = Providers(
            lambda: config.settings.providers,
            config.secrets,
            config.data / MODELS,
            windows=Windows(await store.learned(), store.keep_learned),
        )
        stack.push_async_callback(providers.close)
        client = Client(proxy=lambda: config.settings.web.proxy)
        stack.push_async_callback(client.aclose)
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        pool = mcp_pool(config, store, tasks, client)
        github = repositories_of(config, client)
        assembly = Assembly(
            profiles=lambda: profiles(config),
            projects=lambda: config.settings.projects,
            models=providers.model,
            tools={**BUILTIN, PROVIDER: GitHubTools(github).all()},
            limits=lambda: config.settings.limits.for_tools(),  # noqa: PLW0108 - settings are replaced
            data=config.data,
            web=lambda: config.settings.web.for_tools(client),
            compact_at=lambda: config.settings.limits.compact_at,
            budgets=lambda: config.settings.budgets,
            mcp=pool.offer,
            sandbox=lambda: config.settings.sandbox,
            history=partial(past, store),
        )
        images = partial(stored, config.data / FILES)
        executor = Executor(
            store, tasks, assembly.assemble, images, assembly.discard, providers.windows
        )
        executor.door.notice = noticing(audit)
        stack.push_async_callback(end_background)
        await asyncio.to_thread(remains.sweep, processes.owner(config.data / FILES))
        stack.push_async_callback(pool.close)
        await executor.recover(resume_once=config.settings.server.resume_once)
        stack.push_async_callback(executor.close, grace)
        background = Background(tasks)
        background.start(keep_indexed(store), "the index of what was there before")
        stack.push_async_callback(background.end)
        installer = installer_of(config, pool, tasks)
        stack.push_async_callback(installer.close)
        yield Parts(config, store, providers, assembly, executor, pool, installer, audit, github)


@asynccontextmanager
async def _one_error() -> AsyncGenerator[None]:
    """What was raised in the body, and not the group that a TaskGroup wraps it in."""
    try:
        yield
    except BaseExceptionGroup as group:
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from None
        raise


def mcp_pool(config: Config, store: SqlStore, tasks: asyncio.TaskGroup, network: Client) -> Pool:
    """The MCP servers of the configuration, not started yet."""

    def roots() -> list[Path]:
        return [Path(p.path).expanduser() for p in config.settings.projects.values()]

    owner = processes.owner(config.data / FILES)
    sign_ins = SignIns(client_document=lambda: config.settings.mcp.client_document)
    around = Surroundings(config.secrets, Pins(store), owner, roots, network, sign_ins)
    return Pool(lambda: config.settings.mcp, around, tasks)


def repositories_of(config: Config, network: Client) -> Repositories:
    """The repositories of the projects at the configured GitHub."""
    github = GitHub(
        network,
        lambda: config.settings.github,
        Credentials(lambda: config.settings.github, config.secrets),
        proxied=lambda: bool(config.settings.web.proxy),
    )
    return Repositories(github, (config.data,), lambda: config.settings.sandbox)


def installer_of(config: Config, pool: Pool, tasks: asyncio.TaskGroup) -> Installer:
    """Installs presets of MCP servers; what is installed is configured and started."""

    def done(name: str, settings: McpServerSettings) -> None:
        config.add_mcp_server(name, settings)
        tasks.create_task(pool.sync(), name=f"start {name}")

    return Installer(config.data / MCP, tasks, pool.around.owner, done)


def profiles(config: Config) -> dict[str, Profile]:
    """The built-in agents, changed and joined by those of the configuration."""
    found = dict(BUILT_IN)
    for name, own in config.agents.items():
        base = found.get(name, ASSISTANT)
        prompt = own.prompt
        if own.prompt_file:
            prompt = read_prompt(config.data / own.prompt_file)
        found[name] = Profile(
            name=name,
            description=own.description or base.description,
            prompt=prompt or base.prompt,
            providers=own.providers or base.providers,
            model=own.model or base.model,
            max_steps=own.max_steps,
            fallback=own.fallback or base.fallback,
        )
    return found


def read_prompt(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The prompt file {file} cannot be read: {error}.") from error


async def make_house(parts: Parts, port: int, url: str = "") -> House:
    """What the handlers stand on, for a server that is reached at `port` of this machine, and at
    `url` when it listens on another address."""
    server = parts.config.settings.server
    house = House(
        keys=await Keys.open(parts.store),
        users=await Users.open(parts.store),
        audit=parts.audit,
        place=Place.at(port, server.public_url, url, server.trusted_proxies),
        executor=parts.executor,
        config=parts.config,
        epoch=parts.store.epoch,
        profiles=parts.assembly.profiles,
        providers=parts.providers,
        fetches=Fetches(parts.providers.models_folder),
        files=parts.config.data / FILES,
        pool=parts.pool,
        installer=parts.installer,
        github=parts.github,
    )
    parts.pool.around.sign_ins.callback = f"{house.place.url}{CALLBACK}"
    if not _looks_for_servers(parts.config):
        house.settled.set()
    return house


def _looks_for_servers(config: Config) -> bool:
    """Whether the first page has to wait for it: at the very first start, and where only a
    server on this machine knows its models."""
    providers = config.settings.providers.values()
    return not config.file.exists() or any(is_local(p) and not p.models for p in providers)


def application(house: House) -> Gate:
    return Gate(house, ENDPOINTS)


async def settle(parts: Parts, house: House) -> None:
    """What is done once the server answers: import what is heavy in a thread, set up what is
    found at the very first start, ask the model servers what they have, and remove what writes
    that were cut off have left in the projects."""
    await parts.pool.start()
    try:
        await parts.providers.connections.warm()
        await set_up_found(parts.config)
        await parts.providers.refresh(wait=PATIENCE_S)
    finally:
        house.settled.set()
    await asyncio.to_thread(_import_parsers)
    for project in parts.config.settings.projects.values():
        await asyncio.to_thread(replacing.sweep, Path(project.path).expanduser())


def _import_parsers() -> None:
    for name in PARSERS:
        importlib.import_module(name)
