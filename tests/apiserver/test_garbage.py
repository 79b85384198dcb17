"""Whatever is sent, the answer is a Status that is not the server's fault, and it comes soon."""

import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.apiserver.running import APPLY, JSON_PATCH, MERGE, NODES, PODS, STRATEGIC, deployment, node, pod
from tests.apiserver.wire import Reply, Wire, process

EXAMPLES = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
BATCH = 8
"""So many requests are sent per example."""

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"

NAMES = st.sampled_from(
    ["metadata", "spec", "status", "containers", "name", "labels", "$patch", "$setElementOrder/containers", "image",
     "$retainKeys", "$deleteFromPrimitiveList/finalizers", "finalizers", "nodeName", "replicas", "selector", "template",
     "matchLabels", "tolerations", "taints", "managedFields", "annotations", "ownerReferences", "conditions", "volumes",
     "apiVersion", "kind", "data", "stringData", "resourceVersion", "uid", "creationTimestamp", "capacity", "env",
     "ports", "affinity", "topologySpreadConstraints", "generateName", "deletionTimestamp", "namespace", "resources"]
) | st.text(max_size=8)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12)
    | st.sampled_from(["replace", "delete", "merge", "Pod", "v1", "1Gi", "-1", "1e9999", "web", "a" * 300])
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5), max_leaves=20
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=6)
POINTERS = st.lists(NAMES | st.sampled_from(["0", "-", "99", "~1", "~0"]), max_size=5).map(
    lambda parts: "".join("/" + part for part in parts)
)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "jump"])},
        optional={"path": POINTERS, "from": POINTERS, "value": VALUES},
    ),
    max_size=5,
)


def check(got: Reply) -> None:
    """No fault of the server, and a Status that says what is wrong."""
    assert got.status < 500, got.body
    if got.status >= 400:
        assert "Failure" == got.json["status"]
        assert got.status == got.json["code"]
        assert got.json["message"]


@pytest.fixture(scope="module")
def server() -> Iterator[Wire]:
    """One server for all examples: what one of them breaks, the next one finds."""
    with process() as (_, wire):
        yield wire


def send_all(wire: Wire, requests: Sequence[tuple[str, str, bytes, str]]) -> None:
    """Send requests one after another to objects that exist; each must be answered."""
    wire.send("POST", PODS, encoded(pod("a")))
    wire.send("POST", NODES, encoded(node("n")))
    wire.send("POST", DEPLOYMENTS, encoded(deployment("d")))
    for method, path, body, kind in requests:
        check(wire.send(method, path, body, kind))
    assert 200 == wire.send("GET", PODS).status


def encoded(value: Any) -> bytes:
    """JSON as a client would send it."""
    return json.dumps(value).encode("utf-8", "surrogatepass")


BODIES = st.lists(st.one_of(st.binary(max_size=60), VALUES.map(encoded), OBJECTS.map(encoded)), min_size=BATCH,
                  max_size=BATCH)  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        pytest.param("POST", PODS, "application/json", id="a body of a creation"),
        pytest.param("POST", PODS, "application/yaml", id="a body of a creation in YAML"),
        pytest.param("POST", PODS, "application/vnd.kubernetes.protobuf", id="a binary body of a creation"),
        pytest.param("PUT", f"{PODS}/a", "application/json", id="a body of an update"),
        pytest.param("PUT", f"{PODS}/a/status", "application/json", id="a body of an update of the status"),
        pytest.param("PATCH", f"{PODS}/a", MERGE, id="a merge patch"),
        pytest.param("PATCH", f"{NODES}/n/status", STRATEGIC, id="a strategic merge patch"),
        pytest.param("PATCH", f"{DEPLOYMENTS}/d?fieldManager=f", APPLY, id="an applied configuration"),
        pytest.param("PATCH", f"{DEPLOYMENTS}/d/scale", MERGE, id="a patch of a scale"),
        pytest.param("POST", f"{PODS}/a/binding", "application/json", id="a binding"),
        pytest.param("POST", f"{PODS}/a/eviction", "application/json", id="an eviction"),
        pytest.param("DELETE", f"{PODS}/a", "application/json", id="the options of a deletion"),
        pytest.param("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json", id="a review"),
    ],
)
@EXAMPLES
@given(bodies=BODIES)
def test_a_garbage_body_is_refused(server: Wire, method: str, path: str, kind: str, bodies: list[bytes]) -> None:
    send_all(server, [(method, path, body, kind) for body in bodies])


@EXAMPLES
@given(patches=st.lists(st.one_of(OPERATIONS, VALUES), min_size=BATCH, max_size=BATCH))
def test_a_garbage_json_patch_is_refused(server: Wire, patches: list[Any]) -> None:
    send_all(server, [("PATCH", f"{DEPLOYMENTS}/d", encoded(patch), JSON_PATCH) for patch in patches])


TEMPLATE_PARTS = st.sampled_from(["spec", "template", "metadata", "containers", "labels", "volumes", "selector"])


@EXAMPLES
@given(parts=st.lists(st.tuples(st.lists(TEMPLATE_PARTS, max_size=4), VALUES), min_size=BATCH, max_size=BATCH))
def test_a_patch_that_begins_well_is_refused_as_kindly(server: Wire, parts: list[tuple[list[str], Any]]) -> None:
    patches = []
    for path, value in parts:
        patch: Any = value
        for part in reversed(path):
            patch = {part: patch}
        patches.append(("PATCH", f"{DEPLOYMENTS}/d", encoded(patch), STRATEGIC))

    send_all(server, patches)


TEXTS = st.text(alphabet="abz19/.=!<>(),-_ \\\"'%\u00e9\u0000\n", max_size=20)


@EXAMPLES
@given(texts=st.lists(TEXTS, min_size=BATCH, max_size=BATCH))
def test_garbage_in_the_query_is_refused(server: Wire, texts: list[str]) -> None:
    for text in texts:
        for name in ("labelSelector", "fieldSelector", "continue", "resourceVersion", "limit", "dryRun",
                     "resourceVersionMatch"):  # fmt: skip
            check(server.send("GET", f"{PODS}?{name}={quote(text)}"))
        check(server.send("GET", f"{PODS}?watch=1&timeoutSeconds=1&resourceVersion={quote(text + 'x')}"))
        check(server.send("GET", f"/api/v1/namespaces/{quote(text, safe='')}/pods/{quote(text, safe='')}"))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" * 100_000, id="a hundred thousand brackets"),
        pytest.param(b'{"a":' * 100_000, id="a hundred thousand objects"),
        pytest.param(b'{"spec":{"x":' + b"[" * 900 + b"]" * 900 + b"}}", id="lists within lists"),
        pytest.param(b"&a [*a, *a]", id="a YAML alias of itself"),
        pytest.param(b"\xff\xfe\x00", id="no text at all"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"null", id="null"),
        pytest.param(b"1e99999", id="a number beyond numbers"),
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "application/yaml"])
def test_a_hostile_document_is_refused(server: Wire, body: bytes, kind: str) -> None:
    requests = [("POST", PODS, body, kind), ("POST", "/api/v1/namespaces/default/configmaps", body, kind)]
    requests += [("PATCH", f"{PODS}/a?fieldManager=f", body, patch) for patch in (MERGE, STRATEGIC, APPLY, JSON_PATCH)]

    send_all(server, requests)
