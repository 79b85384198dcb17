"""Writes have kube-scheduler's bodies, and failures reach the caller."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stowplan.client import errors
from stowplan.client.paths import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, RESOURCE_CLAIMS
from stowplan.client.writer import Writer
from tests.client.fake_server import Answer, FakeServer, refuse
from tests.client.virtual_time import LoopClock, run_virtual


async def with_writer(story: Callable[[FakeServer, Writer], Awaitable[None]], **options: Any) -> None:
    """Run a story with a server and a writer."""
    server = FakeServer()
    async with server.listening(), server.client() as client:
        await story(server, Writer(client, clock=LoopClock(), rng=random.Random(1), **options))


PATCH = {"status": {"nominatedNodeName": "n1"}}
CLAIM = {"metadata": {"name": "c", "namespace": "ns", "resourceVersion": "5"}, "spec": {}}

WRITES = [
    pytest.param(
        lambda writer: writer.bind(namespace="ns", name="p", uid="u", node="n1"),
        ("POST", "/api/v1/namespaces/ns/pods/p/binding", "application/json"),
        {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
            "target": {"kind": "Node", "name": "n1"},
        },
        id="a binding",
    ),
    pytest.param(
        lambda writer: writer.patch_pod_status(namespace="ns", name="p", patch=PATCH),
        ("PATCH", "/api/v1/namespaces/ns/pods/p/status", "application/strategic-merge-patch+json"),
        PATCH,
        id="a pod's status",
    ),
    pytest.param(
        lambda writer: writer.delete_pod(namespace="ns", name="p"),
        ("DELETE", "/api/v1/namespaces/ns/pods/p", "application/json"),
        {"kind": "DeleteOptions", "apiVersion": "v1"},
        id="a deletion",
    ),
    pytest.param(
        lambda writer: writer.delete_pod(namespace="ns", name="p", uid="u", grace_seconds=0),
        ("DELETE", "/api/v1/namespaces/ns/pods/p", "application/json"),
        {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "preconditions": {"uid": "u"}},
        id="a deletion of just that pod",
    ),
    pytest.param(
        lambda writer: writer.update(PERSISTENT_VOLUME_CLAIMS, CLAIM),
        ("PUT", "/api/v1/namespaces/ns/persistentvolumeclaims/c", "application/json"),
        CLAIM,
        id="a claim",
    ),
    pytest.param(
        lambda writer: writer.update(PERSISTENT_VOLUMES, {"metadata": {"name": "v"}}),
        ("PUT", "/api/v1/persistentvolumes/v", "application/json"),
        {"metadata": {"name": "v"}},
        id="a volume",
    ),
    pytest.param(
        lambda writer: writer.update(RESOURCE_CLAIMS, CLAIM, subresource="status"),
        ("PUT", "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c/status", "application/json"),
        CLAIM,
        id="the status of a resource claim",
    ),
    pytest.param(
        lambda writer: writer.create(RESOURCE_CLAIMS, CLAIM),
        ("POST", "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims", "application/json"),
        CLAIM,
        id="a new resource claim",
    ),
    pytest.param(
        lambda writer: writer.patch(PERSISTENT_VOLUMES, name="v", patch={"spec": {"x": 1}}),
        ("PATCH", "/api/v1/persistentvolumes/v", "application/merge-patch+json"),
        {"spec": {"x": 1}},
        id="a merge patch",
    ),
]


@pytest.mark.parametrize(("write", "want_request", "want_body"), WRITES)
def test_what_is_sent(
    write: Callable[[Writer], Awaitable[object]], want_request: tuple[str, str, str], want_body: dict[str, Any]
) -> None:
    async def story(server: FakeServer, writer: Writer) -> None:
        await write(writer)
        (seen,) = server.seen
        assert want_request == (seen.method, seen.path, seen.headers["Content-Type"])
        assert want_body == seen.json

    run_virtual(with_writer(story))


@pytest.mark.parametrize(
    ("answers", "want_tries", "want_error"),
    [
        pytest.param([refuse(409, "Conflict")], 2, None, id="a conflict is tried again"),
        pytest.param([refuse(500, "InternalError")] * 3, 4, None, id="so is a failure of the server, three times"),
        pytest.param([refuse(500, "InternalError")] * 4, 4, errors.InternalError, id="but not a fourth"),
        pytest.param([Answer(abort=True)], 2, None, id="a lost connection is tried again"),
        pytest.param([refuse(404, "NotFound")], 1, errors.NotFound, id="a pod that is gone is not"),
        pytest.param([refuse(403, "Forbidden")], 1, errors.Forbidden, id="nor a right that is missing"),
    ],
)
def test_status_patches_are_tried_again(
    answers: list[Answer], want_tries: int, want_error: type[Exception] | None
) -> None:
    async def story(server: FakeServer, writer: Writer) -> None:
        server.script.extend(answers)
        patch = writer.patch_pod_status(namespace="ns", name="p", patch=PATCH)
        if want_error is None:
            await patch
        else:
            with pytest.raises(want_error):
                await patch
        assert want_tries == len(server.seen)

    run_virtual(with_writer(story))


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(refuse(409, "Conflict"), errors.Conflict, id="bound already"),
        pytest.param(refuse(500, "InternalError"), errors.InternalError, id="a failure of the server"),
        pytest.param(Answer(abort=True), errors.ConnectionLost, id="a lost connection: it may be bound"),
    ],
)
def test_bindings_are_not_tried_again(answer: Answer, want: type[Exception]) -> None:
    async def story(server: FakeServer, writer: Writer) -> None:
        server.script.append(answer)
        with pytest.raises(want):
            await writer.bind(namespace="ns", name="p", uid="u", node="n")
        assert len(server.seen) == 1
        assert writer.statistics().failures == 1
        assert writer.statistics().in_flight == 0

    run_virtual(with_writer(story))


def test_no_more_than_so_many_at_a_time() -> None:
    async def story(server: FakeServer, writer: Writer) -> None:
        server.script.extend([Answer(201, {}, delay=1.0)] * 12)
        tasks = [asyncio.create_task(writer.bind(namespace="ns", name=f"p{n}", uid="u", node="n")) for n in range(12)]
        await asyncio.sleep(0.5)
        assert len(server.seen) == 4
        assert writer.statistics().in_flight == 4
        begun = LoopClock().monotonic()
        await asyncio.gather(*tasks)
        assert 2 <= LoopClock().monotonic() - begun <= 3

    run_virtual(with_writer(story, concurrency=4))


def test_an_answer_that_is_no_object_is_said_so() -> None:
    async def story(server: FakeServer, writer: Writer) -> None:
        server.script.append(Answer(200, b"[]"))
        with pytest.raises(errors.BadResponse, match="not an object"):
            await writer.read(PERSISTENT_VOLUMES, name="v")

    run_virtual(with_writer(story))
