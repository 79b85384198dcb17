"""From where a volume can be reached: its node affinity, compiled.

Upstream: CheckNodeAffinity in staging/src/k8s.io/component-helpers/storage/volume/helpers.go (v1.36.4).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from stowplan.api.affinity import NodeSelector
from stowplan.api.node_selectors import NodeMatcher, Term, compile_node_selector
from stowplan.api.storage import VolumeNodeAffinity

NO_MATCH: Final = "no matching NodeSelectorTerms"


def matcher_of(affinity: VolumeNodeAffinity | None) -> NodeMatcher | None:
    """What a volume asks of nodes; None for nothing. Malformed terms match nowhere."""
    return None if affinity is None or affinity.required is None else _compiled(affinity.required)


def mismatch(affinity: VolumeNodeAffinity | None, labels: Mapping[str, str]) -> str | None:
    """Why a node with these labels cannot reach the volume; None when it can."""
    matcher = matcher_of(affinity)
    if matcher is None or matcher.matches(labels, ""):
        return None
    return matcher.error or NO_MATCH


@lru_cache(maxsize=16_384)
def _compiled(selector: NodeSelector) -> NodeMatcher:
    # parity: only the node's labels are looked at, never its name, so conditions on fields always hold
    terms = compile_node_selector(selector).terms
    return NodeMatcher(tuple(Term(term.labels, (), term.errors) for term in terms))
