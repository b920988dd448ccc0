"""A session's blocks, indexed: what is open, what waits, where the round began."""

from collections.abc import Iterable

from msgspec import UNSET

from shipmate.agent.context import NUDGES, Context, LoadImage, no_image
from shipmate.llm.tokens import estimate_tokens
from shipmate.protocol import (
    AnyBlock,
    ApprovalRequest,
    AskUser,
    Message,
    Pending,
    Todo,
    ToolCall,
    ToolResult,
    User,
)

MAX_REPAIRS = 2
"""How often the model is told that its call was void before the round ends (FM053)."""


class Transcript:
    """The state of a session. Blocks are added in the order of their changes."""

    def __init__(self, blocks: Iterable[AnyBlock] = (), image: LoadImage = no_image) -> None:
        self.context = Context(image=image)
        self.changes = 0
        """Rises with each block that is added or changed."""
        self.seq = 0
        """Number of the latest change it has taken in."""
        self.estimate = 0
        """About how many tokens all of it has; for providers that count none."""
        self._repairs = 0
        """Replies in a row whose calls were void."""
        self.last_user: User | None = None
        self.last_message: Message | None = None
        self.steps = 0
        """Replies of the model since the last message of the user."""
        self.users: dict[str, User] = {}
        """Messages of the user by the id their client gave them."""
        self.todo: Todo | None = None
        self._open: dict[str, ToolCall] = {}
        self._answered: set[str] = set()
        self._called: set[str] = set()
        """Messages that made a call."""
        self._asked: dict[str, Pending] = {}
        """Approvals and questions by their id, decided ones too."""
        for block in blocks:
            self.add(block)

    def add(self, block: AnyBlock) -> None:
        self.changes += 1
        self.seq = max(self.seq, block.seq)
        self.context.add(block)
        self.estimate += estimate_tokens(getattr(block, "text", ""))
        match block:
            case User():
                self.last_user, self.steps = block, 0
                self.users[block.client_id or block.id] = block
            case Message() if not block.parent:
                self.last_message = block
                self.steps += 1
                self._repairs = self._repairs + 1 if block.finish in NUDGES else 0
            case ToolCall() if not block.parent:
                self._add_call(block)
            case ToolResult():
                self._answered.add(block.call)
                self._open.pop(block.call, None)
            case ApprovalRequest() | AskUser():
                self._asked[block.id] = block
            case Todo():
                self.todo = block
            case _:
                pass

    def _add_call(self, call: ToolCall) -> None:
        self._called.add(call.message)
        if call.id not in self._answered:
            self._open[call.id] = call

    def open_calls(self) -> list[ToolCall]:
        """Calls without a result, in the order they were made."""
        return list(self._open.values())

    def approval(self, call: str) -> ApprovalRequest | None:
        found = self._asked.get(f"{call}-approval")
        return found if isinstance(found, ApprovalRequest) else None

    def question(self, call: str) -> AskUser | None:
        found = self._asked.get(f"{call}-question")
        return found if isinstance(found, AskUser) else None

    def pending(self) -> list[Pending]:
        """What waits for the user, oldest first."""
        waiting = [b for b in self._asked.values() if b.result is UNSET and b.call in self._open]
        return sorted(waiting, key=lambda block: block.pos)

    def last_decided(self, kind: type[Pending]) -> Pending | None:
        """The latest of its kind that does not wait any more."""
        decided = (b for b in self._asked.values() if isinstance(b, kind) and b.result is not UNSET)
        return max(decided, key=lambda block: block.seq, default=None)

    def wants_reply(self) -> bool:
        """The model is to be asked: something was said to it that it has not answered."""
        said = self.last_message
        if said is None or said.partial or said.id in self._called:
            return True
        if 0 < self._repairs <= MAX_REPAIRS:
            return True
        return self.last_user is not None and self.last_user.pos > (said.heard or said.pos)
