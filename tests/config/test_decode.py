"""Strict decoding: unknown and repeated fields are all noted, wrong types are refused."""

import pytest

from stowplan.config.decode import decode
from stowplan.config.document import read_document
from stowplan.config.errors import DecodeError
from stowplan.config.schema_v1 import CONFIGURATION


def decoded(text: str) -> tuple[dict[str, object], list[str]]:
    return decode(read_document(text.encode()).tree, CONFIGURATION)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("foo: 1", ['unknown field "foo"'], id="at the top"),
        pytest.param("Parallelism: 1", ['unknown field "Parallelism"'], id="case counts"),
        pytest.param(
            "profiles: [{}, {plugins: {score: {enabled: [{name: A, wait: 1}], x: 1}, foo: {}}}]",
            [
                'unknown field "profiles[1].plugins.foo"',
                'unknown field "profiles[1].plugins.score.enabled[0].wait"',
                'unknown field "profiles[1].plugins.score.x"',
            ],
            id="everywhere, sorted by key as upstream's JSON is",
        ),
        pytest.param(
            '{"parallelism": 1, "parallelism": 2, "x": 1}',
            ['duplicate field "parallelism"', 'unknown field "x"'],
            id="a repeated field in JSON",
        ),
        pytest.param("profiles: [{pluginConfig: [{args: {any: thing}}]}]", [], id="arguments are not looked into"),
        pytest.param("healthzBindAddress: ''", ['unknown field "healthzBindAddress"'], id="a field v1 no longer has"),
    ],
)
def test_strict_errors(text: str, want: list[str]) -> None:
    assert want == decoded(text)[1]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            'parallelism: "3"',
            "json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.parallelism of type int32 "
            "(at parallelism)",
            id="text for a number",
        ),
        pytest.param(
            "parallelism: 3.5",
            "json: cannot unmarshal number 3.5 into Go struct field KubeSchedulerConfiguration.parallelism of type "
            "int32 (at parallelism)",
            id="a fraction for an integer",
        ),
        pytest.param(
            "parallelism: 2147483648",
            "json: cannot unmarshal number 2147483648 into Go struct field KubeSchedulerConfiguration.parallelism of "
            "type int32 (at parallelism)",
            id="a number that is too large",
        ),
        pytest.param(
            "profiles: [{}, {plugins: {score: {enabled: [{name: A}, {weight: x}]}}}]",
            "json: cannot unmarshal string into Go struct field Plugin.profiles.plugins.score.enabled.weight of type "
            "int32 (at profiles[1].plugins.score.enabled[1].weight)",
            id="deep within lists the place has the positions",
        ),
        pytest.param(
            "profiles: {}",
            "json: cannot unmarshal object into Go struct field KubeSchedulerConfiguration.profiles of type "
            "[]v1.KubeSchedulerProfile (at profiles)",
            id="an object for a list",
        ),
        pytest.param(
            "profiles: [{schedulerName: yes}]",
            "json: cannot unmarshal bool into Go struct field KubeSchedulerProfile.profiles.schedulerName of type "
            "string (at profiles[0].schedulerName)",
            id="YAML takes yes for a boolean",
        ),
        pytest.param(
            "clientConnection: {qps: 1e60}",
            "json: cannot unmarshal number 1e+60 into Go struct field "
            "ClientConnectionConfiguration.clientConnection.qps of type float32 (at clientConnection.qps)",
            id="a number beyond single precision",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 5}",
            "json: cannot unmarshal number into Go struct field "
            "LeaderElectionConfiguration.leaderElection.leaseDuration of type string (at leaderElection.leaseDuration)",
            id="a duration is text",
        ),
        pytest.param(
            "delayCacheUntilActive: 5\nleaderElection: {leaseDuration: 5x}",
            'time: unknown unit "x" in duration "5x" (at leaderElection.leaseDuration)',
            id="a malformed duration comes before wrong types",
        ),
        pytest.param(
            "extenders: [{tlsConfig: {caData: 'YW!j'}}]",
            "illegal base64 data at input byte 2 (at extenders[0].tlsConfig.caData)",
            id="what is not base64",
        ),
    ],
)
def test_wrong_types(text: str, want: str) -> None:
    with pytest.raises(DecodeError) as raised:
        decoded(text)

    assert want == str(raised.value)


def test_null_leaves_fields_unset_and_elements_empty() -> None:
    values, strict = decoded("parallelism: null\nprofiles: [null, {schedulerName: null}]\nextenders: null\n")

    assert {"profiles": ({}, {})} == values
    assert [] == strict
