"""Device selectors: what they say, what they cost, and the texts of what goes wrong.

The expectations were taken from the selector library of v1.36.4 itself.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.resource import Device, DeviceAttribute, DeviceCapacity
from stowplan.plugins.dynamic_resources.cel.selector import SelectorCache, SelectorError

DRIVER = "gpu.example.com"
GPU = Device(
    name="gpu-0",
    attributes={
        "model": DeviceAttribute(string_value="h100"),
        "index": DeviceAttribute(int_value=1),
        "net.example.com/rdma": DeviceAttribute(bool_value=True),
        "firmware": DeviceAttribute(version_value="1.2.3"),
    },
    capacity={"memory": DeviceCapacity(value="80Gi")},
)
OF = 'device.attributes["gpu.example.com"]'


@pytest.fixture(scope="module")
def cache() -> SelectorCache:
    return SelectorCache()


@pytest.mark.parametrize(
    ("expression", "cost", "want"),
    [
        pytest.param('device.driver == "gpu.example.com"', 4, True, id="the driver is a field"),
        pytest.param(f'{OF}.model == "h100"', 5, True, id="an attribute without domain is in that of the driver"),
        pytest.param('device.attributes["net.example.com"].rdma', 4, True, id="an attribute may be the result"),
        pytest.param(f'{OF}.model in ["a100", "h100"]', 4, True, id="membership in constants is free"),
        pytest.param(f"{OF}.index < 1.5", 5, True, id="numbers of different types are ordered"),
        pytest.param(f'{OF}.firmware.isGreaterThan(semver("1.2.0"))', 6, True, id="versions compare by precedence"),
        pytest.param(
            'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
            7,
            True,
            id="capacities are quantities",
        ),
        pytest.param('device.capacity["gpu.example.com"].memory == quantity("81920Mi")', 6, True, id="by amount"),
        pytest.param('"other.example.com" in device.attributes', 3, False, id="an unknown domain is not there"),
        pytest.param('device.attributes["other.example.com"].size() == 0', 5, True, id="but reads as empty"),
        pytest.param(f"has({OF}.model) && !has({OF}.nope)", 7, True, id="presence can be asked for"),
        pytest.param(f'{OF}.?nope.orValue("x") == "x"', 4, True, id="optional access has a default"),
        pytest.param(f'cel.bind(d, {OF}, d.model == "h100" && d.index == 1)', 9, True, id="a value can be bound"),
        pytest.param('cel.bind(d, device, d.driver.startsWith("gpu"))', 5, True, id="so can the device"),
        pytest.param("device.allowMultipleAllocations", 2, False, id="exclusive is the default"),
        pytest.param(f"{OF}.nope == 1 || device.driver.size() > 3", 9, True, id="a true side absorbs an error"),
        pytest.param("[1, 2, 3].exists_one(x, x == 2)", 10, True, id="a branch that is a variable is free"),
        pytest.param("[1, 2].all(i, v, v > i)", 13, True, id="two variables run over index and value"),
        pytest.param("[1,2,3,4].all(a, [1,2,3,4].all(b, a + b > 1))", 129, True, id="loops cost what they do"),
        pytest.param('"a1b22".findAll("[0-9]+") == ["1", "22"]', 3, True, id="regular expressions are searched"),
        pytest.param('cidr("10.0.0.0/8").containsIP("10.1.1.1")', 3, True, id="networks contain addresses"),
    ],
)
def test_evaluation(cache: SelectorCache, expression: str, cost: int, want: bool) -> None:
    got = cache.get(expression).evaluate(DRIVER, GPU)

    assert (want, cost) == (got.matches, got.cost)


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        pytest.param(f"{OF}.nope == 1", "no such key: nope", id="an attribute that is missing"),
        pytest.param('device.attributes["x"].y', "no such key: y", id="in a domain that is missing"),
        pytest.param(f"{OF}.model < 1", "no such overload", id="types that have no order"),
        pytest.param(f'{OF}.firmware == "1.2.3"', "no such overload", id="a version is no string"),
        pytest.param(
            f'{OF}.model.isGreaterThan(semver("1.0.0"))',
            "no such overload: isGreaterThan(string, kubernetes.Semver)",
            id="a string is no version",
        ),
        pytest.param(
            f"{OF}.model",
            "CEL result of type string could not be converted to bool: "
            "unsupported native conversion from string to 'bool'",
            id="a result that is no truth value",
        ),
        pytest.param('semver("1.2") == semver("1.2.0")', "No Major.Minor.Patch elements found", id="a short version"),
        pytest.param(
            'quantity("ten") == quantity("10")',
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="a text that is no quantity",
        ),
        pytest.param(f"{OF}.index / 0 == 1", "division by zero", id="a division by zero"),
        pytest.param("[1, 2][5] == 1", "index out of bounds: 5", id="an index beyond the list"),
        pytest.param(
            f'{OF}.model.matches({OF}.model + "(")',
            "error parsing regexp: missing closing ): `h100(`",
            id="a pattern that is none",
        ),
        pytest.param(
            "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, "
            "[0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, a >= 0))))))",
            "operation cancelled: actual cost limit exceeded",
            id="an expression that runs too long",
        ),
    ],
)
def test_what_fails_at_run_time(cache: SelectorCache, expression: str, want: str) -> None:
    selector = cache.get(expression)

    with pytest.raises(SelectorError) as failed:
        selector.matches(DRIVER, GPU)
    with pytest.raises(SelectorError) as again:
        selector.matches(DRIVER, GPU)

    assert want == str(failed.value) == str(again.value)


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        pytest.param(
            "foo == 1",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n"
            " | foo == 1\n | ^",
            id="an unknown name",
        ),
        pytest.param(
            "x.y.z == 1",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n"
            " | x.y.z == 1\n | ^",
            id="an unknown path is named by its root",
        ),
        pytest.param(
            "device.foo",
            "compilation failed: ERROR: <input>:1:7: undefined field 'foo'\n | device.foo\n | ......^",
            id="an unknown field",
        ),
        pytest.param(
            "device.driver.foo(",
            "compilation failed: ERROR: <input>:1:19: Syntax error: mismatched input '<EOF>' expecting "
            "{'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
            "BYTES, IDENTIFIER}\n | device.driver.foo(\n | ..................^",
            id="an expression that ends too early",
        ),
        pytest.param(
            "device.driver == 1",
            "compilation failed: ERROR: <input>:1:15: found no matching overload for '_==_' applied to "
            "'(string, int)'\n | device.driver == 1\n | ..............^",
            id="types that cannot be equal",
        ),
        pytest.param(
            "[1,2].contains(1)",
            "compilation failed: ERROR: <input>:1:15: found no matching overload for 'contains' applied to "
            "'list(int).(int)'\n | [1,2].contains(1)\n | ..............^",
            id="a member function of another type",
        ),
        pytest.param(
            '[1,"a"] == [1]',
            "compilation failed: ERROR: <input>:1:4: expected type 'int' but found 'string'\n"
            ' | [1,"a"] == [1]\n | ...^',
            id="a list of two types",
        ),
        pytest.param(
            '"a".matches("(")',
            'compilation failed: ERROR: <input>:1:13: invalid matches argument\n | "a".matches("(")\n | ............^',
            id="a constant that is no pattern",
        ),
        pytest.param(OF, "must evaluate to bool or the unknown type, not map(string, google.protobuf.Any)", id="a map"),
        pytest.param("1 + 1", "must evaluate to bool or the unknown type, not int", id="a number"),
        pytest.param(
            'int("x") == 1',
            "program instantiation failed: type conversion error from 'string' to 'int'",
            id="a constant that cannot be converted",
        ),
        pytest.param(
            'timestamp("2020-01-01T00:00:00Z") < timestamp("2021-01-01T00:00:00Z")',
            "compilation failed: the function timestamp is not supported in device selectors",
            id="what is not supported is said clearly",
        ),
        pytest.param(
            'url("http://x/").getHost() == "x"',
            "compilation failed: the function url is not supported in device selectors",
            id="also of the functions that Kubernetes adds",
        ),
    ],
)
def test_what_does_not_compile(cache: SelectorCache, expression: str, want: str) -> None:
    with pytest.raises(SelectorError) as failed:
        cache.get(expression)

    assert want == str(failed.value)


@pytest.mark.parametrize(
    ("attribute", "want"),
    [
        pytest.param(DeviceAttribute(), "attribute odd: unsupported attribute value", id="a value of an unknown kind"),
        pytest.param(
            DeviceAttribute(version_value="1.0"),
            "attribute odd: parse semantic version: No Major.Minor.Patch elements found",
            id="a version that is none",
        ),
    ],
)
def test_a_bad_attribute_fails_every_selector(cache: SelectorCache, attribute: DeviceAttribute, want: str) -> None:
    device = Device(name="d", attributes={"odd": attribute})

    with pytest.raises(SelectorError) as failed:
        cache.get("true").matches(DRIVER, device)

    assert want == str(failed.value)


@given(
    st.sampled_from(["a100", "h100", None]),
    st.one_of(st.none(), st.integers(0, 3)),
    st.sampled_from(["16Gi", "80Gi", None]),
    st.sampled_from(
        [
            f'{OF}.model == "h100"',
            f"has({OF}.index) && {OF}.index < 2",
            f"{OF}.index < 2",
            f"{OF}.exists(k, k == 'index')",
            'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) > 0',
            "device.capacity.size() == 1",
            'device.driver == "gpu.example.com"',
        ]
    ),
)
def test_sharing_evaluations_changes_no_answer(
    model: str | None, index: int | None, memory: str | None, expression: str
) -> None:
    attributes = {
        name: value
        for name, value in (
            ("model", None if model is None else DeviceAttribute(string_value=model)),
            ("gpu.example.com/index", None if index is None else DeviceAttribute(int_value=index)),
        )
        if value is not None
    }
    device = Device(attributes=attributes, capacity={"memory": DeviceCapacity(value=memory)} if memory else {})
    selector = SHARED.get(expression)

    def outcome(evaluate: object) -> object:
        try:
            return evaluate()  # type: ignore[operator]
        except SelectorError as error:
            return str(error)

    want = outcome(lambda: selector.evaluate(DRIVER, device).matches)

    assert want == outcome(lambda: selector.matches(DRIVER, device))


SHARED = SelectorCache()
