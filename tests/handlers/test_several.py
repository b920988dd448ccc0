"""One stream of several sessions."""

from pathlib import Path

import aiohttp

from tests.handlers.client import HOST
from tests.handlers.house import whole
from tests.handlers.live import serving


async def test_the_stream_of_several_goes_on_when_one_is_gone(tmp_path: Path) -> None:
    async with whole(tmp_path) as house, serving(house.gate) as port:
        kept, deleted = [
            await house.executor.create(agent="assistant", provider="scripted/demo", project="demo")
            for _ in range(2)
        ]
        url = (
            f"http://127.0.0.1:{port}/api/agent/events?sessions=never:3,{kept.id}:0,{deleted.id}:0"
        )
        headers = {"Authorization": f"Bearer {house.secret}", "Host": HOST}
        told: list[bytes] = []

        async with aiohttp.ClientSession() as client, client.get(url, headers=headers) as answer:
            assert answer.status == 200
            while told.count(b"event: session\n") < 2:
                told.append(await answer.content.readline())
            assert b'data: {"type":"session_deleted","session":"never"}\n' in told
            await house.executor.delete(deleted.id)
            gone = b'data: {"type":"session_deleted","session":"%s"}\n' % deleted.id.encode()
            while gone not in told:
                told.append(await answer.content.readline())
            await house.executor.update(kept.id, title="still here")
            while not told[-1].count(b"still here"):
                told.append(await answer.content.readline())
