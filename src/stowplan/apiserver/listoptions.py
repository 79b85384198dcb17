"""What a list or a watch may ask for, before anything is looked up.

Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/internalversion/validation/validation.go (v1.36.4).
"""

from collections.abc import Iterator, Mapping

from stowplan.apiserver.errors import Cause, Subject, invalid
from stowplan.apiserver.names import forbidden_field, unsupported
from stowplan.apiserver.request import integer_parameter

NOT_OLDER = "NotOlderThan"
MATCHES = ("Exact", NOT_OLDER, "")
MATCH = "resourceVersionMatch"
INITIAL = "sendInitialEvents"


def check_options(query: Mapping[str, str], *, watch: bool) -> None:
    """Refuse options that contradict each other."""
    integer_parameter(query, "timeoutSeconds")
    integer_parameter(query, "limit")
    causes = list(_watch_faults(query) if watch else _list_faults(query))
    if causes:
        raise invalid(Subject("meta.k8s.io", "ListOptions"), causes)


def _list_faults(query: Mapping[str, str]) -> Iterator[Cause]:
    match, version = query.get(MATCH, ""), query.get("resourceVersion", "")
    if match:
        if not version:
            yield forbidden_field(MATCH, f"{MATCH} is forbidden unless resourceVersion is provided")
        if query.get("continue"):
            yield forbidden_field(MATCH, f"{MATCH} is forbidden when continue is provided")
        if match not in MATCHES:
            yield unsupported(MATCH, match, MATCHES)
        if match == "Exact" and version == "0":
            yield forbidden_field(MATCH, f'{MATCH} "exact" is forbidden for resourceVersion "0"')
    if INITIAL in query:
        yield forbidden_field(INITIAL, f"{INITIAL} is forbidden for list")


def _watch_faults(query: Mapping[str, str]) -> Iterator[Cause]:
    match = query.get(MATCH, "")
    if INITIAL in query and match != NOT_OLDER:
        yield forbidden_field(MATCH, f"{INITIAL} requires setting {MATCH} to {NOT_OLDER}")
    if match:
        if INITIAL not in query:
            yield forbidden_field(MATCH, f"{MATCH} is forbidden for watch unless {INITIAL} is provided")
        if match != NOT_OLDER:
            yield unsupported(MATCH, match, (NOT_OLDER,))
        if query.get("continue"):
            yield forbidden_field(MATCH, f"{MATCH} is forbidden when continue is provided")
