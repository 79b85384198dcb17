"""Fixtures for other projects: `pytest_plugins = ["stowplan.testing.pytest_plugin"]`."""

from collections.abc import Iterator

import pytest

from stowplan.testing.local_cluster import LocalCluster


@pytest.fixture(scope="session")
def local_cluster() -> Iterator[LocalCluster]:
    """A cluster of three nodes with a scheduler, shared by all tests of a session."""
    with LocalCluster() as cluster:
        yield cluster
