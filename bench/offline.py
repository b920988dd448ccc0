"""./dev bench --offline-model [KEY]: what the packaged model can do (minutes on two cores).

Twenty tasks ask for one right call; six are carried out in a folder with the real loop, tools and
approvals, each of which is given. Goals for the 1.5B model: 19 of 20, 5 of 6, no file destroyed.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from shipmate.llm.connections import Connections
from shipmate.llm.model import ChatMessage, FunctionCall, Model, ModelError, Reply, ToolSpec
from shipmate.llm.offline.process import OfflineServer
from shipmate.llm.offline.served import by_schema, offline_model
from shipmate.protocol import Done, Message
from shipmate.tools import read_only, read_write
from tests.llm.offline_play import fetched
from tests.play import Stage, stage

KEY = "qwen2.5-coder-1.5b"
SYSTEM = (
    "You are a coding agent working inside a project folder. Use the tools to do what the user "
    "asks. Call exactly one tool."
)
TOOLS = {
    "read_file": ("Read a text file of the project and return its content.", ("path",)),
    "list_files": ("List the files in a directory; '.' is the project root.", ("path",)),
    "grep_search": ("Search all project files for a regular expression.", ("pattern",)),
    "write_file": ("Create or overwrite a text file.", ("path", "content")),
    "shell_exec": ("Run a shell command in the project directory.", ("command",)),
    "ask_user": ("Ask the user a question and wait for the answer.", ("question",)),
}
SINGLE: tuple[tuple[str, str, Mapping[str, tuple[str, ...]]], ...] = (
    ("Show me the contents of README.md", "read_file", {"path": ("=README.md",)}),
    ("What files are in the project root?", "list_files", {"path": ("=.",)}),
    ("Find every place where the function parse_config is used.", "grep_search",
     {"pattern": ("parse_config",)}),
    ("Create a file hello.txt containing the text Hello World", "write_file",
     {"path": ("=hello.txt",), "content": ("hello world",)}),
    ("Open src/main.py and tell me what it does.", "read_file", {"path": ("=src/main.py",)}),
    ("List the files in the tests directory.", "list_files", {"path": ("=tests",)}),
    ("Search for TODO comments in the Python files.", "grep_search", {"pattern": ("todo",)}),
    ("Run the unit tests with pytest.", "shell_exec", {"command": ("pytest",)}),
    ("Which version is set in pyproject.toml?", "read_file", {"path": ("=pyproject.toml",)}),
    ("Write a .gitignore file that ignores __pycache__ and .venv", "write_file",
     {"path": ("=.gitignore",), "content": ("__pycache__", ".venv")}),
    ("Show the git status.", "shell_exec", {"command": ("git status",)}),
    ("Where is the class UserRepository defined?", "grep_search",
     {"pattern": ("userrepository",)}),
    ("Ask me which database I want to use before you do anything.", "ask_user",
     {"question": ("database",)}),
    ("What is inside the docs/api folder?", "list_files", {"path": ("=docs/api",)}),
    ("Read the file config/settings.json please", "read_file",
     {"path": ("=config/settings.json",)}),
    ("Create src/utils.py with a function add(a, b) that returns the sum.", "write_file",
     {"path": ("=src/utils.py",), "content": ("def add", "return")}),
    ("Find all imports of the requests library.", "grep_search", {"pattern": ("requests",)}),
    ("Install the dependencies from requirements.txt with pip.", "shell_exec",
     {"command": ("pip", "install", "requirements.txt")}),
    ("Quel est le contenu du fichier CHANGELOG.md ?", "read_file", {"path": ("=CHANGELOG.md",)}),
    ("Make a file notes/todo.md with a markdown list of three items: buy milk, call Bob, write "
     "report.", "write_file", {"path": ("=notes/todo.md",), "content": ("milk", "bob", "report")}),
)  # fmt: skip
"""What is asked, the right tool, and what its arguments hold; with `=`, what they are."""
FILES = {
    "config.ini": "[server]\nhost = 0.0.0.0\nport = 8097\n",
    "README.md": "# Demo\n\nYou will recieve mail.\n",
    "src/billing.py": "def compute_total(items):\n    return sum(i.price for i in items)\n",
    "src/app.py": "from billing import compute_total\n\nprint('hi')\n",
    "data.txt": "alpha\nbeta\n",
    "VERSION": "3.1.4\n",
}
Check = Callable[[Path, str], bool]
MULTI: tuple[tuple[str, Check], ...] = (
    ("Which port does the server use? It is set in config.ini.", lambda _, said: "8097" in said),
    ("Create the file greeting.txt with the content: hello world",
     lambda root, _: "hello world" in _read(root / "greeting.txt")),
    ("In which file is the function compute_total defined?",
     lambda _, said: "billing.py" in said),
    ("Which files are in the src directory?",
     lambda _, said: "app.py" in said and "billing.py" in said),
    ("README.md has the typo 'recieve'. Correct it to 'receive' in the file.",
     lambda root, _: "receive" in _read(root / "README.md")),
    ("Read the VERSION file and write the same version number into src/version.txt.",
     lambda root, _: "3.1.4" in _read(root / "src/version.txt")),
)  # fmt: skip
CORRECTED = FILES["README.md"].replace("recieve", "receive")


@dataclass
class Score:
    single: int = 0
    multi: int = 0
    destroyed: int = 0


async def offline(key: str) -> int:
    """Print how each task ended; 0 when the goals are met."""
    server, connections = OfflineServer(key, await fetched(key)), Connections()
    begun = monotonic()
    try:
        found = await score(by_schema(server, connections), offline_model(server, connections))
    finally:
        await server.close()
        await connections.close()
    print(
        f"{key}: {found.single} of {len(SINGLE)} calls, {found.multi} of {len(MULTI)} tasks, "
        f"{found.destroyed} files destroyed, {monotonic() - begun:.0f} s"
    )
    return 0 if found.single >= 19 and found.multi >= 5 and not found.destroyed else 1


async def score(plain: Model, small: Model) -> Score:
    """`plain` is asked for one call each, `small` carries tasks out."""
    found = Score()
    for asked, tool, wanted in SINGLE:
        made = await _called(plain, asked)
        right = made is not None and made.name == tool and _fits(made.arguments or {}, wanted)
        found.single += right
        _say(right, asked, made.raw if made else "no call")
    for asked, check in MULTI:
        right, lost, said = await _carried_out(small, asked, check)
        found.multi += right
        found.destroyed += lost
        _say(right and not lost, asked, said)
    return found


def _specs() -> list[ToolSpec]:
    return [
        ToolSpec(
            name,
            description,
            {
                "type": "object",
                "properties": {field: {"type": "string"} for field in fields},
                "required": list(fields),
                "additionalProperties": False,
            },
        )
        for name, (description, fields) in TOOLS.items()
    ]


async def _called(model: Model, asked: str) -> FunctionCall | None:
    messages = [ChatMessage("system", SYSTEM), ChatMessage("user", asked)]
    try:
        *_, reply = [item async for item in model.stream(messages, _specs())]
    except ModelError:  # a call that was cut off is none
        return None
    return reply.calls[0] if isinstance(reply, Reply) and reply.calls else None


def _fits(arguments: Mapping[str, Any], wanted: Mapping[str, tuple[str, ...]]) -> bool:
    for field, words in wanted.items():
        given = str(arguments.get(field, "")).strip()
        path = given.removeprefix("./").rstrip("/") or "."
        for word in words:
            if path != word[1:] if word.startswith("=") else word not in given.lower():
                return False
    return True


async def _carried_out(model: Model, asked: str, check: Check) -> tuple[bool, int, str]:
    """Whether it was done, how many other files it destroyed, and what it said."""
    with tempfile.TemporaryDirectory(prefix="shipmate-bench-") as folder:
        root = Path(folder) / "project"
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        tools = [*read_only.TOOLS, *read_write.TOOLS]
        async with stage(Path(folder), [model.stream] * 12, tools=tools) as play:
            session = await play.create()
            await _to_its_end(play, session, asked)
            said = "\n".join(m.text for m in await play.blocks(session, Message))
        kept = {name: (text, CORRECTED) for name, text in FILES.items()}
        lost = sum(_read(root / name) not in texts for name, texts in kept.items())
        return check(root, said), lost, said


async def _to_its_end(play: Stage, session: str, asked: str) -> None:
    """Every approval is given."""
    done = (await play.say(session, asked))[-1]
    while isinstance(done, Done) and done.reason == "waiting_approval":
        after = (await play.row(session)).last_seq
        await play.executor.decide(session, True)
        done = (await play.watch(session, after))[-1]


def _read(file: Path) -> str:
    return file.read_text("utf-8", "replace") if file.is_file() else ""


def _say(right: bool, asked: str, told: str) -> None:
    print(
        f"{'OK ' if right else 'BAD'} {asked[:60]:<60}  {' '.join(told.split())[:80]}", flush=True
    )
