"""Stock kubectl against the whole cluster: server, nodes, controllers, scheduler."""

import json
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from stowplan.testing.local_cluster import KubectlError, LocalCluster
from tests.sim.clusters import require_kubectl

RUNNING_WITHIN = 10.0
GONE_WITHIN = 30.0

STATEFUL = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: "db:1"}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""

DAEMON = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {rollingUpdate: {maxUnavailable: "100%"}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: main, image: "agent:1"}]}
"""

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: sums}
spec:
  completions: 3
  parallelism: 3
  template:
    metadata: {annotations: {sim.stowplan.dev/duration: 100ms}}
    spec: {restartPolicy: Never, containers: [{name: main, image: sums}]}
"""

ZONED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: zoned, labels: {app: zoned}}
spec:
  replicas: 3
  selector: {matchLabels: {app: zoned}}
  template:
    metadata: {labels: {app: zoned}}
    spec:
      containers: [{name: main, image: "app:1", resources: {requests: {cpu: 100m}}}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: zoned}}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Four nodes and a scheduler."""
    require_kubectl()
    with LocalCluster(nodes=4) as made:
        yield made


def objects(cluster: LocalCluster, *arguments: str) -> list[dict[str, Any]]:
    """The objects that kubectl gets."""
    found: dict[str, Any] = json.loads(cluster.kubectl("get", *arguments, "-o", "json"))
    items: list[dict[str, Any]] = found.get("items", [found])
    return items


def until(condition: Any, seconds: float = 20.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "still not so"
        time.sleep(0.1)


def test_two_hundred_replicas_run_within_ten_seconds(cluster: LocalCluster) -> None:
    started = time.monotonic()
    assert "deployment.apps/many created\n" == cluster.kubectl(
        "create", "deployment", "many", "--image=app", "--replicas=200"
    )
    cluster.kubectl("rollout", "status", "deployment/many", "--timeout=60s")
    seconds = time.monotonic() - started
    running = cluster.kubectl("get", "pods", "-l", "app=many", "--field-selector=status.phase=Running", "-o", "name")

    assert 200 == len(running.split())
    assert seconds < RUNNING_WITHIN
    cluster.kubectl("delete", "deployment", "many")
    # kubectl waits for one pod after another, at five questions a second; asking for all of them is one question
    until = time.monotonic() + GONE_WITHIN
    while cluster.kubectl("get", "pods", "-l", "app=many", "-o", "name"):
        assert time.monotonic() < until, "the pods of a deleted deployment stay"


def test_get_in_all_its_forms(cluster: LocalCluster) -> None:
    assert ["node-0", "node-1", "node-2", "node-3"] == [one["metadata"]["name"] for one in objects(cluster, "nodes")]
    wide = cluster.kubectl("get", "nodes", "-o", "wide").splitlines()
    assert ["NAME", "STATUS", "ROLES", "AGE", "VERSION", "INTERNAL-IP"] == wide[0].split()[:6]
    assert ["node-0", "Ready"] == wide[1].split()[:2]
    zone = cluster.kubectl("get", "nodes", "-L", "topology.kubernetes.io/zone", "--no-headers").split("\n")[0]
    assert "zone-a" == zone.split()[-1]
    assert "node-1" == cluster.kubectl("get", "node", "node-1", "-o", "jsonpath={.metadata.name}")
    assert "node/node-3\n" == cluster.kubectl(
        "get", "nodes", "-l", "topology.kubernetes.io/zone=zone-a,kubernetes.io/hostname!=node-0", "-o", "name"
    )
    custom = cluster.kubectl("get", "nodes", "--sort-by=.metadata.name", "-o", "custom-columns=N:.metadata.name")
    assert ["N", "node-0"] == custom.split()[:2]
    assert "kind: Node" in cluster.kubectl("get", "node", "node-0", "-o", "yaml")
    assert "Stowplan simulation" in cluster.kubectl("describe", "node", "node-0")
    assert 4 == cluster.kubectl("get", "leases", "-n", "kube-node-lease", "--no-headers").count("\n")


def test_a_watch_shows_a_pod_come_to_life(cluster: LocalCluster) -> None:
    watching = subprocess.Popen(
        ["kubectl", "get", "pods", "-l", "run=seen", "-w", "--output-watch-events", "--no-headers"],
        env=cluster.environment(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        # a first pod shows that the watch is open
        cluster.kubectl("run", "first", "--image=app", "--labels=run=seen")
        assert watching.stdout is not None
        while "1/1" not in watching.stdout.readline():
            pass
        cluster.kubectl("run", "seen", "--image=app")
        lines = [watching.stdout.readline().split()]
        while lines[-1][3] != "Running" or lines[-1][2] != "1/1":
            lines.append(watching.stdout.readline().split())
    finally:
        watching.kill()
        watching.communicate()
    assert ["ADDED", "seen", "0/1", "Pending"] == lines[0][:4]
    assert "ContainerCreating" in [line[3] for line in lines]
    cluster.kubectl("delete", "pod", "first", "seen", "--now")


def test_apply_edit_label_and_delete(cluster: LocalCluster) -> None:
    assert "deployment.apps/zoned created\n" == cluster.kubectl("apply", "-f", "-", stdin=ZONED)
    cluster.kubectl("rollout", "status", "deployment/zoned", "--timeout=30s")
    zones = {one["metadata"]["name"]: one["metadata"]["labels"]["topology.kubernetes.io/zone"]
             for one in objects(cluster, "nodes")}  # fmt: skip
    pods = objects(cluster, "pods", "-l", "app=zoned")
    assert ["zone-a", "zone-b", "zone-c"] == sorted(zones[pod["spec"]["nodeName"]] for pod in pods)
    assert "deployment.apps/zoned unchanged\n" == cluster.kubectl("apply", "-f", "-", stdin=ZONED)
    applied = cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
                              stdin=ZONED.replace("replicas: 3", "replicas: 4"))  # fmt: skip
    assert "deployment.apps/zoned serverside-applied\n" == applied
    cluster.kubectl("rollout", "status", "deployment/zoned", "--timeout=30s")
    assert 4 == len(objects(cluster, "pods", "-l", "app=zoned"))
    cluster.kubectl("label", "deployment", "zoned", "team=blue")
    cluster.kubectl("annotate", "deployment", "zoned", "note=hello")
    assert "deployment.apps/zoned\n" == cluster.kubectl("get", "deployment", "-l", "team=blue", "-o", "name")
    cluster.kubectl("patch", "deployment", "zoned", "-p", '{"spec": {"replicas": 1}}')
    cluster.kubectl("rollout", "status", "deployment/zoned", "--timeout=30s")
    assert "ScalingReplicaSet" in cluster.kubectl("describe", "deployment", "zoned")
    cluster.kubectl("delete", "deployment", "zoned", "--cascade=foreground", "--timeout=30s")
    assert "" == cluster.kubectl("get", "all", "-l", "app=zoned", "-o", "name")


def test_a_rollout_goes_forward_back_and_waits(cluster: LocalCluster) -> None:
    cluster.kubectl("create", "deployment", "web", "--image=app:1", "--replicas=4")
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    cluster.kubectl("set", "image", "deployment/web", "app=app:2")
    assert "successfully rolled out" in cluster.kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    assert ["1", "2"] == [line.split()[0] for line in
                          cluster.kubectl("rollout", "history", "deployment/web").split("\n")[2:4]]  # fmt: skip
    assert "app:1" in cluster.kubectl("rollout", "history", "deployment/web", "--revision=1")
    cluster.kubectl("rollout", "undo", "deployment/web")
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    # a rollout is done when the old pods are told to go
    staying = [pod for pod in objects(cluster, "pods", "-l", "app=web") if "deletionTimestamp" not in pod["metadata"]]
    assert {"app:1"} == {pod["spec"]["containers"][0]["image"] for pod in staying}
    cluster.kubectl("rollout", "restart", "deployment/web")
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    cluster.kubectl("rollout", "pause", "deployment/web")
    cluster.kubectl("rollout", "resume", "deployment/web")
    cluster.kubectl("scale", "deployment/web", "--replicas=2")
    cluster.kubectl("wait", "--for=jsonpath={.status.replicas}=2", "deployment/web", "--timeout=30s")
    cluster.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=30s")
    cluster.kubectl("delete", "deployment", "web")


def test_stateful_and_daemon_sets_roll_too(cluster: LocalCluster) -> None:
    cluster.kubectl("apply", "-f", "-", stdin=STATEFUL)
    cluster.kubectl("apply", "-f", "-", stdin=DAEMON)
    for kind, name in (("statefulset", "db"), ("daemonset", "agent")):
        cluster.kubectl("rollout", "status", f"{kind}/{name}", "--timeout=45s")
        cluster.kubectl("set", "image", f"{kind}/{name}", f"main={name}:2")
        cluster.kubectl("rollout", "status", f"{kind}/{name}", "--timeout=45s")
        cluster.kubectl("rollout", "undo", f"{kind}/{name}")
        cluster.kubectl("rollout", "status", f"{kind}/{name}", "--timeout=45s")
        images = {pod["spec"]["containers"][0]["image"] for pod in objects(cluster, "pods", "-l", f"app={name}")}
        assert {f"{name}:1"} == images
    bound = cluster.kubectl("get", "pvc", "-o", "jsonpath={.items[*].status.phase}")
    assert "Bound Bound" == bound
    assert 4 == len(objects(cluster, "pods", "-l", "app=agent"))
    cluster.kubectl("delete", "statefulset/db", "daemonset/agent", "pvc/data-db-0", "pvc/data-db-1")
    until(lambda: not objects(cluster, "pv"))


def test_a_job_completes(cluster: LocalCluster) -> None:
    cluster.kubectl("create", "-f", "-", stdin=JOB)
    cluster.kubectl("wait", "--for=condition=complete", "job/sums", "--timeout=30s")
    assert "3/3" in cluster.kubectl("get", "job", "sums", "--no-headers")
    cluster.kubectl("delete", "job", "sums")
    cluster.kubectl("wait", "--for=delete", "pod", "-l", "job-name=sums", "--timeout=30s")


def test_cordon_drain_taint_and_a_node_that_goes(cluster: LocalCluster) -> None:
    cluster.kubectl("create", "deployment", "moving", "--image=app", "--replicas=8")
    cluster.kubectl("rollout", "status", "deployment/moving", "--timeout=30s")
    cluster.kubectl("create", "poddisruptionbudget", "moving", "--selector=app=moving", "--min-available=1")
    cluster.kubectl("cordon", "node-0")
    assert "Ready,SchedulingDisabled" in cluster.kubectl("get", "node", "node-0")
    cluster.kubectl("drain", "node-1", "--ignore-daemonsets", "--timeout=45s")
    cluster.kubectl("taint", "node", "node-2", "away=now:NoExecute")
    cluster.kubectl("uncordon", "node-0")

    def moved() -> bool:
        pods = objects(cluster, "pods", "-l", "app=moving", "--field-selector=status.phase=Running")
        return len(pods) == 8 and {pod["spec"]["nodeName"] for pod in pods} <= {"node-0", "node-3"}

    until(moved)
    cluster.kubectl("taint", "node", "node-2", "away=now:NoExecute-")
    cluster.kubectl("uncordon", "node-1")
    cluster.kubectl("delete", "node", "node-3")
    cluster.kubectl("rollout", "status", "deployment/moving", "--timeout=45s")
    until(lambda: all(pod["spec"]["nodeName"] != "node-3" for pod in objects(cluster, "pods", "-l", "app=moving")))
    cluster.kubectl("delete", "deployment/moving", "pdb/moving")


def test_a_namespace_goes_with_all_that_is_in_it(cluster: LocalCluster) -> None:
    cluster.kubectl("create", "namespace", "team")
    cluster.kubectl("-n", "team", "create", "deployment", "web", "--image=app", "--replicas=3")
    cluster.kubectl("-n", "team", "create", "configmap", "settings", "--from-literal=a=b")
    cluster.kubectl("-n", "team", "rollout", "status", "deployment/web", "--timeout=30s")
    cluster.kubectl("delete", "namespace", "team", "--timeout=30s")
    with pytest.raises(KubectlError, match='namespaces "team" not found'):
        cluster.kubectl("get", "namespace", "team")


def test_what_is_not_there_is_said(cluster: LocalCluster) -> None:
    with pytest.raises(KubectlError, match="Metrics API not available"):
        cluster.kubectl("top", "nodes")
    assert "yes\n" == cluster.kubectl("auth", "can-i", "create", "pods")
    assert "replicas" in cluster.kubectl("explain", "deployment.spec")


def test_nothing_went_wrong_on_the_way(cluster: LocalCluster) -> None:
    cluster.check()
    logged = {name: cluster.log(name) for name in ("api-server", "simulation")}
    assert {"api-server": "", "simulation": ""} == logged
