"""Node selectors match terms over labels and names, and report what is malformed only when nothing matches."""

import pytest

from stowplan.api.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
)
from stowplan.api.errors import SelectorError
from stowplan.api.node_selectors import compile_node_selector, compile_preferred, matches_topology, required_nodes
from stowplan.api.pod import Pod, PodSpec


def labels_term(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key=key, operator=operator, values=values),))


def fields_term(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=(NodeSelectorRequirement(key=key, operator=operator, values=values),))


BAD = labels_term("a", "Near", "1")
BAD_TEXT = (
    'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": supported values: "In", "NotIn", '
    '"Exists", "DoesNotExist", "Gt", "Lt"'
)


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        pytest.param([], False, id="no term matches nothing"),
        pytest.param([NodeSelectorTerm()], False, id="an empty term matches nothing"),
        pytest.param([labels_term("zone", "In", "a", "b")], True, id="one of the values"),
        pytest.param([labels_term("zone", "NotIn", "a")], False, id="the excluded value"),
        pytest.param([labels_term("rack", "NotIn", "a")], True, id="an absent label is never the excluded value"),
        pytest.param([labels_term("cores", "Gt", "7")], True, id="greater"),
        pytest.param([labels_term("cores", "Gt", "8")], False, id="equal is not greater"),
        pytest.param([labels_term("cores", "Lt", "9")], True, id="less"),
        pytest.param([labels_term("zone", "Gt", "1")], False, id="a word is not greater"),
        pytest.param([labels_term("rack", "Gt", "1")], False, id="an absent label is not greater"),
        pytest.param([labels_term("zone", "In", "x"), labels_term("cores", "Exists")], True, id="the second term"),
        pytest.param([fields_term("metadata.name", "In", "n1")], True, id="the name"),
        pytest.param([fields_term("metadata.name", "NotIn", "n1")], False, id="not the name"),
        pytest.param([fields_term("spec.x", "In", "1")], False, id="an unknown field is empty"),
        pytest.param([fields_term("spec.x", "NotIn", "1")], True, id="an unknown field is not that value"),
        pytest.param([BAD, labels_term("zone", "In", "a")], True, id="a malformed term leaves the others alone"),
    ],
)
def test_matches(terms: list[NodeSelectorTerm], want: bool) -> None:
    matcher = compile_node_selector(NodeSelector(node_selector_terms=tuple(terms)))

    assert want == matcher.matches({"zone": "a", "cores": "8"}, "n1")


def test_conditions_of_one_term_must_all_hold() -> None:
    term = NodeSelectorTerm(
        match_expressions=labels_term("zone", "In", "a").match_expressions,
        match_fields=fields_term("metadata.name", "In", "n1").match_fields,
    )
    matcher = compile_node_selector(NodeSelector(node_selector_terms=(term,)))

    assert [True, False, False] == [
        matcher.matches({"zone": "a"}, "n1"),
        matcher.matches({"zone": "a"}, "n2"),
        matcher.matches({"zone": "b"}, "n1"),
    ]


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        pytest.param([labels_term("zone", "In", "a")], None, id="well-formed"),
        pytest.param([BAD], BAD_TEXT, id="an unknown operator"),
        pytest.param(
            [labels_term("a", "Gt", "x")],
            "nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the "
            "value must be an integer",
            id="a comparison with a word",
        ),
        pytest.param(
            [NodeSelectorTerm(), fields_term("metadata.name", "In", "a", "b")],
            'nodeSelectorTerms[1].matchFields[0].values: Invalid value: ["a","b"]: must have one element',
            id="a field with two values, counted with the empty terms",
        ),
        pytest.param(
            [fields_term("metadata.name", "Exists")],
            'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": supported values: "In", '
            '"NotIn"',
            id="a field with an operator of labels",
        ),
    ],
)
def test_errors(terms: list[NodeSelectorTerm], want: str | None) -> None:
    assert want == compile_node_selector(NodeSelector(node_selector_terms=tuple(terms))).error


def test_preferred_terms_without_weight_or_conditions_are_left_out() -> None:
    terms = (
        PreferredSchedulingTerm(weight=0, preference=BAD),
        PreferredSchedulingTerm(weight=5),
        PreferredSchedulingTerm(weight=7, preference=labels_term("zone", "In", "a")),
    )

    assert [7] == [weighted.weight for weighted in compile_preferred(terms)]


def test_a_malformed_preferred_term_is_an_error_with_its_path() -> None:
    with pytest.raises(SelectorError, match=r"^\[1\]\.matchExpressions\[0\]\.operator: Unsupported value: \"Near\""):
        compile_preferred((PreferredSchedulingTerm(), PreferredSchedulingTerm(weight=1, preference=BAD)))


def pod(selector: dict[str, str], required: NodeSelector | None) -> Pod:
    affinity = None if required is None else Affinity(node_affinity=NodeAffinity(required=required))
    return Pod(spec=PodSpec(node_selector=selector, affinity=affinity))


@pytest.mark.parametrize(
    ("selector", "required", "want"),
    [
        pytest.param({}, None, True, id="a pod without wishes"),
        pytest.param({"zone": "a"}, None, True, id="the selector holds"),
        pytest.param({"zone": "b"}, None, False, id="the selector does not hold"),
        pytest.param({}, NodeSelector(), False, id="an affinity without terms"),
        pytest.param(
            {"zone": "b"},
            NodeSelector(node_selector_terms=(labels_term("zone", "In", "a"),)),
            False,
            id="both must hold",
        ),
    ],
)
def test_required_nodes(selector: dict[str, str], required: NodeSelector | None, want: bool) -> None:
    assert want == required_nodes(pod(selector, required)).matches({"zone": "a"}, "n1")


def topology(**values: tuple[str, ...]) -> TopologySelectorTerm:
    return TopologySelectorTerm(
        match_label_expressions=tuple(
            TopologySelectorLabelRequirement(key=key, values=wanted) for key, wanted in values.items()
        )
    )


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        pytest.param((), True, id="no terms allow everything"),
        pytest.param((TopologySelectorTerm(),), False, id="an empty term allows nothing"),
        pytest.param((topology(zone=("a", "b")),), True, id="one of the values"),
        pytest.param((topology(zone=("a",), rack=("1",)),), False, id="all keys of a term must hold"),
        pytest.param((topology(zone=("x",)), topology(zone=("a",))), True, id="one term is enough"),
    ],
)
def test_topology(terms: tuple[TopologySelectorTerm, ...], want: bool) -> None:
    assert want == matches_topology(terms, {"zone": "a"})
