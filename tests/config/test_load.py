"""Whole files: what they give, and how they fail."""

import json
from dataclasses import replace

import pytest

from stowplan.api.affinity import TopologySpreadConstraint
from stowplan.config.errors import ConfigError
from stowplan.config.load import default_configuration, load_configuration
from stowplan.config.spec import (
    SECOND_NS,
    ClientConnection,
    ExtenderSpec,
    ExtenderTls,
    LeaderElection,
    ManagedResource,
)
from stowplan.framework.plugin_args import (
    CPU_AND_MEMORY,
    FULL_WHEN_EMPTY,
    LIST_DEFAULTING,
    MOST_ALLOCATED,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    VolumeBindingArgs,
)
from tests.config.catalog import CATALOG, HEAD, ORDER, TypedArgs, load, only_profile

V1 = "kubescheduler.config.k8s.io/v1"


def fault(text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        load_configuration(text.encode(), "sched.yaml", CATALOG, ORDER)
    return str(raised.value)


def test_no_file_and_an_empty_configuration_are_the_same() -> None:
    want = default_configuration(CATALOG, ORDER)
    got = load("")

    assert want == got
    assert ["default-scheduler"] == [profile.scheduler_name for profile in got.profiles]
    assert (16, 1, 10) == (got.parallelism, got.pod_initial_backoff_seconds, got.pod_max_backoff_seconds)
    assert LeaderElection() == got.leader_election
    assert ClientConnection(qps=50.0, burst=100) == got.client_connection
    assert got.percentage_of_nodes_to_score is None


def test_json_and_yaml_say_the_same() -> None:
    values = {
        "apiVersion": V1,
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": "a", "plugins": {"score": {"enabled": [{"name": "Custom", "weight": 5}]}}},
            {
                "schedulerName": "b",
                "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 4}}],
            },
        ],
    }
    yaml_text = (
        f"apiVersion: {V1}\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- schedulerName: a\n  plugins:\n    score:\n      enabled:\n      - name: Custom\n        weight: 5\n"
        "- schedulerName: b\n  pluginConfig:\n  - name: InterPodAffinity\n    args:\n      hardPodAffinityWeight: 4\n"
    )

    want = load_configuration(yaml_text.encode(), "a.yaml", CATALOG, ORDER)
    assert want == load_configuration(json.dumps(values).encode(), "a.json", CATALOG, ORDER)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "sched.yaml: Object 'Kind' is missing", id="an empty file"),
        pytest.param(
            "kind: KubeSchedulerConfiguration", "sched.yaml: Object 'apiVersion' is missing", id="no apiVersion"
        ),
        pytest.param(
            "- a", "sched.yaml: couldn't get version/kind; json parse error: want an object, got array", id="a list"
        ),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
            'sched.yaml: no kind "KubeSchedulerConfiguration" is registered for version '
            '"kubescheduler.config.k8s.io/v1beta3": v1beta3 was removed from Kubernetes, '
            'write "apiVersion: kubescheduler.config.k8s.io/v1"',
            id="an older version",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod",
            'sched.yaml: no kind "Pod" is registered for version "v1"',
            id="something else altogether",
        ),
        pytest.param(
            f"apiVersion: {V1}\nkind: InterPodAffinityArgs",
            f"sched.yaml: couldn't decode as KubeSchedulerConfiguration, got {V1}, Kind=InterPodAffinityArgs",
            id="arguments alone",
        ),
        pytest.param(
            f"{HEAD}foo: 1\nparallelism: 1\nparallelism: 2\n",
            'sched.yaml: strict decoding error: yaml: unmarshal errors: line 5: key "parallelism" already set in map, '
            'unknown field "foo"',
            id="a key twice and an unknown field",
        ),
        pytest.param(
            f"{HEAD}profiles:\n- plugins:\n    score: {{enabled: [{{name: Nope}}]}}\n",
            "sched.yaml: initializing profiles: creating profile for scheduler name default-scheduler: "
            'ScorePlugin "Nope" does not exist',
            id="an unknown plugin",
        ),
        pytest.param(
            f"{HEAD}a: b: c\n",
            "sched.yaml: yaml: line 3: mapping values are not allowed in this context",
            id="not YAML",
        ),
        pytest.param(
            f"{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: b, plugins: "
            "{multiPoint: {enabled: [{name: Fifo}], disabled: [{name: PrioritySort}]}}}]",
            'sched.yaml: initializing profiles: different queue sort plugins for profile "b": "Fifo", '
            'first: "PrioritySort"',
            id="a queue sort of its own through multiPoint",
        ),
    ],
)
def test_files_that_cannot_be_used(text: str, want: str) -> None:
    assert want == fault(text)


@pytest.mark.parametrize(
    ("entry", "want"),
    [
        pytest.param(
            "{name: InterPodAffinity, args: {foo: 1, bar: 2}}",
            "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for "
            'plugin InterPodAffinity: strict decoding error: unknown field "bar", unknown field "foo"',
            id="unknown fields",
        ),
        pytest.param(
            "{name: InterPodAffinity, args: {hardPodAffinityWeight: x}}",
            "decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: json: cannot unmarshal "
            "string into Go struct field InterPodAffinityArgs.hardPodAffinityWeight of type int32 "
            "(at profiles[0].pluginConfig[0].args.hardPodAffinityWeight)",
            id="a wrong type",
        ),
        pytest.param(
            f"{{name: InterPodAffinity, args: {{apiVersion: {V1}, kind: NodeAffinityArgs}}}}",
            "decoding .profiles[0].pluginConfig[0]: args for plugin InterPodAffinity were not of type "
            "InterPodAffinityArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io",
            id="arguments of another plugin",
        ),
        pytest.param(
            "{name: InterPodAffinity, args: {apiVersion: kubescheduler.config.k8s.io/v1beta2}}",
            "decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: no kind "
            '"InterPodAffinityArgs" is registered for version "kubescheduler.config.k8s.io/v1beta2"',
            id="arguments of an older version",
        ),
    ],
)
def test_arguments_that_cannot_be_read(entry: str, want: str) -> None:
    assert f"sched.yaml: {want}" == fault(f"{HEAD}profiles: [{{pluginConfig: [{entry}]}}]")


@pytest.mark.parametrize(
    ("plugin", "args", "want"),
    [
        pytest.param("InterPodAffinity", "null", InterPodAffinityArgs(), id="null is the default"),
        pytest.param(
            "InterPodAffinity",
            "{hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}",
            InterPodAffinityArgs(hard_pod_affinity_weight=0, ignore_preferred_terms_of_existing_pods=True),
            id="zero is no default",
        ),
        pytest.param(
            "DefaultPreemption",
            "{minCandidateNodesAbsolute: 5}",
            DefaultPreemptionArgs(min_candidate_nodes_percentage=10, min_candidate_nodes_absolute=5),
            id="the other field keeps its default",
        ),
        pytest.param(
            "NodeResourcesFit",
            "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}, {name: a.b/c}]}}",
            NodeResourcesFitArgs(
                scoring_strategy=ScoringStrategy(
                    type=MOST_ALLOCATED, resources=(ResourceSpec(name="cpu", weight=3), ResourceSpec(name="a.b/c"))
                )
            ),
            id="a weight that is not given is one",
        ),
        pytest.param(
            "NodeResourcesFit",
            "{ignoredResources: [a.b/c], scoringStrategy: {type: MostAllocated}}",
            NodeResourcesFitArgs(
                ignored_resources=("a.b/c",),
                scoring_strategy=ScoringStrategy(type=MOST_ALLOCATED, resources=CPU_AND_MEMORY),
            ),
            id="a strategy without resources looks at cpu and memory",
        ),
        pytest.param(
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 2, topologyKey: z, whenUnsatisfiable: "
            "DoNotSchedule, minDomains: 3}]}",
            PodTopologySpreadArgs(
                defaulting_type=LIST_DEFAULTING,
                default_constraints=(
                    TopologySpreadConstraint(
                        max_skew=2, topology_key="z", when_unsatisfiable="DoNotSchedule", min_domains=3
                    ),
                ),
            ),
            id="constraints of one's own",
        ),
        pytest.param("NodeAffinity", "{}", NodeAffinityArgs(), id="no added affinity"),
        pytest.param(
            "DynamicResources",
            "{filterTimeout: 0s, bindingTimeout: 1m}",
            DynamicResourcesArgs(filter_timeout_ns=0, binding_timeout_ns=60 * SECOND_NS),
            id="a timeout of zero is none",
        ),
    ],
)
def test_arguments_become_records(plugin: str, args: str, want: object) -> None:
    profile = only_profile(f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]")

    assert want == profile.args[plugin]


def test_gates_change_default_arguments() -> None:
    gates = {"StorageCapacityScoring": True, "DRASchedulerFilterTimeout": False, "DRAResourceClaimDeviceStatus": False}
    profile = only_profile("profiles: [{plugins: {filter: {enabled: [{name: VolumeBinding}]}}}]", gates)

    assert VolumeBindingArgs(shape=FULL_WHEN_EMPTY) == profile.args["VolumeBinding"]
    assert DynamicResourcesArgs(filter_timeout_ns=None, binding_timeout_ns=None) == profile.args["DynamicResources"]


def test_arguments_of_third_parties_become_their_record_or_stay_as_written() -> None:
    profile = only_profile(
        "profiles: [{plugins: {filter: {enabled: [{name: Typed}, {name: Custom}]}}, pluginConfig: "
        "[{name: Typed, args: {maxPods: 3, zones: [a]}}, {name: Custom, args: {a: [1, 0.5, yes]}}, "
        "{name: Elsewhere, args: {}}]}]"
    )

    assert TypedArgs(max_pods=3, zones=("a",)) == profile.args["Typed"]
    assert {"a": [1, 0.5, True]} == profile.args["Custom"]
    assert "Elsewhere" not in profile.args


@pytest.mark.parametrize(
    ("args", "want"),
    [
        pytest.param("{maxPods: many}", ".pluginConfig[0].args.maxPods: Expected `int`, got `str`", id="a wrong type"),
        pytest.param(
            "{maxPods: 1, zone: a}",
            ".pluginConfig[0].args: Object contains unknown field `zone`",
            id="an unknown field",
        ),
        pytest.param("{}", ".pluginConfig[0].args: Object missing required field `maxPods`", id="a missing field"),
    ],
)
def test_arguments_of_third_parties_are_checked_by_their_record(args: str, want: str) -> None:
    text = f"plugins: {{filter: {{enabled: [{{name: Typed}}]}}}}, pluginConfig: [{{name: Typed, args: {args}}}]"

    assert (
        "sched.yaml: initializing profiles: creating profile for scheduler name default-scheduler: "
        f'initializing plugin "Typed": profiles[0]{want}'
    ) == fault(f"{HEAD}profiles: [{{{text}}}]")


def test_what_the_command_line_says_of_leader_election_wins_and_is_judged() -> None:
    data = f"{HEAD}leaderElection: {{leaseDuration: 5s, renewDeadline: 9s}}\n".encode()

    configuration = load_configuration(
        data,
        "sched.yaml",
        CATALOG,
        ORDER,
        adjust_leader_election=lambda election: replace(election, leader_elect=False),
    )

    assert LeaderElection(leader_elect=False, lease_duration_ns=5 * SECOND_NS, renew_deadline_ns=9 * SECOND_NS) == (
        configuration.leader_election
    )
    with pytest.raises(ConfigError, match="leaseDuration"):
        load_configuration(data, "sched.yaml", CATALOG, ORDER, adjust_leader_election=lambda election: election)


def test_an_extender_with_everything() -> None:
    (extender,) = load(
        "extenders: [{urlPrefix: 'https://x/', filterVerb: f, preemptVerb: p, prioritizeVerb: s, weight: 5, "
        "bindVerb: b, enableHTTPS: true, tlsConfig: {serverName: x, caData: YWJj, certFile: /c, keyFile: /k}, "
        "httpTimeout: 1.5s, nodeCacheCapable: true, ignorable: true, managedResources: [{name: a.b/c}]}]"
    ).extenders

    want = ExtenderSpec(
        url_prefix="https://x/",
        filter_verb="f",
        preempt_verb="p",
        prioritize_verb="s",
        weight=5,
        bind_verb="b",
        enable_https=True,
        tls=ExtenderTls(server_name="x", ca_data=b"abc", cert_file="/c", key_file="/k"),
        http_timeout_ns=1_500_000_000,
        node_cache_capable=True,
        managed_resources=(ManagedResource(name="a.b/c"),),
        ignorable=True,
    )
    assert want == extender
    assert extender.verifies_server


def test_extenders_that_may_be_ignored_are_asked_last() -> None:
    configuration = load("extenders: [{urlPrefix: a, ignorable: true}, {urlPrefix: b}, {urlPrefix: c}]")

    assert ["b", "c", "a"] == [extender.url_prefix for extender in configuration.extenders]
    assert {5 * SECOND_NS} == {extender.http_timeout_ns for extender in configuration.extenders}


def test_resources_an_extender_takes_over_are_ignored_by_the_fit_filter() -> None:
    (profile,) = load(
        "extenders: [{managedResources: [{name: a.b/c, ignoredByScheduler: true}, {name: a.b/d}]}]\n"
        "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [x.y/z]}}]}]"
    ).profiles

    assert NodeResourcesFitArgs(ignored_resources=("a.b/c",)) == profile.args["NodeResourcesFit"]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "extenders: [{managedResources: [{name: a.b/c, ignoredByScheduler: true}]}]\n"
            "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]",
            "can't find NodeResourcesFitArgs in plugin config",
            id="nobody there to ignore a resource",
        ),
        pytest.param(
            "extenders: [{tlsConfig: {insecure: true, caData: YWJj}}]",
            "specifying a root certificates file with the insecure flag is not allowed",
            id="a root that would not be used",
        ),
    ],
)
def test_extenders_that_cannot_be_made(text: str, want: str) -> None:
    assert f"sched.yaml: couldn't build extenders: {want}" == fault(f"{HEAD}{text}")


def test_contention_profiling_follows_profiling() -> None:
    assert not load("enableProfiling: false").enable_contention_profiling
    assert load("enableProfiling: false\nenableContentionProfiling: true").enable_contention_profiling


def test_a_percentage_that_is_said_differs_from_none() -> None:
    configuration = load("percentageOfNodesToScore: 0\nprofiles: [{percentageOfNodesToScore: 30}]")

    assert 0 == configuration.percentage_of_nodes_to_score
    assert 30 == configuration.profiles[0].percentage_of_nodes_to_score
