"""The manifests: their flags and configurations are read, their rights are those that the code uses, and no more."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from stowplan.composition import set_up
from stowplan.daemon.following import OBJECTS
from stowplan.daemon.options import parse_options
from stowplan.daemon.writing import resource_of

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
MANIFESTS: Final = sorted(DEPLOY.rglob("*.yaml"))
WITH_PODS: Final = ("deployment.yaml", "second-scheduler.yaml", "kubeadm/kube-scheduler.yaml")
WITH_RIGHTS: Final = ("rbac.yaml", "second-scheduler.yaml")
READING: Final = {"get", "list", "watch"}

Json = dict[str, Any]


def documents(name: str) -> list[Json]:
    """The objects of a manifest."""
    return [document for document in yaml.safe_load_all((DEPLOY / name).read_text()) if document]


def of_kind(name: str, kind: str) -> list[Json]:
    """Its objects of one kind."""
    return [document for document in documents(name) if document["kind"] == kind]


def pod_spec(name: str) -> Json:
    """Its one pod."""
    (holder,) = of_kind(name, "Deployment") or of_kind(name, "Pod")
    spec: Json = holder["spec"]
    return spec["template"]["spec"] if holder["kind"] == "Deployment" else spec


def rights(name: str) -> set[tuple[str, str, str]]:
    """Group, resource and verb of every rule of its ClusterRole."""
    (role,) = of_kind(name, "ClusterRole")
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("path", MANIFESTS, ids=[str(path.relative_to(DEPLOY)) for path in MANIFESTS])
def test_every_object_is_whole(path: Path) -> None:
    found = documents(str(path.relative_to(DEPLOY)))

    assert found
    for document in found:
        assert {"apiVersion", "kind", "metadata"} <= set(document)
        assert document["metadata"]["name"]


@pytest.mark.parametrize("name", WITH_PODS)
def test_the_command_is_understood(name: str) -> None:
    (container,) = pod_spec(name)["containers"]
    program, *arguments = container["command"]
    options = parse_options(arguments)

    assert "kube-scheduler" == program
    assert () == options.ignored
    ports = {port["containerPort"] for port in container["ports"]}
    assert {options.serving.port} == ports


@pytest.mark.parametrize("name", WITH_PODS)
def test_probes_ask_what_is_there(name: str) -> None:
    (container,) = pod_spec(name)["containers"]
    (port,) = [port["name"] for port in container["ports"]]

    for probe, path in (("livenessProbe", "/livez"), ("readinessProbe", "/readyz"), ("startupProbe", "/livez")):
        asked = container[probe]["httpGet"]
        assert (path, port, "HTTPS") == (asked["path"], asked["port"], asked["scheme"])


@pytest.mark.parametrize("name", WITH_PODS)
def test_containers_are_locked_down(name: str) -> None:
    spec = pod_spec(name)
    (container,) = spec["containers"]

    assert {"type": "RuntimeDefault"} == spec["securityContext"]["seccompProfile"]
    assert {"drop": ["ALL"]} == container["securityContext"]["capabilities"]
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in spec["volumes"]}


@pytest.mark.parametrize(
    ("name", "rbac", "scheduler"),
    [
        pytest.param("deployment.yaml", "rbac.yaml", "default-scheduler", id="the cluster's scheduler"),
        pytest.param("second-scheduler.yaml", "second-scheduler.yaml", "stowplan-scheduler", id="a second one"),
    ],
)
def test_configuration_account_and_lease_fit_together(name: str, rbac: str, scheduler: str) -> None:
    (config,) = of_kind(name, "ConfigMap")
    (deployment,) = of_kind(name, "Deployment")
    (account,) = of_kind(rbac, "ServiceAccount")
    (role,) = of_kind(rbac, "Role")
    spec = pod_spec(name)
    (configured,) = [volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume]
    setup = set_up(config["data"]["scheduler-config.yaml"].encode())
    election = setup.configuration.leader_election

    assert config["metadata"]["name"] == configured
    assert account["metadata"]["name"] == spec["serviceAccountName"]
    assert config["metadata"]["namespace"] == deployment["metadata"]["namespace"] == account["metadata"]["namespace"]
    assert [scheduler] == list(setup.profiles)
    assert 2 == deployment["spec"]["replicas"]
    assert election.leader_elect
    assert role["metadata"]["namespace"] == election.resource_namespace
    create, use = role["rules"]
    assert (["create"], None) == (create["verbs"], create.get("resourceNames"))
    assert (["get", "update"], [election.resource_name]) == (use["verbs"], use["resourceNames"])
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_the_second_scheduler_shares_no_lease_with_the_first() -> None:
    leases = []
    for name in ("deployment.yaml", "second-scheduler.yaml"):
        (config,) = of_kind(name, "ConfigMap")
        election = set_up(config["data"]["scheduler-config.yaml"].encode()).configuration.leader_election
        leases.append((election.resource_namespace, election.resource_name))

    assert 2 == len(set(leases))


@pytest.mark.parametrize("name", WITH_RIGHTS)
def test_what_is_followed_may_be_read(name: str) -> None:
    allowed = rights(name)

    for kind in OBJECTS:
        resource = resource_of(kind)
        for verb in READING:
            assert (resource.group, resource.plural, verb) in allowed
    for plural in ("pods", "nodes"):
        assert {("", plural, verb) for verb in READING} <= allowed


@pytest.mark.parametrize("name", WITH_RIGHTS)
def test_the_rights_are_exactly_these(name: str) -> None:
    writes = {right for right in rights(name) if right[2] not in READING}

    assert {
        ("", "events", "create"), ("", "events", "patch"), ("", "events", "update"),
        ("", "persistentvolumeclaims", "patch"), ("", "persistentvolumeclaims", "update"),
        ("", "persistentvolumes", "patch"), ("", "persistentvolumes", "update"),
        ("", "pods", "delete"),
        ("", "pods/binding", "create"),
        ("", "pods/finalizers", "update"),
        ("", "pods/status", "patch"), ("", "pods/status", "update"),
        ("authentication.k8s.io", "tokenreviews", "create"),
        ("authorization.k8s.io", "subjectaccessreviews", "create"),
        ("events.k8s.io", "events", "create"), ("events.k8s.io", "events", "patch"),
        ("events.k8s.io", "events", "update"),
        ("resource.k8s.io", "resourceclaims", "create"), ("resource.k8s.io", "resourceclaims", "delete"),
        ("resource.k8s.io", "resourceclaims", "patch"), ("resource.k8s.io", "resourceclaims", "update"),
        ("resource.k8s.io", "resourceclaims/binding", "patch"),
        ("resource.k8s.io", "resourceclaims/binding", "update"),
        ("resource.k8s.io", "resourceclaims/status", "patch"),
        ("resource.k8s.io", "resourceclaims/status", "update"),
    } == writes  # fmt: skip


def test_the_reader_only_reads_and_reads_all_that_is_followed() -> None:
    reader, metrics, debugger = of_kind("reader.yaml", "ClusterRole")
    readable = set()
    for rule in reader["rules"]:
        assert READING == set(rule["verbs"])
        readable |= {(group, resource) for group in rule["apiGroups"] for resource in rule["resources"]}

    assert {("", "pods"), ("", "nodes"), *((resource_of(k).group, resource_of(k).plural) for k in OBJECTS)} <= readable
    for role in (metrics, debugger):
        (rule,) = role["rules"]
        assert ["get"] == rule["verbs"]


@pytest.mark.parametrize("path", MANIFESTS, ids=[str(path.relative_to(DEPLOY)) for path in MANIFESTS])
def test_nothing_is_granted_by_wildcard(path: Path) -> None:
    for document in documents(str(path.relative_to(DEPLOY))):
        for rule in document.get("rules", ()):
            assert "*" not in [*rule.get("apiGroups", ()), *rule.get("resources", ()), *rule["verbs"]]
