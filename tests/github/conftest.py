"""What the tests of GitHub start from: the fake, and a client of ours to it."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from shipmate.github.client import GitHub
from shipmate.github.credentials import Credentials
from shipmate.github.repository import Name, Repository
from shipmate.github.settings import GitHubSettings
from shipmate.network.client import Client
from shipmate.safety.secrets import SecretRef, Secrets
from tests.github.fake import TOKEN, FakeGitHub


@pytest.fixture
def fake() -> Iterator[FakeGitHub]:
    """At the end nothing may have been asked or answered that GitHub does not describe."""
    with FakeGitHub() as github:
        yield github
    assert github.broken == []


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    made = Client()
    yield made
    await made.aclose()


def github_of(
    fake: FakeGitHub, client: Client, folder: Path, token: str | None = TOKEN, **more: str
) -> GitHub:
    """`token` None: there is none."""
    environ = {**({"MY_TOKEN": token} if token else {}), **more}
    ref = SecretRef(env="MY_TOKEN") if token else None
    settings = GitHubSettings(base_url=fake.url, token=ref)
    secrets = Secrets(folder / "secrets.json", environ)
    return GitHub(client, lambda: settings, Credentials(lambda: settings, secrets))


@pytest.fixture
def repository(fake: FakeGitHub, client: Client, tmp_path: Path) -> Repository:
    return Repository(github_of(fake, client, tmp_path), Name("octo", "demo"))
