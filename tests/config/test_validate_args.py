"""Faults of the in-tree plugins' arguments, in upstream's words."""

import pytest

from stowplan.config.errors import ConfigError
from tests.config.catalog import load

ARGS = "profiles[0].pluginConfig[0].args"
MADE = (
    "initializing profiles: creating profile for scheduler name default-scheduler: "
    'initializing plugin "NodeResourcesFit"'
)


def fault(plugin: str, args: str, gates: dict[str, bool] | None = None) -> str:
    with pytest.raises(ConfigError) as raised:
        load(f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]", gates)
    return raised.value.text


@pytest.mark.parametrize(
    ("plugin", "args", "want"),
    [
        pytest.param(
            "InterPodAffinity",
            "{hardPodAffinityWeight: 101}",
            f"{ARGS}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
            id="a weight out of range",
        ),
        pytest.param(
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            f"[{ARGS}.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
            f"minCandidateNodesAbsolute, {ARGS}.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the "
            "same time as minCandidateNodesPercentage]",
            id="no candidates",
        ),
        pytest.param(
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}",
            f"[{ARGS}.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100], "
            f"{ARGS}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)]",
            id="candidates out of range",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            "{resources: [{name: cpu}, {name: cpu, weight: 2}]}",
            f'[{ARGS}.resources[1].name: Duplicate value: "cpu", '
            f"{ARGS}.resources[1].weight: Invalid value: 2: must be 1]",
            id="a resource twice, a weight",
        ),
        pytest.param(
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}",
            f'{ARGS}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
            id="constraints beside the system's",
        ),
        pytest.param(
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 0}]}",
            f"[{ARGS}.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf), "
            f"{ARGS}.defaultConstraints[0].topologyKey: Required value: can not be empty, "
            f"{ARGS}.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty]",
            id="an empty constraint",
        ),
        pytest.param(
            "PodTopologySpread",
            "{defaultingType: Foo, defaultConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: Stop}, "
            "{maxSkew: 2, topologyKey: z, whenUnsatisfiable: Stop, labelSelector: {}}]}",
            f'[{ARGS}.defaultingType: Unsupported value: "Foo": supported values: "System", "List", '
            f'{ARGS}.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Stop": supported values: '
            f'"DoNotSchedule", "ScheduleAnyway", {ARGS}.defaultConstraints[1].whenUnsatisfiable: Unsupported value: '
            f'"Stop": supported values: "DoNotSchedule", "ScheduleAnyway", {ARGS}.defaultConstraints[1].labelSelector: '
            "Forbidden: constraint must not define a selector, as they deduced for each pod, "
            f'{ARGS}.defaultConstraints[1]: Duplicate value: "{{z, Stop}}"]',
            id="unknown words, a selector, the same constraint again",
        ),
        pytest.param(
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{}, {matchExpressions: [{key: a, operator: Near}]}]}}}",
            f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1]"
            '.matchExpressions[0].operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", '
            '"DoesNotExist", "Gt", "Lt"',
            id="an unknown operator",
        ),
        pytest.param(
            "NodeAffinity",
            "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
            "[{weight: 0, preference: {matchExpressions: [{key: a, operator: Near}]}}, "
            "{weight: 1, preference: {matchFields: [{key: metadata.name, operator: In, values: [a, b]}]}}]}}",
            f"{ARGS}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].matchFields[0].values: "
            'Invalid value: ["a","b"]: must have one element',
            id="a preference without weight is not looked at",
        ),
        pytest.param(
            "VolumeBinding",
            "{bindTimeoutSeconds: -1, shape: [{utilization: 0, score: 1}]}",
            f"[{ARGS}.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative "
            f'value, {ARGS}.shape: Invalid value: [{{"Utilization":0,"Score":1}}]: unexpected field `shape`, remove it '
            "or turn on the feature gate StorageCapacityScoring]",
            id="a shape without its gate",
        ),
        pytest.param(
            "DynamicResources",
            "{filterTimeout: -1s, bindingTimeout: 500ms}",
            f'[{ARGS}.filterTimeout: Invalid value: "-1s": must be zero or positive, '
            f'{ARGS}.bindingTimeout: Invalid value: "500ms": must be at least 1 second]',
            id="time limits out of range",
        ),
    ],
)
def test_faults_found_with_the_configuration(plugin: str, args: str, want: str) -> None:
    assert want == fault(plugin, args)


@pytest.mark.parametrize(
    ("args", "want"),
    [
        pytest.param(
            "{scoringStrategy: {}}",
            'scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", '
            '"RequestedToCapacityRatio"',
            id="a strategy needs its type",
        ),
        pytest.param(
            "{scoringStrategy: {type: RequestedToCapacityRatio}}",
            "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
            "RequestedToCapacityRatio",
            id="a ratio needs its shape",
        ),
        pytest.param(
            "{scoringStrategy: {type: MostAllocated, requestedToCapacityRatio: {}}}",
            "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not "
            "RequestedToCapacityRatio",
            id="a shape needs its type",
        ),
        pytest.param(
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: "
            "[{utilization: 50, score: 11}, {utilization: 50, score: 0}]}}}",
            "[scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 50: values must be sorted "
            "in increasing order, scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in "
            "valid range [0, 10]]",
            id="a shape that stands still",
        ),
        pytest.param(
            "{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 101}]}}",
            "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range "
            "(0, 100]",
            id="a weight out of range",
        ),
        pytest.param(
            "{ignoredResourceGroups: [a/b]}",
            "ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'",
            id="a resource for a group",
        ),
    ],
)
def test_faults_found_when_the_plugin_is_made(args: str, want: str) -> None:
    assert f"{MADE}: {want}" == fault("NodeResourcesFit", args)


def test_arguments_of_a_plugin_that_is_off_are_not_tried() -> None:
    text = "{multiPoint: {disabled: [{name: NodeResourcesFit}]}}"
    args = "[{name: NodeResourcesFit, args: {scoringStrategy: {type: Foo}}}]"

    (profile,) = load(f"profiles: [{{plugins: {text}, pluginConfig: {args}}}]").profiles

    assert "NodeResourcesFit" not in profile.args


@pytest.mark.parametrize(
    ("plugin", "args", "gate", "want"),
    [
        pytest.param(
            "VolumeBinding",
            "{shape: [{utilization: 101, score: 0}]}",
            {"StorageCapacityScoring": True},
            f"{ARGS}.shape[0].utilization: Invalid value: 101: not in valid range [0, 100]",
            id="with its gate a shape is judged",
        ),
        pytest.param(
            "DynamicResources",
            "{filterTimeout: 1s}",
            {"DRASchedulerFilterTimeout": False},
            f"{ARGS}.filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled",
            id="without its gate there is no filter timeout",
        ),
        pytest.param(
            "DynamicResources",
            "{bindingTimeout: 1s}",
            {"DRADeviceBindingConditions": False},
            f"{ARGS}.bindingTimeout: Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature "
            "gate is disabled",
            id="without its gates there is no binding timeout",
        ),
    ],
)
def test_gates(plugin: str, args: str, gate: dict[str, bool], want: str) -> None:
    assert want == fault(plugin, args, gate)
