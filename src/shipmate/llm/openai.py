"""Every provider that speaks Chat Completions. Another one is configuration only."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from shipmate.llm.accumulator import Accumulator
from shipmate.llm.connections import Connections, Exchange
from shipmate.llm.encoding import RequestEncoder
from shipmate.llm.endpoint import Endpoint, answered, hidden, refusal
from shipmate.llm.model import ChatMessage, ModelInfo, StreamItem, ToolSpec


class OpenAIModel:
    """One model of one provider. Cheap to make; the connections are shared."""

    def __init__(self, info: ModelInfo, endpoint: Endpoint, connections: Connections) -> None:
        self.info = info
        self.endpoint = endpoint
        self._connections = connections
        self._encoder = RequestEncoder(
            info, extra=endpoint.extra, replay_reasoning=endpoint.replay_reasoning
        )
        self._url = endpoint.base_url.rstrip("/") + "/chat/completions"
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            **({"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}),
        }

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        with hidden(self.endpoint.api_key):
            exchange = await self._open(messages, tools)
            reader = Accumulator(self.endpoint.name)
            async with aclosing(answered(exchange, reader, self.endpoint)) as items:
                async for item in items:
                    yield item

    async def _open(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> Exchange:
        """The answer, when its status is 200; else raises what it says."""
        end, refused = self.endpoint, self._connections.without_usage
        for usage in (True, False):
            if usage and end.base_url in refused:
                continue
            body = self._encoder.encode(messages, tools, usage=usage)
            exchange = await self._connections.transport().post(
                self._url, body, self._headers, provider=end.name, limit=end.limits.first_byte
            )
            if exchange.status == 200:
                return exchange
            failure = await refusal(exchange, end)
            if not usage or failure.kind != "refused" or "stream_options" not in str(failure):
                raise failure
            refused.add(end.base_url)
        raise AssertionError  # the second time it returned or raised
