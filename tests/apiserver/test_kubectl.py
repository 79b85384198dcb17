"""Stock kubectl against the server alone: no controllers, no scheduler."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import pytest

from stowplan.apiserver.options import ServerOptions
from tests.apiserver.running import deployment, node
from tests.apiserver.wire import process

KUBECTL = shutil.which("kubectl")
SECONDS = 30
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: How large it is.}
              replicas: {type: integer, default: 2}
"""
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: %s}\n"


@final
@dataclass(frozen=True)
class Kubectl:
    """Runs kubectl with one kubeconfig and a cache of its own."""

    kubeconfig: Path
    folder: Path

    def run(self, *arguments: str, stdin: str = "", status: int = 0) -> str:
        """What kubectl prints; a status other than the one wanted fails the test."""
        assert KUBECTL is not None
        ended = subprocess.run(
            [KUBECTL, "--cache-dir", str(self.folder / "cache"), *arguments],
            input=stdin, capture_output=True, text=True, timeout=SECONDS, check=False,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)},
        )  # fmt: skip
        assert status == ended.returncode, ended.stdout + ended.stderr
        return ended.stdout + ended.stderr

    def get(self, *arguments: str) -> Any:
        """An object or a list."""
        return json.loads(self.run("get", *arguments, "-o", "json"))

    def create(self, value: dict[str, Any]) -> str:
        """Create an object."""
        return self.run("create", "-f", "-", stdin=json.dumps(value))

    def bind(self, pod: str, node_name: str) -> None:
        """Give a pod its node, as a scheduler would."""
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": {"name": node_name}}
        path = f"/api/v1/namespaces/default/pods/{pod}/binding"
        self.run("create", "--raw", path, "-f", "-", stdin=json.dumps(binding))


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A server, and kubectl to talk to it."""
    if KUBECTL is None:
        if os.environ.get("CI") == "true":
            pytest.fail("kubectl is not on PATH, and CI=true asks for it")
        pytest.skip("kubectl is not on PATH")
    folder = tmp_path_factory.mktemp("kubectl")
    with process(ServerOptions(kubeconfig=folder / "config")):
        yield Kubectl(folder / "config", folder)


def test_version_and_resources(kubectl: Kubectl) -> None:
    assert "v1.36.4" in kubectl.run("version")
    listed = kubectl.run("api-resources")
    for line in ("deployments                         deploy", "poddisruptionbudgets                pdb"):
        assert line in listed
    assert "apps/v1" in kubectl.run("api-versions")
    assert "is running at" in kubectl.run("cluster-info")


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(("deployment", "c-deploy", "--image=nginx", "--replicas=3"), "created", id="a deployment"),
        pytest.param(("namespace", "c-space"), "created", id="a namespace"),
        pytest.param(("configmap", "c-map", "--from-literal=a=b"), "created", id="a config map"),
        pytest.param(("secret", "generic", "c-secret", "--from-literal=a=b"), "created", id="a secret"),
        pytest.param(("job", "c-job", "--image=busybox", "--", "true"), "created", id="a job"),
        pytest.param(("cronjob", "c-cron", "--image=busybox", "--schedule=*/5 * * * *"), "created", id="a cron job"),
        pytest.param(("service", "clusterip", "c-service", "--tcp=80:8080"), "created", id="a service"),
        pytest.param(("service", "nodeport", "c-port", "--tcp=80"), "created", id="a service with a node port"),
        pytest.param(("ingress", "c-ingress", "--rule=a.com/x=c-service:80"), "created", id="an ingress"),
        pytest.param(("pdb", "c-pdb", "--selector=a=b", "--min-available=1"), "created", id="a disruption budget"),
        pytest.param(("priorityclass", "c-class", "--value=100"), "created", id="a priority class"),
        pytest.param(("quota", "c-quota", "--hard=cpu=1"), "created", id="a quota"),
        pytest.param(("serviceaccount", "c-account"), "created", id="a service account"),
        pytest.param(("role", "c-role", "--verb=get", "--resource=pods"), "created", id="a role"),
        pytest.param(("rolebinding", "c-bind", "--role=c-role", "--user=u"), "created", id="a role binding"),
        pytest.param(("clusterrole", "c-role", "--verb=get", "--resource=pods"), "created", id="a cluster role"),
        pytest.param(("clusterrolebinding", "c-bind", "--clusterrole=c-role", "--user=u"), "created",
                     id="a cluster role binding"),
    ],
)  # fmt: skip
def test_create(kubectl: Kubectl, arguments: tuple[str, ...], want: str) -> None:
    assert want in kubectl.run("create", *arguments)
    kind = "service" if arguments[0] == "service" else arguments[0]
    name = arguments[2] if arguments[0] in ("service", "secret") else arguments[1]
    assert name in kubectl.run("get", kind, name)
    assert name in kubectl.run("describe", kind, name)
    if kind != "namespace":
        assert "deleted" in kubectl.run("delete", kind, name)


def test_run_get_and_describe_a_pod(kubectl: Kubectl) -> None:
    assert "pod/web created" in kubectl.run("run", "web", "--image=nginx", "--labels=app=web")
    assert "NAME   READY   STATUS    RESTARTS   AGE" in kubectl.run("get", "pods", "web")
    assert "NOMINATED NODE" in kubectl.run("get", "pods", "-o", "wide")
    assert "pod/web" == kubectl.run("get", "pod", "web", "-o", "name").strip()
    assert "Pending" == kubectl.run("get", "pod", "web", "-o", "jsonpath={.status.phase}")
    assert "nginx" in kubectl.run("get", "pod", "web", "-o", "custom-columns=I:.spec.containers[*].image")
    assert "restartPolicy: Always" in kubectl.run("get", "pod", "web", "-o", "yaml")
    assert "web" in kubectl.run("get", "pods", "-l", "app in (web,db)", "-A")
    assert "web" in kubectl.run("get", "pods", "--field-selector", "status.phase=Pending")
    assert "No resources found" in kubectl.run("get", "pods", "-l", "app=nothing")
    assert "BestEffort" in kubectl.run("describe", "pod", "web")
    assert "web" in kubectl.run("get", "all")
    assert 'pod "web" deleted' in kubectl.run("delete", "pod", "web")


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(("get", "pod", "nope"), 'Error from server (NotFound): pods "nope" not found', id="no such pod"),
        pytest.param(("get", "gadgets"), 'the server doesn\'t have a resource type "gadgets"', id="no such kind"),
        pytest.param(("get", "pods", "-l", "a in ("), "unable to parse requirement", id="a broken selector"),
        pytest.param(("get", "pods", "--field-selector", "a=b"), "field label not supported: a", id="a field"),
        pytest.param(("run", "Bad_Name", "--image=x"), "a lowercase RFC 1123 subdomain", id="a bad name"),
        pytest.param(("top", "nodes"), "Metrics API not available", id="there are no metrics"),
        pytest.param(("create", "-f", "-"), "error", id="nothing to create"),
        pytest.param(("delete", "ns", "default"), "this namespace may not be deleted", id="the first namespace"),
        pytest.param(("run", "x", "--image=x", "-n", "nowhere"), 'namespaces "nowhere" not found', id="no namespace"),
    ],
)
def test_refusals_are_clear(kubectl: Kubectl, arguments: tuple[str, ...], want: str) -> None:
    assert want in kubectl.run(*arguments, status=1)


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(("logs", "silent"), "there are no logs", id="logs"),
        pytest.param(("exec", "silent", "--", "ls"), "nothing can be executed", id="exec"),
    ],
)
def test_what_needs_a_container_is_refused(kubectl: Kubectl, arguments: tuple[str, ...], want: str) -> None:
    kubectl.run("apply", "-f", "-", stdin=json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "silent"},
         "spec": {"containers": [{"name": "c", "image": "i"}]}}))  # fmt: skip
    assert want in kubectl.run(*arguments, status=1)


def test_apply_from_the_client(kubectl: Kubectl) -> None:
    manifest = deployment("applied")
    manifest["metadata"]["labels"] = {"old": "label"}
    assert "created" in kubectl.run("apply", "-f", "-", stdin=json.dumps(manifest))
    assert "unchanged" in kubectl.run("apply", "-f", "-", stdin=json.dumps(manifest))
    manifest["metadata"]["labels"] = {"new": "label"}
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"
    assert "-    old: label" in kubectl.run("diff", "-f", "-", stdin=json.dumps(manifest), status=1)
    assert "configured" in kubectl.run("apply", "-f", "-", stdin=json.dumps(manifest))
    got = kubectl.get("deploy", "applied")
    assert {"new": "label"} == got["metadata"]["labels"]
    assert "nginx:2" == got["spec"]["template"]["spec"]["containers"][0]["image"]


def test_apply_from_the_server(kubectl: Kubectl) -> None:
    manifest = deployment("served")
    apply = ("apply", "--server-side", "-f", "-")
    assert "serverside-applied" in kubectl.run(*apply, stdin=json.dumps(manifest))
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"
    refused = kubectl.run(*apply, "--field-manager=other", stdin=json.dumps(manifest), status=1)
    assert "Apply failed with 1 conflict" in refused
    assert 'conflict with "kubectl"' in refused
    forced = kubectl.run(*apply, "--field-manager=other", "--force-conflicts", stdin=json.dumps(manifest))
    assert "serverside-applied" in forced
    # an object that was applied from the client can be taken over
    assert "created" in kubectl.run("apply", "-f", "-", stdin=json.dumps(deployment("moved")))
    assert "serverside-applied" in kubectl.run(*apply, stdin=json.dumps(deployment("moved", image="nginx:9")))
    assert "unchanged" not in kubectl.run(*apply, stdin=json.dumps(deployment("moved", image="nginx:9")))


def test_edits_by_command(kubectl: Kubectl) -> None:
    kubectl.create(deployment("edited"))
    assert "scaled" in kubectl.run("scale", "deploy/edited", "--replicas=4")
    assert "labeled" in kubectl.run("label", "deploy", "edited", "a=b")
    assert "annotated" in kubectl.run("annotate", "deploy", "edited", "a=b")
    assert "unlabeled" in kubectl.run("label", "deploy", "edited", "a-")
    assert "image updated" in kubectl.run("set", "image", "deploy/edited", "main=nginx:7")
    assert "env updated" in kubectl.run("set", "env", "deploy/edited", "A=1")
    assert "resource requirements updated" in kubectl.run("set", "resources", "deploy/edited", "--limits=cpu=1")
    assert "restarted" in kubectl.run("rollout", "restart", "deploy/edited")
    assert "paused" in kubectl.run("rollout", "pause", "deploy/edited")
    for kind, patch in (
        ("strategic", '{"spec":{"replicas":5}}'),
        ("merge", '{"spec":{"revisionHistoryLimit":3}}'),
        ("json", '[{"op":"add","path":"/metadata/labels","value":{"x":"y"}}]'),
    ):
        assert "patched" in kubectl.run("patch", "deploy", "edited", f"--type={kind}", "-p", patch)
    got = kubectl.get("deploy", "edited")
    container = got["spec"]["template"]["spec"]["containers"][0]
    assert (5, 3, {"x": "y"}, {"a": "b"}, True, "nginx:7", "1") == (
        got["spec"]["replicas"], got["spec"]["revisionHistoryLimit"], got["metadata"]["labels"],
        got["metadata"]["annotations"], got["spec"]["paused"], container["image"],
        container["resources"]["limits"]["cpu"],
    )  # fmt: skip
    replaced = kubectl.get("deploy", "edited")
    replaced["spec"]["replicas"] = 1
    assert "replaced" in kubectl.run("replace", "-f", "-", stdin=json.dumps(replaced))
    assert "autoscaled" in kubectl.run("autoscale", "deploy/edited", "--max=5")
    assert "exposed" in kubectl.run("expose", "deploy/edited", "--port=80")


@pytest.mark.parametrize(
    ("member", "want"),
    [
        pytest.param({"bogus": 1}, 'strict decoding error: unknown field "spec.template.spec.bogus"', id="a field"),
        pytest.param({"hostNetwork": "x"}, "cannot unmarshal string into Go struct field", id="a type"),
        pytest.param({"containers": []}, "spec.template.spec.containers: Required value", id="nothing to run"),
    ],
)
def test_a_bad_manifest_is_refused(kubectl: Kubectl, member: dict[str, Any], want: str) -> None:
    manifest = deployment("bad")
    manifest["spec"]["template"]["spec"].update(member)
    assert want in kubectl.run("apply", "-f", "-", stdin=json.dumps(manifest), status=1)


def test_nodes_are_cordoned_tainted_and_drained(kubectl: Kubectl) -> None:
    kubectl.create(node("n1"))
    assert "cordoned" in kubectl.run("cordon", "n1")
    assert "SchedulingDisabled" in kubectl.run("get", "node", "n1")
    assert "uncordoned" in kubectl.run("uncordon", "n1")
    assert "tainted" in kubectl.run("taint", "node", "n1", "dedicated=gpu:NoSchedule")
    assert "dedicated=gpu:NoSchedule" in kubectl.run("describe", "node", "n1")
    assert "untainted" in kubectl.run("taint", "node", "n1", "dedicated-")
    kubectl.run("run", "drained", "--image=nginx")
    kubectl.bind("drained", "n1")
    kubectl.run("drain", "n1", "--force", "--grace-period=0", "--timeout=20s")
    assert "NotFound" in kubectl.run("get", "pod", "drained", status=1)


def test_drain_waits_for_the_budget(kubectl: Kubectl) -> None:
    kubectl.create(node("n2"))
    kubectl.run("run", "guarded", "--image=nginx", "--labels=app=guarded")
    kubectl.bind("guarded", "n2")
    kubectl.run("create", "pdb", "guard", "--selector=app=guarded", "--min-available=1")
    counted = '{"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1}}'
    kubectl.run("patch", "pdb", "guard", "--subresource=status", "--type=merge", "-p", counted)
    ready = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
    kubectl.run("patch", "pod", "guarded", "--subresource=status", "--type=merge", "-p", ready)
    refused = kubectl.run("drain", "n2", "--force", "--timeout=2s", status=1)
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused


def test_a_deletion_has_grace_and_can_be_forced(kubectl: Kubectl) -> None:
    kubectl.create(node("n3"))
    kubectl.run("run", "slow", "--image=nginx")
    kubectl.bind("slow", "n3")
    kubectl.run("delete", "pod", "slow", "--wait=false")
    assert "Terminating" in kubectl.run("get", "pod", "slow")
    assert "force deleted" in kubectl.run("delete", "pod", "slow", "--force")
    kubectl.create(deployment("cascading"))
    kubectl.run("delete", "deploy", "cascading", "--cascade=foreground", "--wait=false")
    assert ["foregroundDeletion"] == kubectl.get("deploy", "cascading")["metadata"]["finalizers"]


def test_wait_and_watch(kubectl: Kubectl) -> None:
    kubectl.run("run", "waited", "--image=nginx")
    ready = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    kubectl.run("patch", "pod", "waited", "--subresource=status", "-p", ready)
    assert "condition met" in kubectl.run("wait", "--for=condition=Ready", "pod/waited", "--timeout=10s")
    assert "condition met" in kubectl.run("wait", "--for=jsonpath={.status.phase}=Pending", "pod/waited")
    watched = kubectl.run("get", "pods", "waited", "-w", "--request-timeout=2s")
    assert "waited" in watched


def test_explain(kubectl: Kubectl) -> None:
    assert "FIELD: tolerations <[]Toleration>" in kubectl.run("explain", "pod.spec.tolerations")
    assert "maxSurge" in kubectl.run("explain", "deployment.spec.strategy", "--recursive")
    assert "The pod this Toleration is attached to" in kubectl.run("explain", "pods.spec.tolerations")


def test_rights_can_be_asked_for(kubectl: Kubectl) -> None:
    assert "yes" in kubectl.run("auth", "can-i", "create", "pods")
    assert "kubernetes-admin" in kubectl.run("auth", "whoami")
    assert "no" in kubectl.run("auth", "can-i", "delete", "nodes", "--as=nobody", status=1)


def test_custom_kinds_come_and_go(kubectl: Kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=WIDGETS)
    kubectl.run("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=10s")
    assert "created" in kubectl.run("apply", "-f", "-", stdin=WIDGET % 3)
    assert "configured" in kubectl.run("apply", "-f", "-", stdin=WIDGET % 4)
    assert ["NAME   SIZE", "a      4"] == kubectl.run("get", "wd").strip().splitlines()
    assert 2 == kubectl.get("widget", "a")["spec"]["replicas"]
    assert "scaled" in kubectl.run("scale", "widget/a", "--replicas=7")
    refused = kubectl.run("apply", "-f", "-", stdin=WIDGET % 0, status=1)
    assert "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1" in refused
    assert "How large it is." in kubectl.run("explain", "widget.spec.size")
    kubectl.run("delete", "crd", "widgets.example.com")
    assert "error" in kubectl.run("get", "wd", status=1).lower()
