"""One API server for all tests of a worker; those that harm theirs start their own."""

from collections.abc import Iterator

import pytest

from tests.daemon.api import ApiServer, new_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server that all tests of this worker share, each in a namespace of its own."""
    started = new_server(tmp_path_factory.mktemp("server"))
    yield started
    started.stop()


@pytest.fixture
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server that a test may kill."""
    started = new_server(tmp_path_factory.mktemp("own-server"))
    yield started
    started.stop()
