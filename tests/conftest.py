"""What many tests start from."""

from collections.abc import Iterator

import pytest

from tests.provider import Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider on loopback; at the end no request may have broken a rule."""
    provider = Provider()
    yield provider
    provider.close()
    assert provider.broken == []
