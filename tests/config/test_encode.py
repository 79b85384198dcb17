"""A configuration written out and read again is the same configuration."""

import pytest
import yaml

from stowplan.composition import DEFAULT_REGISTRY, NAMES_AND_WEIGHTS
from stowplan.config.encode import document_of, yaml_of
from stowplan.config.load import default_configuration, load_configuration
from stowplan.config.spec import SchedulerConfiguration

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FULL = """\
parallelism: 4
percentageOfNodesToScore: 30
leaderElection: {leaderElect: false, leaseDuration: 20s, renewDeadline: 15s500ms, resourceName: mine}
clientConnection: {kubeconfig: k, qps: 12.5, burst: 9}
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
delayCacheUntilActive: true
profiles:
- schedulerName: one
  percentageOfNodesToScore: 10
  plugins:
    multiPoint: {disabled: [{name: ImageLocality}]}
    score: {enabled: [{name: NodeAffinity, weight: 9}], disabled: [{name: NodeAffinity}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources: [example.com/gpu]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 3}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [a, b]}]}]
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 60}
  - name: DynamicResources
    args: {filterTimeout: 5s}
- schedulerName: two
extenders:
- urlPrefix: https://extender.example
  filterVerb: filter
  prioritizeVerb: score
  weight: 2
  enableHTTPS: true
  tlsConfig: {caData: YWJj, serverName: x}
  httpTimeout: 3s
  nodeCacheCapable: true
  ignorable: true
  managedResources: [{name: example.com/gpu, ignoredByScheduler: false}]
"""


def load(text: str) -> SchedulerConfiguration:
    """A configuration from its text."""
    return load_configuration(text.encode(), "test", DEFAULT_REGISTRY, NAMES_AND_WEIGHTS)


@pytest.mark.parametrize(
    "configuration",
    [
        pytest.param(default_configuration(DEFAULT_REGISTRY, NAMES_AND_WEIGHTS), id="the default one"),
        pytest.param(load(HEAD + FULL), id="one that sets everything"),
    ],
)
def test_round_trip(configuration: SchedulerConfiguration) -> None:
    assert configuration == load(yaml_of(configuration))


def test_the_default_one_spells_its_defaults_out() -> None:
    document = document_of(default_configuration(DEFAULT_REGISTRY, NAMES_AND_WEIGHTS))

    (profile,) = document["profiles"]
    args = {entry["name"]: entry["args"] for entry in profile["pluginConfig"]}
    # as kube-scheduler's own /configz says them
    assert {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "DefaultPreemptionArgs",
        "minCandidateNodesPercentage": 10,
        "minCandidateNodesAbsolute": 100,
    } == args["DefaultPreemption"]
    assert ("10s", "10m0s") == (args["DynamicResources"]["filterTimeout"], args["DynamicResources"]["bindingTimeout"])
    want = {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
    assert want == args["NodeResourcesFit"]["scoringStrategy"]
    assert {"name": "TaintToleration", "weight": 3} in profile["plugins"]["score"]["enabled"]
    assert "15s" == document["leaderElection"]["leaseDuration"]
    assert document == yaml.safe_load(yaml.safe_dump(document))
