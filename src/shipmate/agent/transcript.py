"""A session's blocks, indexed: what is open, what waits, where the round began."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import InitVar, dataclass, field
from typing import Any

from msgspec import UNSET

from shipmate.agent.budgets import Spending
from shipmate.agent.context import NUDGES, Context, LoadImage, no_image
from shipmate.agent.strangers import Strangers
from shipmate.protocol import (
    AnyBlock,
    ApprovalRequest,
    AskUser,
    Message,
    Pending,
    Todo,
    ToolCall,
    ToolResult,
    ToolsDetail,
    User,
)
from shipmate.tools.reads import ReadGuard

MAX_REPAIRS = 2
"""How often the model is told that its call was void before the round ends (FM053)."""


@dataclass(slots=True, eq=False)
class Transcript:
    """The state of a session. Blocks are added in the order of their changes.

    A session has a main thread, and one for each sub-agent, named by the `call_agent` call that
    began it (`Block.parent`): a transcript of the same kind, which the session's keeps up.
    """

    blocks: InitVar[Iterable[AnyBlock]] = ()
    image: LoadImage = no_image
    parent: str = ""
    """The call whose thread this is; empty for the session itself, with all its threads."""
    changes: int = 0
    """Rises with each block that is added or changed."""
    seq: int = 0
    """Number of the latest change it has taken in."""
    spending: Spending = field(default_factory=Spending)
    """Of all threads; in the session's transcript only."""
    last_user: User | None = None
    last_message: Message | None = None
    steps: int = 0
    """Replies of the model in this round."""
    steps_below: int = 0
    """Replies of all sub-agents in this round."""
    tokens: int = 0
    """Tokens of all its replies."""
    calls: int = 0
    """Calls it has made."""
    users: dict[str, User] = field(default_factory=dict[str, User])
    """Messages of the user by the id their client gave them."""
    unheard: list[User] = field(default_factory=list[User])
    """Messages of the user that the model has not been sent yet."""
    strangers: Strangers = field(default_factory=Strangers)
    """Of the session; its threads have the same."""
    told_by_strangers: bool = False
    """A result of this very thread holds what strangers wrote."""
    todo: Todo | None = None
    guard: ReadGuard = field(default_factory=ReadGuard)
    """What was read and written in this very thread."""
    context: Context = field(init=False)
    _threads: dict[str, "Transcript"] = field(default_factory=dict[str, "Transcript"])
    """The threads of sub-agents by their calls; in the session's transcript only."""
    _repairs: int = 0
    """Replies in a row whose calls were void."""
    _said: set[str] = field(default_factory=set[str])
    """Ids of the user's messages."""
    _open: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    _answered: set[str] = field(default_factory=set[str])
    _called: set[str] = field(default_factory=set[str])
    """Messages that made a call."""
    _asked: dict[str, Pending] = field(default_factory=dict[str, Pending])
    """Approvals and questions by their id, decided ones too."""
    _deciding: dict[str, asyncio.Future[Pending]] = field(
        default_factory=dict[str, asyncio.Future[Pending]]
    )
    """Who waits for which of them in memory."""
    fetched: dict[str, None] = field(default_factory=dict[str, None])
    """Names of the tools that `tool_search` has fetched, in order."""

    def __post_init__(self, blocks: Iterable[AnyBlock]) -> None:
        self.context = Context(parent=self.parent, image=self.image)
        for block in blocks:
            self.add(block)

    def add(self, block: AnyBlock) -> None:
        self.changes += 1
        self.seq = max(self.seq, block.seq)
        self.spending.add(block)
        self.strangers.add(block)
        if block.parent != self.parent:
            self.steps_below += isinstance(block, Message)
            self.thread(block.parent).add(block)
            return
        self.context.add(block)
        self.guard.add(block)
        match block:
            case User():
                self._add_user(block)
            case Message():
                self._add_message(block)
            case ToolCall():
                self._add_call(block)
            case ToolResult():
                self._add_result(block)
            case ApprovalRequest() | AskUser():
                self._add_asked(block)
            case Todo():
                self.todo = block
            case _:
                pass

    def _add_user(self, user: User) -> None:
        self.last_user = user
        if not user.steers:
            self.steps, self.steps_below = 0, 0
        self.users[user.client_id or user.id] = user
        self.unheard.append(user)
        self._said.add(user.id)

    def _add_message(self, message: Message) -> None:
        self.last_message = message
        self.steps += 1
        self.tokens += message.tokens
        self._repairs = self._repairs + 1 if message.finish in NUDGES else 0
        heard = message.heard or message.pos
        self.unheard = [user for user in self.unheard if user.pos > heard]

    def _add_call(self, call: ToolCall) -> None:
        self._called.add(call.message)
        if call.id not in self._answered:
            self.calls += call.id not in self._open
            self._open[call.id] = call

    def _add_result(self, block: ToolResult) -> None:
        self._answered.add(block.call)
        self._open.pop(block.call, None)
        self.told_by_strangers |= block.untrusted
        if isinstance(block.details, ToolsDetail):
            self.fetched |= dict.fromkeys(block.details.names)

    def _add_asked(self, block: Pending) -> None:
        self._asked[block.id] = block
        waiting = self._deciding.get(block.id)
        if waiting is not None and block.result is not UNSET and not waiting.done():
            waiting.set_result(block)

    # --- threads --------------------------------------------------------------------------

    def thread(self, call: str) -> "Transcript":
        """The thread of the sub-agent that `call` began; empty when it has not said anything."""
        found = self._threads.get(call)
        if found is None:
            found = self._threads[call] = Transcript(
                image=self.image, parent=call, strangers=self.strangers
            )
        return found

    def below(self, call: str) -> list["Transcript"]:
        """The thread of `call` and those of the sub-agents of that one, innermost first."""
        found: list[Transcript] = []
        left = [call]
        while left:  # by hand, as a file that was imported may nest them without end
            if thread := self._threads.get(left.pop()):
                found.append(thread)
                left += [inner.id for inner in thread.open_calls()]
        return found[::-1]

    def threads(self) -> list["Transcript"]:
        """All threads in which something may be open, innermost first, the main one last."""
        return [*(t for call in self.open_calls() for t in self.below(call.id)), self]

    # --- what is open ---------------------------------------------------------------------

    def called(self, message: str) -> bool:
        """Whether a call is kept that `message` made."""
        return message in self._called

    def by_user(self, call: ToolCall) -> bool:
        """Whether it was the user who made the call, with `CALL:` in a message."""
        return call.message in self._said

    def open_calls(self) -> list[ToolCall]:
        """Calls of this thread without a result, in the order they were made."""
        return list(self._open.values())

    def approval(self, call: str) -> ApprovalRequest | None:
        found = self._asked.get(f"{call}-approval")
        return found if isinstance(found, ApprovalRequest) else None

    def asked(self, approval: str) -> "tuple[Transcript, ToolCall, ApprovalRequest] | None":
        """The open call that an approval is about, in any thread; its thread, and the approval."""
        for thread in self.threads():
            for call in thread.open_calls():
                if (found := thread.approval(call.id)) and found.id == approval:
                    return thread, call, found
        return None

    def question(self, call: str) -> AskUser | None:
        found = self._asked.get(f"{call}-question")
        return found if isinstance(found, AskUser) else None

    def shown(self, block: str) -> Pending | None:
        """An approval or a question by its id."""
        return self._asked.get(block)

    def decided(self, block: str) -> asyncio.Future[Pending]:
        """Has the result when the block is decided; `forget` it in the end."""
        return self._deciding.setdefault(block, asyncio.get_running_loop().create_future())

    def forget(self, block: str) -> None:
        self._deciding.pop(block, None)

    def pending(self) -> list[Pending]:
        """What waits for the user, oldest first; of a session, in any of its threads."""
        waiting = [block for thread in self.threads() for block in thread.waiting()]
        return sorted(waiting, key=lambda block: block.pos)

    def waiting(self) -> list[Pending]:
        """What waits for the user in this very thread."""
        return [b for b in self._asked.values() if b.result is UNSET and self._waits(b)]

    def waiting_fields(self, but: Collection[str] = ()) -> dict[str, Any]:
        """The row's names of the oldest pending approval and question, `but` these."""
        pending = [block for block in self.pending() if block.id not in but]
        approvals = [b.id for b in pending if isinstance(b, ApprovalRequest)]
        questions = [b.id for b in pending if isinstance(b, AskUser)]
        return {
            "pending_approval": "".join(approvals[:1]),
            "pending_question": "".join(questions[:1]),
        }

    @property
    def paused(self) -> bool:
        """A question about a budget waits, in this very thread."""
        asked = self._asked.values()
        return any(not b.call and b.result is UNSET for b in asked if isinstance(b, AskUser))

    def _waits(self, block: Pending) -> bool:
        """Its call is open; a question about a budget has none."""
        return block.call in self._open or not block.call

    def last_decided(self, kind: type[Pending]) -> Pending | None:
        """The latest of its kind, in any thread, that does not wait any more."""
        asked = [b for t in (self, *self._threads.values()) for b in t._asked.values()]
        decided = (b for b in asked if isinstance(b, kind) and b.result is not UNSET)
        return max(decided, key=lambda block: block.seq, default=None)

    def wants_reply(self) -> bool:
        """The model is to be asked: something was said to it that it has not answered."""
        said = self.last_message
        if said is None or said.partial or said.id in self._called:
            return True
        if 0 < self._repairs <= MAX_REPAIRS:
            return True
        return self.last_user is not None and self.last_user.pos > (said.heard or said.pos)
