"""Whatever a file holds, the answer is a configuration or one line that names the file."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.config.errors import ConfigError
from stowplan.config.load import load_configuration
from stowplan.config.schema_v1 import API_VERSION, CONFIGURATION
from stowplan.config.spec import SchedulerConfiguration
from tests.config.catalog import CATALOG, HEAD, ORDER


def answer_to(data: bytes) -> SchedulerConfiguration | str:
    try:
        return load_configuration(data, "sched.yaml", CATALOG, ORDER)
    except ConfigError as error:
        return str(error)


FIELDS = st.sampled_from(sorted({*CONFIGURATION.fields, "plugins", "pluginConfig", "score", "enabled", "name", "args"}))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "5s", "Custom", "*"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(FIELDS, inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(FIELDS, VALUES, max_size=4))
def test_whatever_the_file_says_the_answer_is_a_configuration_or_one_line(values: dict[str, object]) -> None:
    data = json.dumps(
        {**values, "apiVersion": API_VERSION, "kind": "KubeSchedulerConfiguration"}, allow_nan=False
    ).encode()
    answer = answer_to(data)

    assert isinstance(answer, SchedulerConfiguration) or answer.startswith("sched.yaml: ")
    assert isinstance(answer, SchedulerConfiguration) or "\n" not in answer


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_bytes_that_are_no_configuration_give_one_line(data: bytes) -> None:
    answer = answer_to(data)

    assert isinstance(answer, str)
    assert "\n" not in answer


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param('{"a":' * 100_000, "json parse error", id="JSON nested without end"),
        pytest.param(
            "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 1}]\n" for n in range(9)),
            "yaml: document contains excessive aliasing",
            id="aliases that multiply",
        ),
        pytest.param(f"parallelism: {'9' * 5000}", "cannot unmarshal", id="a number of 5000 digits"),
        pytest.param(f"parallelism: 1{'0' * 400}", "cannot unmarshal", id="a number beyond floating point"),
    ],
)
def test_attacks(text: str, want: str) -> None:
    answer = answer_to((text if text.startswith("{") else HEAD + text).encode())

    assert isinstance(answer, str)
    assert want in answer
