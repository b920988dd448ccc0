"""Who an agent is: its prompt, its tools, its limits."""

from collections import ChainMap
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import TypeAlias

from shipmate.agent.budgets import NO_BUDGETS, Budgets
from shipmate.llm.model import Model, ToolSpec
from shipmate.tools.tool import Tool, Workspace

COMPACT_AT = 0.75


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    description: str
    prompt: str
    providers: tuple[str, ...]
    """Tool providers it may use."""
    model: str = ""
    """Empty: the session's."""
    max_steps: int = 50
    fallback: tuple[str, ...] = ()
    """Models (`provider/model`) that stand in while its own fails, the first choice first."""


@dataclass(frozen=True, slots=True)
class Team:
    """The agents that one can call."""

    agents: Mapping[str, str]
    """Their descriptions by name."""
    join: "Join"


@dataclass(frozen=True, slots=True)
class Agent:
    """A profile at work: with a model, tools, and a folder."""

    profile: Profile
    model: Model
    prompt: str
    tools: dict[str, Tool]
    work: Workspace
    titles: bool = True
    """Its model is asked for the titles of sessions."""
    team: Team | None = None
    compact_at: float = COMPACT_AT
    """Share of the model's window at which older messages are summed up."""
    budgets: Budgets = NO_BUDGETS
    shelf: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """Tools that are offered to the model when they were fetched (`tool_search`)."""
    specs: list[ToolSpec] = field(init=False)
    _fetched: tuple[str, ...] = field(init=False, default=())
    _with_fetched: list[ToolSpec] = field(init=False)

    def __post_init__(self) -> None:
        specs = [_spec(tool) for tool in self.tools.values()]
        object.__setattr__(self, "specs", specs)
        object.__setattr__(self, "_with_fetched", specs)

    def tool(self, name: str) -> Tool | None:
        """A tool it may use, fetched or not."""
        return self.tools.get(name) or self.shelf.get(name)

    @property
    def usable(self) -> Mapping[str, Tool]:
        """All its tools, fetched or not."""
        return ChainMap(dict(self.shelf), self.tools) if self.shelf else self.tools

    def offered(self, fetched: Iterable[str]) -> list[ToolSpec]:
        """What the model is offered; what was fetched stands at the end, so that the beginning
        stays the same. The same list as long as nothing else was fetched."""
        wanted = tuple(name for name in fetched if name in self.shelf)
        if wanted != self._fetched:
            more = [_spec(self.shelf[name]) for name in wanted]
            object.__setattr__(self, "_fetched", wanted)
            object.__setattr__(self, "_with_fetched", [*self.specs, *more])
        return self._with_fetched


def _spec(tool: Tool) -> ToolSpec:
    return ToolSpec(tool.name, tool.description, tool.parameters)


Join: TypeAlias = Callable[[str, Mapping[str, Tool] | None], Awaitable[Agent]]
"""`await join(name, tools)`: an agent put together for a call, with none but these tools
(None: with all of its own)."""


def prompt_text(name: str) -> str:
    return (resources.files("shipmate.agent") / "prompts" / f"{name}.md").read_text("utf-8").strip()


ASSISTANT = Profile(
    name="assistant",
    description="Reads, searches, edits and runs commands in the project, and reads the web.",
    prompt=prompt_text("assistant"),
    providers=(
        "read_only",
        "read_write",
        "web",
        "todo",
        "ask",
        "shell",
        "github",
        "agents",
        "history",
        "mcp:*",
    ),
)
EXPLORER = Profile(
    name="explorer",
    description="Finds out how things are in the project and tells where; changes nothing.",
    prompt=prompt_text("explorer"),
    providers=("read_only",),
)
REVIEWER = Profile(
    name="reviewer",
    description="Looks for mistakes in code or text that is named to it; changes nothing.",
    prompt=prompt_text("reviewer"),
    providers=("read_only",),
)
PLANNER = Profile(
    name="planner",
    description="Makes a plan of small, checked steps for a larger change; changes nothing.",
    prompt=prompt_text("planner"),
    providers=("read_only", "todo", "ask", "agents", "history"),
)
BUILT_IN = {one.name: one for one in (ASSISTANT, EXPLORER, REVIEWER, PLANNER)}
