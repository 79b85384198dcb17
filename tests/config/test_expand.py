"""Which plugins run at which point, in which order, with which weight."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.config.catalog import EXTENSION_POINTS
from stowplan.config.decode import decode
from stowplan.config.document import read_document
from stowplan.config.errors import PluginsError
from stowplan.config.expand import expand_points
from stowplan.config.plugin_sets import merge_with_defaults
from stowplan.config.schema_v1 import CONFIGURATION
from tests.config.catalog import CATALOG, ORDER, POINTS, names, only_profile, weights


def plugins(text: str) -> str:
    return f"profiles:\n- plugins: {text}\n"


DEFAULT_FILTERS = [
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("{}", DEFAULT_FILTERS, id="the defaults, in their order"),
        pytest.param(
            "{filter: {enabled: [{name: Custom}]}}", [*DEFAULT_FILTERS, "Custom"], id="an added plugin comes last"
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: Custom}]}, filter: {enabled: [{name: Other}]}}",
            [*DEFAULT_FILTERS, "Custom", "Other"],
            id="one added at multiPoint comes before one added at the point",
        ),
        pytest.param(
            "{filter: {enabled: [{name: InterPodAffinity}, {name: Custom}, {name: NodeName}]}}",
            ["InterPodAffinity", "NodeName", *DEFAULT_FILTERS[1:5], "DynamicResources", "Custom"],
            id="a default plugin named at the point moves to the front",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: InterPodAffinity}]}}",
            DEFAULT_FILTERS,
            id="a default plugin named at multiPoint keeps its place",
        ),
        pytest.param("{filter: {disabled: [{name: NodeName}]}}", DEFAULT_FILTERS[1:], id="disabled at the point only"),
        pytest.param(
            "{filter: {disabled: [{name: '*'}], enabled: [{name: Custom}, {name: NodeName}]}}",
            ["Custom", "NodeName"],
            id="with all disabled only what is named is left",
        ),
        pytest.param(
            "{filter: {disabled: [{name: NodeName}], enabled: [{name: NodeName}]}}",
            [*DEFAULT_FILTERS[1:], "NodeName"],
            id="disabled and enabled again it comes last",
        ),
        pytest.param(
            "{multiPoint: {disabled: [{name: '*'}], enabled: "
            "[{name: PrioritySort}, {name: DefaultBinder}, {name: Custom}, {name: NodeName}]}}",
            ["Custom", "NodeName"],
            id="all defaults replaced",
        ),
        pytest.param(
            "{multiPoint: {disabled: [{name: Nope}]}}", DEFAULT_FILTERS, id="disabling what is not there does nothing"
        ),
    ],
)
def test_order_of_filters(text: str, want: list[str]) -> None:
    assert want == names(only_profile(plugins(text)), "filter")


DEFAULT_WEIGHTS = [
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("ImageLocality", 1),
]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("{}", DEFAULT_WEIGHTS, id="the defaults"),
        pytest.param(
            "{multiPoint: {enabled: [{name: TaintToleration, weight: 7}]}}",
            [("TaintToleration", 7), *DEFAULT_WEIGHTS[1:]],
            id="a weight at multiPoint replaces the default one",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: ImageLocality, weight: 7}]}, "
            "score: {enabled: [{name: ImageLocality, weight: 9}]}}",
            [("ImageLocality", 9), *DEFAULT_WEIGHTS[:-1]],
            id="a weight at the point replaces both",
        ),
        pytest.param(
            "{score: {enabled: [{name: TaintToleration}]}}",
            [("TaintToleration", 1), *DEFAULT_WEIGHTS[1:]],
            id="named without a weight it counts once, not as by default",
        ),
        pytest.param(
            "{score: {enabled: [{name: Custom, weight: 0}]}}",
            [*DEFAULT_WEIGHTS, ("Custom", 1)],
            id="a weight of zero is one",
        ),
        pytest.param(
            "{filter: {enabled: [{name: Custom, weight: 9}]}, score: {enabled: [{name: Custom}]}}",
            [*DEFAULT_WEIGHTS, ("Custom", 1)],
            id="a weight at a point that does not score means nothing",
        ),
    ],
)
def test_weights(text: str, want: list[tuple[str, int]]) -> None:
    assert want == weights(only_profile(plugins(text)))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "{score: {enabled: [{name: Nope}]}}", 'ScorePlugin "Nope" does not exist', id="unknown at a point"
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: Nope}]}}",
            'PreFilterPlugin "Nope" does not exist',
            id="unknown at multiPoint: the first point says so",
        ),
        pytest.param(
            "{score: {enabled: [{weight: 1}]}}", 'ScorePlugin "" does not exist', id="a plugin without a name"
        ),
        pytest.param(
            "{score: {enabled: [{name: NodeName}]}}",
            'plugin "NodeName" does not extend ScorePlugin plugin',
            id="a plugin at a point it has no part in",
        ),
        pytest.param(
            "{score: {enabled: [{name: Custom}, {name: Custom}]}}",
            'plugin "Custom" already registered as "ScorePlugin"',
            id="twice at a point",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: NodeName}, {name: NodeName}]}}",
            'plugin "NodeName" already registered as "FilterPlugin"',
            id="twice at multiPoint",
        ),
        pytest.param(
            "{multiPoint: {disabled: [{name: '*'}]}}",
            'only one queue sort plugin required for profile with scheduler name "s", but got 0',
            id="no queue sort",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: Fifo}]}}",
            'only one queue sort plugin required for profile with scheduler name "s", but got 2',
            id="two queue sorts",
        ),
        pytest.param(
            "{bind: {disabled: [{name: '*'}]}}",
            'at least one bind plugin is needed for profile with scheduler name "s"',
            id="no binder",
        ),
        pytest.param(
            "{placementGenerate: {enabled: [{name: Spread}, {name: Gather}]}}",
            'at most one placement generate plugin is allowed for profile with scheduler name "s"',
            id="two placement generators",
        ),
        pytest.param(
            "{score: {enabled: [{name: Custom, weight: -3}]}}",
            "score plugins: total score of Score plugins could overflow",
            id="a negative weight",
        ),
    ],
)
def test_plugins_that_do_not_fit(text: str, want: str) -> None:
    decoded = only_values(text)
    with pytest.raises(PluginsError) as raised:
        expand_points(merge_with_defaults(decoded, ORDER), CATALOG, "s")

    assert want == str(raised.value)


def only_values(text: str) -> dict[str, object]:
    values, strict = decode(read_document(plugins(text).encode()).tree, CONFIGURATION)
    assert [] == strict
    found: dict[str, object] = values["profiles"][0]["plugins"]
    return found


NAMES = sorted(POINTS)
ENTRIES = st.lists(st.fixed_dictionaries({"name": st.sampled_from(NAMES)}), max_size=4, unique_by=lambda e: e["name"])
SETS = st.dictionaries(
    st.sampled_from(("multiPoint", "filter", "score", "preFilter", "reserve")),
    st.fixed_dictionaries(
        {"enabled": ENTRIES, "disabled": st.lists(st.fixed_dictionaries({"name": st.sampled_from([*NAMES, "*"])}))}
    ),
)


@settings(deadline=None)
@given(SETS)
def test_every_point_has_what_takes_part_and_is_not_disabled(sets: dict[str, dict[str, list[dict[str, str]]]]) -> None:
    try:
        points = expand_points(merge_with_defaults(sets, ORDER), CATALOG, "s")
    except PluginsError:
        return
    merged = merge_with_defaults(sets, ORDER)
    everywhere = {entry.name for entry in merged["multiPoint"].enabled}
    for point in EXTENSION_POINTS:
        found = [entry.name for entry in points[point]]
        explicit = [entry.name for entry in merged[point].enabled]
        disabled = set(merged[point].disabled)
        implied = set() if "*" in disabled else {name for name in everywhere - disabled if point in POINTS[name]}
        assert sorted({*explicit, *implied}) == sorted(found)
        both = [name for name in explicit if name in implied]
        assert both == found[: len(both)]
        alone = [name for name in explicit if name not in implied]
        assert alone == found[len(found) - len(alone) :]
