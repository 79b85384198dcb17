"""Selectors over nodes as masks over rows: each requirement is judged per distinct label value, never per node."""

from collections.abc import Iterable

import numpy as np

from stowplan.api.node_selectors import NODE_NAME_FIELD, FieldRequirement, NodeMatcher, RequiredNodes, Term
from stowplan.api.selectors import Operator, Requirement
from stowplan.columns.rows import Rows
from stowplan.goarith import BoolN


def required_mask(rows: Rows, required: RequiredNodes) -> BoolN:
    """Where a pod's node selector and required node affinity hold."""
    mask_n = np.ones(len(rows), np.bool_)
    if required.selector is not None:
        wanted = required.selector.requirements
        if wanted is None:
            return np.zeros(len(rows), np.bool_)
        _narrow(mask_n, rows, wanted)
    if required.affinity is not None:
        mask_n &= matcher_mask(rows, required.affinity)
    return mask_n


def matcher_mask(rows: Rows, matcher: NodeMatcher) -> BoolN:
    """Where one of the terms holds."""
    mask_n = np.zeros(len(rows), np.bool_)
    for term in matcher.terms:
        mask_n |= term_mask(rows, term)
    return mask_n


def term_mask(rows: Rows, term: Term) -> BoolN:
    """Where all conditions of a term hold; a malformed one holds nowhere."""
    if term.errors:
        return np.zeros(len(rows), np.bool_)
    mask_n = np.ones(len(rows), np.bool_)
    _narrow(mask_n, rows, term.labels)
    for condition in term.fields:
        mask_n &= _field_mask(rows, condition)
    return mask_n


def requirement_mask(rows: Rows, requirement: Requirement) -> BoolN:
    """Where the label meets a requirement."""
    codes_n = rows.label(requirement.key)
    values = rows.view.nodes.label(requirement.key).values
    match requirement.operator:
        case Operator.EXISTS:
            return codes_n >= 0
        case Operator.DOES_NOT_EXIST:
            return codes_n < 0
        case Operator.IN | Operator.NOT_IN as operator:
            codes = [code for value in requirement.values if (code := values.find(value)) >= 0]
            if len(codes) == 1:
                among_n: BoolN = codes_n == codes[0]
            else:
                among = np.zeros(len(values) + 1, np.bool_)
                among[codes] = True
                among_n = among[codes_n]
            return among_n if operator is Operator.IN else ~among_n
        case Operator.GREATER_THAN | Operator.LESS_THAN:
            compares = values.answers(requirement, requirement.holds, np.bool_)
            holds_n: BoolN = compares[codes_n]
            return holds_n


def _narrow(mask_n: BoolN, rows: Rows, requirements: Iterable[Requirement]) -> None:
    for requirement in requirements:
        mask_n &= requirement_mask(rows, requirement)


def _field_mask(rows: Rows, condition: FieldRequirement) -> BoolN:
    if condition.key == NODE_NAME_FIELD:
        row = rows.view.row_of(condition.value)
        at_n: BoolN = np.zeros(len(rows), np.bool_) if row is None else rows.index == row
        return at_n if condition.equal else ~at_n
    return np.full(len(rows), condition.matches(""), np.bool_)
