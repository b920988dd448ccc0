"""GitHub's list: what shipmate adds to GitHub's own answer, in the same run."""

import statistics
import subprocess
import time
from asyncio import to_thread
from http.client import HTTPConnection
from urllib.parse import urlsplit

from bench.client import percentile
from bench.figures import Figure
from bench.processes import ROOT
from bench.product import SHIPMATE, secret, shipmate
from bench.rows import Bench
from tests.github.fake import CHECKED, TOKEN, FakeGitHub

LOOKS = 60
ISSUES = 50_000
CONFIG = """
[github]
base_url = "{url}"
token = {{ secret = "github" }}
"""


async def github(bench: Bench) -> list[Figure]:
    return await to_thread(measured, bench)


def measured(bench: Bench) -> list[Figure]:
    with FakeGitHub() as fake:
        fake.fill(ISSUES)
        data = bench.place.prepare("github")
        config = (data / "config.toml").read_text()
        named = config.replace("[projects.bench]\n", '[projects.bench]\ngithub = "octo/demo"\n')
        (data / "config.toml").write_text(named + CONFIG.format(url=fake.url))
        (data / "secrets.json").write_text(f'{{"github": "{TOKEN}"}}')
        (data / "secrets.json").chmod(0o600)
        with shipmate(bench.place, data) as server:
            command = (SHIPMATE, "token", "create", "--data", str(data), "--name", "bench")
            made = subprocess.run(
                (*command, "--scopes", "read"), cwd=ROOT, capture_output=True, text=True, check=True
            )
            query = "?state=open&sort=created&direction=desc&per_page=100"
            bare = f"{fake.url}/repos/octo/demo/issues{query}"
            own = f"{server.target.url}/api/github/bench/issues"
            look(bare, TOKEN, CHECKED)  # held against the description only at first
            theirs, ours = look(bare, TOKEN, LOOKS), look(own, secret(made.stdout), LOOKS)
    more = statistics.median(ours) - statistics.median(theirs)
    late = percentile(ours, 0.95) - percentile(theirs, 0.95)
    return [
        Figure("GitHub's list, more than GitHub's own answer", more, "ms", 50),
        Figure("… p95", late, "ms", 50),
    ]


def look(url: str, token: str, times: int) -> list[float]:
    """Milliseconds of each of several requests on one connection."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=60)
    taken: list[float] = []
    for _ in range(times):
        begun = time.perf_counter()
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        taken.append((time.perf_counter() - begun) * 1000)
    connection.close()
    return taken
