"""Paths."""

import pytest

from stowplan.apiserver.addresses import Address, read_address


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("/api/v1", Address("", "v1")),
        ("/api/v1/pods", Address("", "v1", "pods")),
        ("/api/v1/namespaces/a/pods/b", Address("", "v1", "pods", "a", "b")),
        ("/api/v1/namespaces/a/pods/b/status", Address("", "v1", "pods", "a", "b", "status")),
        ("/api/v1/namespaces/a", Address("", "v1", "namespaces", "", "a")),
        ("/api/v1/namespaces/a/finalize", Address("", "v1", "namespaces", "", "a", "finalize")),
        ("/api/v1/namespaces/a/status", Address("", "v1", "namespaces", "", "a", "status")),
        ("/apis/apps/v1/namespaces/a/deployments", Address("apps", "v1", "deployments", "a")),
        ("/api/v1/nodes/n/proxy/a/b", Address("", "v1", "nodes", "", "n", "proxy/a/b")),
        ("/api/v1/watch/pods", Address("", "v1", "pods", watch=True)),
        ("/api/v1/namespaces/a%2Fb/pods", Address("", "v1", "pods", "a/b")),
        ("/", None),
        ("/api", None),
        ("/apis/apps", None),
        ("/version", None),
    ],
)
def test_a_path_is_read(path: str, want: Address | None) -> None:
    assert want == read_address(path)
