"""Faults of a configuration as a whole: all are found, in upstream's words."""

import pytest

from stowplan.config.errors import ConfigError
from tests.config.catalog import load


def fault(text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        load(text)
    return raised.value.text


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "parallelism: 0",
            "parallelism: Invalid value: 0: should be an integer value greater than zero",
            id="nothing in parallel",
        ),
        pytest.param(
            "percentageOfNodesToScore: 101\nprofiles: [{percentageOfNodesToScore: -1}]",
            "[profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100], "
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]]",
            id="percentages out of range, both places",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 0\npodMaxBackoffSeconds: -1",
            "[podInitialBackoffSeconds: Invalid value: 0: must be greater than 0, podMaxBackoffSeconds: "
            "Invalid value: -1: must be greater than or equal to PodInitialBackoffSeconds]",
            id="no backoff",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 30",
            "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
            id="a longer first backoff than the longest by default",
        ),
        pytest.param(
            "clientConnection: {burst: -1}",
            "clientConnection.burst: Invalid value: -1: must be non-negative",
            id="a negative burst",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 5s, renewDeadline: 5s}",
            'leaderElection.leaseDuration: Invalid value: "5s": must be greater than `RenewDeadline`',
            id="a lease no longer than its renewal",
        ),
        pytest.param(
            "leaderElection: {retryPeriod: -2s, resourceLock: endpoints}",
            '[leaderElection.retryPeriod: Invalid value: "-2s": must be greater than zero, '
            'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"]',
            id="a lock of another kind",
        ),
    ],
)
def test_settings(text: str, want: str) -> None:
    assert want == fault(text)


def test_a_leader_election_that_is_off_is_not_judged() -> None:
    configuration = load("leaderElection: {leaderElect: false, leaseDuration: -5s, resourceLock: endpoints}")

    assert not configuration.leader_election.leader_elect


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "profiles: [{}, {}]",
            "[profiles[0].schedulerName: Required value, profiles[1].schedulerName: Required value, "
            "profiles[1].schedulerName: Duplicate value: {}]",
            id="several profiles need names",
        ),
        pytest.param(
            "profiles: [{schedulerName: a}, {schedulerName: a}]",
            "profiles[1].schedulerName: Duplicate value: {}",
            id="names must differ",
        ),
        pytest.param(
            "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]",
            'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1" '
            '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
            id="a plugin that was removed",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: CinderLimits}]}]",
            'profiles[0].pluginConfig[0]: Invalid value: "CinderLimits": was invalid in version "v1" '
            '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
            id="arguments for a plugin that was removed",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: Custom}, {name: Custom}]}]",
            'profiles[0].pluginConfig[1]: Duplicate value: "Custom"',
            id="arguments twice",
        ),
        pytest.param(
            "profiles: [{plugins: {queueSort: {enabled: [{name: Fifo}, {name: PrioritySort}]}}}]",
            "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
            id="two queue sorts",
        ),
        pytest.param(
            "profiles: [{schedulerName: a}, {schedulerName: b, "
            "plugins: {queueSort: {enabled: [{name: Fifo}], disabled: [{name: PrioritySort}]}}}]",
            'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"Fifo","Weight":0}],'
            '"Disabled":[{"Name":"PrioritySort","Weight":0}]}: must be the same for all profiles',
            id="a queue sort of its own",
        ),
    ],
)
def test_profiles(text: str, want: str) -> None:
    assert want == fault(text)


def test_queue_sort_arguments_must_be_the_same_for_all_profiles() -> None:
    sort = "plugins: {queueSort: {enabled: [{name: Fifo}], disabled: [{name: '*'}]}}"
    text = "".join(
        f"- {{schedulerName: {name}, {sort}, pluginConfig: [{{name: Fifo, args: {{a: {value}}}}}]}}\n"
        for name, value in (("a", 1), ("b", "'<2>'"))
    )

    value = '{"a":"\\u003c2\\u003e"}'
    want = f"profiles[1].pluginConfig.args: Invalid value: {value}: queueSort must be the same for all profiles"
    assert want == fault(f"profiles:\n{text}")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "[{prioritizeVerb: p}]",
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
            id="a score without a weight",
        ),
        pytest.param(
            "[{bindVerb: b}, {bindVerb: b}]",
            'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
            id="two binders",
        ),
        pytest.param(
            "[{managedResources: [{name: cpu}]}]",
            'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
            id="a resource of the scheduler's own",
        ),
        pytest.param(
            "[{managedResources: [{name: a.b/c}]}, {managedResources: [{name: a.b/c}]}]",
            'extenders[1].managedResources[0].name: Invalid value: "a.b/c": duplicate extender managed resource name',
            id="a resource of two extenders",
        ),
    ],
)
def test_extenders(text: str, want: str) -> None:
    assert want == fault(f"extenders: {text}")
