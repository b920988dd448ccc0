"""The block protocol: everything that crosses the wire or is kept on disk.

A **block** is kept and shown; an **event** is a block, or a piece of a stream. The JSON of
a block is the same on the wire, in the database and in the browser (`docs/protocol.md`).
A field that holds its default is left out, so `result` is absent while a block is pending.
"""

import hashlib
import json
import re
import secrets
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def new_id(seed: str = "") -> str:
    """12 characters, 60 random bits, without look-alikes and safe in a path or a URL. With a
    `seed` always the same for the same seed."""
    drawn = hashlib.sha256(seed.encode()).digest()[:8] if seed else secrets.token_bytes(8)
    bits = int.from_bytes(drawn)
    return "".join(_ALPHABET[bits >> shift & 31] for shift in range(0, 60, 5))


class Frozen(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of what is never changed in place; `msgspec.structs.replace` makes a changed copy."""


class Event(Frozen, frozen=True, kw_only=True, tag_field="type"):
    """Anything that reaches a browser."""

    session: str = ""
    """The session it belongs to; filled in by the one door, `Executor.record`."""


# --- what a card shows -----------------------------------------------------------------


class Detail(Frozen, frozen=True, kw_only=True, tag_field="kind"):
    """What a card shows of a call or its result, made from the arguments only."""


class CommandDetail(Detail, frozen=True, kw_only=True, tag="command"):
    """A command, whole, as it will run."""

    command: str
    cwd: str
    shell: str = "bash"
    sandbox: Literal["", "bubblewrap", "landlock", "none"] = ""
    """What confines it; `none`: it can do all that the server's user can. Empty: a record of a
    version without sandboxes."""
    network: tuple[str, ...] = ()
    """The hosts it may reach, `*` for all public ones. Empty: it has no network. Not filtered
    where `sandbox` is `landlock`, and always whole where it is `none`."""


class Hunk(Frozen, frozen=True, kw_only=True):
    old_start: int
    new_start: int
    lines: tuple[str, ...]
    """Each starts with a blank, `+` or `-`, as in a unified diff, without a line end."""
    id: str = ""
    """By which a decision accepts it; empty where the hunk cannot be accepted alone."""


class FileChange(Frozen, frozen=True, kw_only=True):
    path: str  # relative to the project's folder
    change: Literal["create", "modify", "create_directory", "delete", "rename"] = "modify"
    was: str = ""  # its path before it was renamed
    added: int = 0
    removed: int = 0
    hunks: tuple[Hunk, ...] = ()
    note: str = ""
    """What a diff cannot show: binary content, a change of line ends, a diff cut short."""


class DiffDetail(Detail, frozen=True, kw_only=True, tag="diff"):
    files: tuple[FileChange, ...]


class RequestDetail(Detail, frozen=True, kw_only=True, tag="request"):
    """What would be requested from the network, whole: what an address carries is seen."""

    urls: tuple[str, ...]
    hosts: tuple[str, ...]
    """Without doubles, in the order they are asked; each `name`, or `name:port`."""
    path: str = ""
    """Where in the project it is saved."""


class PostDetail(Detail, frozen=True, kw_only=True, tag="post"):
    """What would be written at GitHub, whole."""

    place: str
    """`owner/name#12` of an issue, else `owner/name`."""
    title: str = ""
    text: str = ""
    branch: str = ""
    """What is pushed, or asked to be merged."""
    base: str = ""
    """The branch it is to be merged into."""
    commits: tuple[str, ...] = ()
    files: tuple[FileChange, ...] = ()
    """What these commits change."""


class ArgumentsDetail(Detail, frozen=True, kw_only=True, tag="arguments"):
    """Any other call: its arguments, whole."""

    arguments: dict[str, Any]


class ExitDetail(Detail, frozen=True, kw_only=True, tag="exit"):
    """How a command ended."""

    status: int | None = None
    """Exit status; absent when it did not end by itself."""
    seconds: float = 0.0
    background: str = ""
    """Id under which it goes on in the background."""
    stopped: Literal["", "time_limit", "user"] = ""


class ImageDetail(Detail, frozen=True, kw_only=True, tag="image"):
    media_type: str
    file: str
    """Id of the stored file."""
    width: int = 0
    height: int = 0


class MatchesDetail(Detail, frozen=True, kw_only=True, tag="matches"):
    """How much a read or a search gave: files read, entries listed, hits found."""

    count: int
    what: Literal["lines", "files", "entries", "hits"] = "hits"
    more: bool = False


class BlockedDetail(Detail, frozen=True, kw_only=True, tag="blocked"):
    """A call that was refused by a built-in rule."""

    reason: str
    rule: str = ""


class AgentDetail(Detail, frozen=True, kw_only=True, tag="agent"):
    """What a sub-agent took for its task; its thread is the blocks with that `parent`."""

    steps: int
    """Replies of its model."""
    calls: int
    tokens: int


class ToolsDetail(Detail, frozen=True, kw_only=True, tag="tools"):
    names: tuple[str, ...]  # of tools that were fetched: from now on they are offered


AnyDetail: TypeAlias = (
    CommandDetail
    | DiffDetail
    | RequestDetail
    | PostDetail
    | ArgumentsDetail
    | ExitDetail
    | ImageDetail
    | MatchesDetail
    | BlockedDetail
    | AgentDetail
    | ToolsDetail
)

# --- blocks ------------------------------------------------------------------------------


class Block(Event, frozen=True, kw_only=True):
    """A kept item of a session. A block sent again with the same id replaces the first."""

    id: str = msgspec.field(default_factory=new_id)
    pos: int = 0
    """Place in the transcript; given on first save and never changed. 0: not saved yet."""
    seq: int = 0
    """Number of the session's last change to this block; what a browser resumes from."""
    at: int = 0
    """When it was first recorded, milliseconds since 1970 UTC. Order is by `pos`, never by time."""
    parent: str = ""
    """Id of the `call_agent` call it belongs to; empty in the main thread."""


class User(Block, frozen=True, kw_only=True, tag="user"):
    """What the user said."""

    text: str
    client_id: str = ""
    steers: bool = False
    """It was said while a round ran, and belongs to that round; else it began one."""


class Attachment(Block, frozen=True, kw_only=True, tag="attachment"):
    """Context given along with a message."""

    kind: Literal["file", "image", "text", "issue", "pull_request"]
    name: str
    """Of an issue: `owner/name#412`."""
    title: str = ""
    """Of an issue or a pull request: what strangers called it."""
    text: str = ""
    file: str = ""  # id of the stored file, when it is not text
    media_type: str = ""


class System(Block, frozen=True, kw_only=True, tag="system"):
    """A notice to the user; never sent to the model."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    code: str = ""


class Usage(Frozen, frozen=True, kw_only=True):
    """What the provider counted for one request. Cached tokens are part of the prompt."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cache_write: int = 0  # of the prompt: what the provider put into its cache, at its own price
    reasoning: int = 0


class Signed(Frozen, frozen=True, kw_only=True):
    """A piece of a reply as its provider wants it back, in the order of the reply."""

    kind: Literal["thinking", "redacted", "text", "call"]
    text: str = ""  # the thinking as it was given, or what stands for it
    signature: str = ""
    size: int = 0  # of a text: how many characters of the message's text are in this piece


class Message(Block, frozen=True, kw_only=True, tag="message"):
    """What the model said in one step, tool calls excepted."""

    text: str = ""
    reasoning: str = ""
    model: str = ""
    agent: str = ""
    tokens: int = 0  # prompt and completion of the request that made it
    tokens_source: Literal["api", "estimate"] = "api"
    usage: Usage | UnsetType = UNSET
    cost: float = 0.0  # in whatever currency the provider bills; 0: the price is not known
    partial: bool = False  # it was cut off: by Stop, by a failure, by a restart
    finish: str = ""  # how it ended if not ordinarily: length, cut_call, bad_call, content_filter
    thought: float = 0.0  # seconds until its first word, or its first call
    heard: int = 0  # place of the last message of the user that the model had been sent
    signed: tuple[Signed, ...] = ()  # by its provider; goes back to the same model only


class ToolCall(Block, frozen=True, kw_only=True, tag="tool"):
    """A call the model made."""

    message: str  # id of the message that made the call
    name: str
    provider: str = ""  # the tool provider; empty when there is no such tool
    title: str = ""  # what people see in place of `name`: the own name of an MCP server's tool
    arguments: dict[str, Any] = {}
    raw: str = ""
    """What the model wrote, when that is not a JSON object; `arguments` is empty then."""
    agent: str = ""
    started: bool = False
    """Set just before the tool runs: a call cut off while it ran is never run twice."""
    rescued: bool = False  # the model wrote the call as text


class FileSeen(Frozen, frozen=True, kw_only=True):
    """What a call had to do with a file."""

    path: str
    """Relative to the project's folder where it is in it."""
    stamp: str = ""
    """Of the content that the agent then knew; empty: it changed the file without knowing it."""
    lines: tuple[int, int] | UnsetType = UNSET
    """First and last line that it was given, where it read."""


class FileWritten(Frozen, frozen=True, kw_only=True):
    """What a call made of a file: SHA-256 of what it held, see `tools.contents`."""

    path: str  # relative to the project's folder
    before: str = ""  # empty: there was no such file
    after: str


class ToolResult(Block, frozen=True, kw_only=True, tag="tool_result"):
    """The one result of a call."""

    call: str
    text: str
    is_error: bool = False
    truncated: bool = False
    untrusted: bool = False
    """Strangers wrote it, or a part of it: a page, a file of the network."""
    details: AnyDetail | UnsetType = UNSET
    seconds: float = 0.0
    files: tuple[FileSeen, ...] = ()
    """In the order in which the call had to do with them."""
    written: tuple[FileWritten, ...] = ()


RuleScope: TypeAlias = Literal["once", "session", "project", "everywhere"]
"""How long a decision holds: for this call, or as a rule of the user's."""


class ApprovalRequest(Block, frozen=True, kw_only=True, tag="approval_request"):
    """A call that waits for the user. Its id is `<call>-approval`."""

    call: str
    level: Literal["normal", "dangerous"] = "normal"
    title: str
    reason: str = ""
    details: AnyDetail
    digest: str
    """Binds the decision to exactly what was shown; see `agent.approvals`."""
    agent: str = ""
    choices: tuple[str, ...] = ("approve", "deny")
    result: bool | UnsetType = UNSET
    """Absent while pending."""
    feedback: str = ""
    decided_by: str = ""
    """`user`, `bypass`, `rule`, one of `Closed`, or the name of a token."""
    suggested: tuple[str, ...] = ()
    """Rules as they would be saved with the decision, word for word and all of them: `shell:npm
    test`. Empty: no rule can be made of this call."""
    scopes: tuple[RuleScope, ...] = ("once",)
    """Those with which an approval may be given. A denial may have each, when something is
    suggested."""
    scope: RuleScope = "once"
    """With which it was decided."""
    rule: str = ""
    """The rules that decided, where `decided_by` is `rule`; those that made it ask otherwise."""
    arguments: dict[str, Any] | UnsetType = UNSET
    """What the user made of the call's arguments; `title`, `details` and `digest` are of these."""
    hunks: tuple[str, ...] | UnsetType = UNSET
    """Ids of the hunks that were accepted, where not all were."""


BUDGET = "budget"
"""The `agent` of a question about a limit that was reached."""
CONTINUE = "Continue"
"""The answer that raises it; every other one ends the round."""


Closed: TypeAlias = Literal["stop", "moved_on", "cut_off"]
"""Why something that waited was closed: Stop, a message of the user, or the end of its round, in
a branch and in an import too."""


class AskUser(Block, frozen=True, kw_only=True, tag="ask_user"):
    """A question to the user. Its id is `<call>-question`."""

    call: str
    """Empty for a question of the server itself, about a limit that was reached."""
    question: str
    options: tuple[str, ...] = ()
    multiple: bool = False
    allow_freeform: bool = True
    agent: str = ""
    result: str | UnsetType = UNSET
    """Absent while pending."""
    cancelled: Literal["", Closed] = ""
    """It was closed without an answer; `result` is then empty text."""

    def takes(self, answer: str) -> bool:
        """Whether it can be answered so: where nothing else is allowed, with one of the options;
        with several where `multiple` says so, joined by ", "."""
        if self.allow_freeform or not self.options or answer.strip() in self.options:
            return True
        joined, reached = f"{answer.strip()}, ", {0}
        for at in range(len(joined) if self.multiple else 0):
            if at in reached:
                chosen = (f"{one}, " for one in self.options)
                reached |= {at + len(one) for one in chosen if joined.startswith(one, at)}
        return len(joined) in reached


class TodoItem(Frozen, frozen=True, kw_only=True):
    id: int
    title: str
    status: Literal["not-started", "in-progress", "completed"] = "not-started"


class Todo(Block, frozen=True, kw_only=True, tag="todo"):
    """The todo list of the session; its id is `todo`. A sub-agent's own is `todo-<call>`."""

    items: tuple[TodoItem, ...] = ()


class Summary(Block, frozen=True, kw_only=True, tag="summary"):
    """A compaction: what the model is sent in place of the blocks `replaces[0]..replaces[1]` of
    its thread. They stay in the transcript."""

    text: str
    """Written by the model; the user may edit it."""
    facts: str = ""
    """What is known for certain of what was left out, and sent along: what the user said, the
    files touched, the todo list."""
    replaces: tuple[int, int]
    tokens_before: int = 0
    tokens_after: int = 0
    """Of the next request, before and after; measured where a provider counted, else about."""
    edited: bool = False
    undone: bool = False
    """The user took it back: what it replaced is sent again."""


AnyBlock: TypeAlias = (
    User
    | Attachment
    | System
    | Message
    | ToolCall
    | ToolResult
    | ApprovalRequest
    | AskUser
    | Todo
    | Summary
)
Pending: TypeAlias = ApprovalRequest | AskUser
"""Blocks that wait for the user."""

# --- pieces of a stream ------------------------------------------------------------------


class StreamStart(Event, frozen=True, kw_only=True, tag="stream_start"):
    """An AI message begins; `id` is that of the `message` block to come."""

    id: str
    agent: str = ""
    model: str = ""
    parent: str = ""


class Delta(Event, frozen=True, kw_only=True, tag="delta"):
    """More text, or more thinking, of the message `id`. `offset` counts UTF-16 code units
    of that one field already sent, as a browser counts the length of a string."""

    id: str
    offset: int
    text: str = ""
    reasoning: str = ""


class StreamEnd(Event, frozen=True, kw_only=True, tag="stream_end"):
    """The message ended; its block follows and is authoritative."""

    id: str


class Retry(Event, frozen=True, kw_only=True, tag="retry"):
    """The provider failed in a way that can pass; it is asked again after `wait` seconds."""

    id: str
    attempt: int
    of: int
    wait: float
    reason: str


class Progress(Event, frozen=True, kw_only=True, tag="progress"):
    """How far the call `id` is, in the words of what does it; `total` where it is known."""

    id: str
    text: str = ""
    done: float = 0.0
    total: float | None = None


class Queued(Frozen, frozen=True, kw_only=True):
    """A message that waits for its turn. Said, it is the `user` block with its id."""

    id: str = msgspec.field(default_factory=new_id)
    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    client_id: str = ""
    at: int = 0
    """When it was queued, milliseconds since 1970 UTC."""


class QueueChanged(Event, frozen=True, kw_only=True, tag="queue"):
    """What waits to be said, whole, the next first; after each change of it."""

    items: tuple[Queued, ...] = ()


Status: TypeAlias = Literal[
    "idle", "running", "waiting_approval", "waiting_answer", "interrupted", "error"
]


class ContextUsage(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """The last request's prompt and completion against the model's window."""

    tokens: int
    max: int
    percent: float
    source: Literal["api", "estimate"]


class SessionRow(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """The meta fields of a session, as lists and headers show them."""

    id: str
    agent: str
    provider: str
    """Model provider and model: `openai/gpt-4o`."""
    project: str
    title: str = ""
    bypass_approval: bool = False
    archived: bool = False
    status: Status = "idle"
    pending_approval: str = ""
    """Id of the oldest pending approval."""
    pending_question: str = ""
    created_at: int = 0
    updated_at: int = 0
    last_seq: int = 0
    tokens: int = 0
    """All tokens the session has used, over all its requests."""
    context_usage: ContextUsage | None = None
    error: str = ""
    untrusted: bool = False
    """It has read what strangers wrote: no rule and no setting approves a command or anything of
    the network ahead, until the user says that it may."""
    owner: str = ""
    """Name of the user whose it is; empty where there are no users."""
    readers: tuple[str, ...] = ()
    """Names of the users who may read it."""
    pinned: bool = False


class SessionChanged(Event, frozen=True, kw_only=True, tag="session"):
    """The session's row, whole, after a change. The first event of chat/stream."""

    row: SessionRow


class SessionDeleted(Event, frozen=True, kw_only=True, tag="session_deleted"):
    """The session is gone; the stream of it ends."""


class PendingChanged(Event, frozen=True, kw_only=True, tag="pending"):
    """All that waits for the user in the session, whole, after each change of it; to who follows
    the rows of all sessions."""

    items: tuple[Pending, ...] = ()


Reason: TypeAlias = Literal[
    "", "waiting_approval", "waiting_answer", "stopped", "limit", "budget", "error", "interrupted"
]


class Done(Event, frozen=True, kw_only=True, tag="done"):
    """The request is finished; `finished` is true for a final answer only."""

    finished: bool
    reason: Reason = ""
    error: str = ""


class KeepAlive(Event, frozen=True, kw_only=True, tag="keep_alive"):
    """Nothing was said for 15 s. An event, not a comment: some readers hide comments."""


AnyEvent: TypeAlias = (
    AnyBlock
    | StreamStart
    | Delta
    | StreamEnd
    | Retry
    | Progress
    | SessionChanged
    | SessionDeleted
    | QueueChanged
    | PendingChanged
    | Done
    | KeepAlive
)

_encode = msgspec.json.Encoder().encode
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` without lone surrogates, which neither UTF-8 nor a database can carry."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def encode(value: Any) -> bytes:
    """JSON in UTF-8; a lone surrogate, as providers and names of files may hold one, is U+FFFD."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return clean(json.dumps(msgspec.to_builtins(value), ensure_ascii=False)).encode()


decode_block = msgspec.json.Decoder(AnyBlock).decode
"""Reads one kept block; unknown fields are ignored, so that newer data stays readable."""


def decode_kept(json: bytes) -> AnyBlock | None:
    """Reads a block that any version kept: a field that is null counts as left out. None for
    what this version does not know; it still goes on the wire as it is, and is shown raw."""
    try:
        return decode_block(json)
    except msgspec.ValidationError:
        fields: Any = msgspec.json.decode(json)
    except msgspec.DecodeError:
        return None
    try:
        given = {name: value for name, value in fields.items() if value is not None}
        return msgspec.convert(given, AnyBlock)
    except (msgspec.ValidationError, AttributeError):
        return None
