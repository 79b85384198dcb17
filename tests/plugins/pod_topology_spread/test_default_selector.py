"""Whom a pod without constraints is spread among."""

from collections.abc import Sequence

import pytest

from stowplan.api.meta import KubeObject, LabelSelector, ObjectMeta, OwnerReference
from stowplan.api.workloads import (
    ReplicaSet,
    ReplicaSetSpec,
    ReplicationController,
    ReplicationControllerSpec,
    Service,
    ServiceSpec,
    StatefulSet,
    StatefulSetSpec,
)
from stowplan.framework.gates import Gates
from stowplan.plugins.pod_topology_spread.constraints import SYSTEM_DEFAULTS, Constraints
from stowplan.plugins.pod_topology_spread.default_selector import DefaultSelectors
from stowplan.testing.builders import cluster, pod, select


def meta(name: str, namespace: str = "default") -> ObjectMeta:
    return ObjectMeta(name=name, namespace=namespace)


def service(name: str = "svc", namespace: str = "default", **selector: str) -> Service:
    return Service(metadata=meta(name, namespace), spec=ServiceSpec(selector=selector))


def controller(**selector: str) -> ReplicationController:
    return ReplicationController(metadata=meta("owner"), spec=ReplicationControllerSpec(selector=selector))


def replica_set(selector: LabelSelector | None, namespace: str = "default") -> ReplicaSet:
    return ReplicaSet(metadata=meta("owner", namespace), spec=ReplicaSetSpec(selector=selector))


def stateful_set(selector: LabelSelector | None) -> StatefulSet:
    return StatefulSet(metadata=meta("owner"), spec=StatefulSetSpec(selector=selector))


def owned_by(api_version: str, kind: str) -> OwnerReference:
    return OwnerReference(api_version=api_version, kind=kind, name="owner", controller=True)


REPLICA_SET = owned_by("apps/v1", "ReplicaSet")


@pytest.mark.parametrize(
    ("objects", "owner", "want"),
    [
        pytest.param([], None, "", id="nothing is known of the pod"),
        pytest.param([service(app="web")], None, "app=web", id="a service that selects the pod"),
        pytest.param([service(app="db")], None, "", id="a service of other pods says nothing"),
        pytest.param([service(namespace="other", app="web")], None, "", id="nor does one of another namespace"),
        pytest.param([service()], None, "", id="nor one without a selector"),
        pytest.param(
            [service("one", app="web"), service("two", tier="1")], None, "app=web,tier=1", id="services add up"
        ),
        pytest.param(
            [controller(tier="1")],
            owned_by("v1", "ReplicationController"),
            "tier=1",
            id="the replication controller that owns it",
        ),
        pytest.param(
            [controller(tier="1"), service(app="web")],
            owned_by("v1", "ReplicationController"),
            "app=web,tier=1",
            id="a controller adds to services",
        ),
        pytest.param([replica_set(select(app="web"))], REPLICA_SET, "app=web", id="the replica set that owns it"),
        pytest.param(
            [replica_set(select(("app", "In", ["web", "db"]))), service(tier="1")],
            REPLICA_SET,
            "app in (db,web),tier=1",
            id="a replica set adds expressions to services",
        ),
        pytest.param(
            [stateful_set(select(app="web"))], owned_by("apps/v1", "StatefulSet"), "app=web", id="a stateful set"
        ),
        pytest.param([], REPLICA_SET, "", id="an owner that is not known"),
        pytest.param([replica_set(select(app="web"), "other")], REPLICA_SET, "", id="an owner of another namespace"),
        pytest.param([replica_set(None)], REPLICA_SET, "", id="an owner without a selector"),
        pytest.param(
            [replica_set(select(("app", "Near", []))), service(tier="1")],
            REPLICA_SET,
            "tier=1",
            id="an owner whose selector is malformed",
        ),
        pytest.param(
            [replica_set(select(app="web"))],
            owned_by("extensions/v1beta1", "ReplicaSet"),
            "",
            id="an owner of another API group",
        ),
        pytest.param([controller(app="web")], owned_by("batch/v1", "Job"), "", id="an owner of another kind"),
    ],
)
def test_selector(objects: Sequence[KubeObject], owner: OwnerReference | None, want: str) -> None:
    built = cluster(*objects)
    info = built.compiler.compile(pod(labels={"app": "web", "tier": "1"}, owner=owner))

    assert want == str(DefaultSelectors().of(built.objects, info.cls))


def test_constraints_follow_the_services() -> None:
    built = cluster()
    info = built.compiler.compile(pod(labels={"app": "web"}))
    constraints = Constraints(SYSTEM_DEFAULTS, Gates())

    def selectors() -> list[str]:
        return [str(constraint.what.selector) for constraint in constraints.soft(built.view(), info.cls)]

    steps = [selectors()]
    built.put(service(app="web"))
    steps.append(selectors())
    built.remove(service())
    steps.append(selectors())

    assert [[], ["app=web", "app=web"], []] == steps


def test_two_clusters_do_not_share_what_was_derived() -> None:
    constraints = Constraints(SYSTEM_DEFAULTS, Gates())
    one, other = cluster(service(app="web")), cluster(service(tier="1"))
    info = one.compiler.compile(pod(labels={"app": "web", "tier": "1"}))

    got = [str(constraints.soft(built.view(), info.cls)[0].what.selector) for built in (one, other)]

    assert ["app=web", "tier=1"] == got
