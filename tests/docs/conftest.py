"""A reader, one for all pages: starting a server for each would take minutes."""

from collections.abc import Iterator

import pytest

from tests.docs.shell import Reader, reader


@pytest.fixture(scope="session")
def someone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with reader(tmp_path_factory.mktemp("reader").resolve()) as one:
        yield one
