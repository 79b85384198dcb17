"""Selectors with operators that do not exist: an API server would never have let them in, so files may not either."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

LABEL_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
NODE_OPERATORS: Final = LABEL_OPERATORS | {"Gt", "Lt"}
OF_NODES: Final = frozenset({"nodeSelectorTerms", "preference"})
"""Fields that hold selectors over nodes; all others are over labels."""
EXPRESSIONS: Final = frozenset({"matchExpressions", "matchFields"})


def unknown_operator(document: Mapping[str, Any]) -> str | None:
    """What to say of the first operator of a manifest that nobody knows, with its path; None when there is none."""
    return next(_faults(document, "", LABEL_OPERATORS), None)


def _faults(value: Any, path: str, known: frozenset[str]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            where = f"{path}.{key}" if path else str(key)
            if key in EXPRESSIONS and isinstance(child, list | tuple):
                for at, expression in enumerate(child):
                    operator = expression.get("operator") if isinstance(expression, Mapping) else None
                    if isinstance(operator, str) and operator not in known:
                        yield f'{where}[{at}].operator: "{operator}" is none of {", ".join(sorted(known))}'
            else:
                yield from _faults(child, where, NODE_OPERATORS if key in OF_NODES else known)
    elif isinstance(value, list | tuple):
        for at, child in enumerate(value):
            yield from _faults(child, f"{path}[{at}]", known)
