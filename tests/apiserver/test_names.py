"""Names, labels, annotations, owners."""

from typing import Any

import pytest

from stowplan.apiserver.names import metadata_faults, name_faults, qualified_faults


@pytest.mark.parametrize(
    ("storage", "name", "fine"),
    [
        ("pods", "web-1.a", True), ("pods", "Web", False), ("pods", "-a", False), ("pods", "a" * 253, True),
        ("pods", "a" * 254, False), ("pods", "a..b", False), ("namespaces", "a.b", False), ("namespaces", "1a", True),
        ("services", "1a", True), ("services", "a.b", False), ("roles.rbac.authorization.k8s.io", "system:a", True),
        ("roles.rbac.authorization.k8s.io", "a/b", False),
    ],
)  # fmt: skip
def test_names(storage: str, name: str, fine: bool) -> None:
    assert fine is (list(name_faults(storage, name)) == [])


@pytest.mark.parametrize(
    ("key", "fine"),
    [
        ("app", True), ("example.com/app", True), ("a/b/c", False), ("/app", False), ("a/", False), ("", False),
        ("a b", False), ("A.b_c-d", True), ("Example.com/a", False), ("a" * 64, False), ("-a", False),
    ],
)  # fmt: skip
def test_keys(key: str, fine: bool) -> None:
    assert fine is (not qualified_faults(key))


@pytest.mark.parametrize(
    ("meta", "want"),
    [
        pytest.param({}, ["metadata.name"], id="no name"),
        pytest.param({"name": "a", "labels": {"k": "bad value"}}, ["metadata.labels"], id="a bad label value"),
        pytest.param({"name": "a", "annotations": {"k k": ""}}, ["metadata.annotations"], id="a bad annotation"),
        pytest.param({"name": "a", "annotations": {"k": "x" * 300_000}}, ["metadata.annotations"], id="too much text"),
        pytest.param({"name": "a", "finalizers": ["b b"]}, ["metadata.finalizers[0]"] * 2, id="a bad finalizer"),
        pytest.param({"name": "a", "finalizers": ["mine"]}, ["metadata.finalizers[0]"], id="a finalizer of nobody"),
        pytest.param({"name": "a", "finalizers": ["orphan"]}, [], id="the garbage collector's finalizer"),
        pytest.param({"name": "a", "ownerReferences": [{"kind": "K", "apiVersion": "v1", "name": "n"}]},
                     ["metadata.ownerReferences.uid"], id="an owner without identity"),
        pytest.param({"name": "a", "ownerReferences": [
            {"kind": "K", "apiVersion": "v1", "name": "n", "uid": str(number), "controller": True}
            for number in range(2)]}, ["metadata.ownerReferences"], id="two controllers"),
        pytest.param({"name": "a", "labels": {"x/y": "z"}, "finalizers": ["x.io/y"]}, [], id="all is well"),
    ],
)  # fmt: skip
def test_metadata(meta: dict[str, Any], want: list[str]) -> None:
    assert want == [cause.field for cause in metadata_faults("pods", meta)]
