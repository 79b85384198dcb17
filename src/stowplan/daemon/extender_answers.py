"""What extenders answer, read with distrust: every value is looked at before it is believed.

Field names are found as Go finds them, whatever their case.

Upstream: staging/src/k8s.io/kube-scheduler/extender/v1/types.go (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from stowplan.framework.extender import ExtenderError

GREATEST_SCORE: Final = 2**31 - 1


def read_object(answer: bytes, url: str) -> Mapping[str, Any]:
    """The fields of an object by their names in lower case. Raises ExtenderError."""
    value = _decoded(answer, url)
    if value is None:
        return {}
    return _fields(value, url, "the answer")


def read_error(fields: Mapping[str, Any], url: str) -> str:
    """What an answer calls an error."""
    value = fields.get("error")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(url, "Error", "text", value)
    return value


def read_names(fields: Mapping[str, Any], url: str) -> list[str] | None:
    """NodeNames; None when they are not there."""
    value = fields.get("nodenames")
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _wrong(url, "NodeNames", "a list of names", value)
    return value


def read_node_list(fields: Mapping[str, Any], url: str) -> list[str] | None:
    """The names of Nodes; None when they are not there."""
    value = fields.get("nodes")
    if value is None:
        return None
    items = _fields(value, url, "Nodes").get("items")
    if items is None:
        return []
    if not isinstance(items, list):
        raise _wrong(url, "Nodes.items", "a list of nodes", items)
    names = []
    for item in items:
        name = _fields(_fields(item, url, "a node").get("metadata") or {}, url, "a node's metadata").get("name")
        if not isinstance(name, str):
            raise _wrong(url, "a node's name", "text", name)
        names.append(name)
    return names


def read_reasons(fields: Mapping[str, Any], field: str, url: str) -> dict[str, str]:
    """FailedNodes or FailedAndUnresolvableNodes."""
    value = fields.get(field.lower())
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(reason, str) for reason in value.values()):
        raise _wrong(url, field, "a map of node names to texts", value)
    return value


def read_scores(answer: bytes, url: str) -> list[tuple[str, int]]:
    """A list of hosts and scores."""
    value = _decoded(answer, url)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _wrong(url, "the answer", "a list of hosts and scores", value)
    scores = []
    for item in value:
        fields = _fields(item, url, "a score")
        host, score = fields.get("host", ""), fields.get("score", 0)
        if not isinstance(host, str):
            raise _wrong(url, "Host", "text", host)
        if not isinstance(score, int) or isinstance(score, bool) or abs(score) > GREATEST_SCORE:
            raise _wrong(url, f"the score of {host}", "a number of 32 bits", score)
        scores.append((host, score))
    return scores


def read_victims(fields: Mapping[str, Any], url: str) -> dict[str, tuple[list[str], int]]:
    """NodeNameToMetaVictims: per node the uids of its victims and how many budgets they violate."""
    value = fields.get("nodenametometavictims")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(url, "NodeNameToMetaVictims", "a map", value)
    found = {}
    for node, entry in value.items():
        victims = _fields(entry if entry is not None else {}, url, f"the victims on {node}")
        pods, violations = victims.get("pods") or [], victims.get("numpdbviolations", 0)
        if not isinstance(pods, list):
            raise _wrong(url, f"the pods on {node}", "a list", pods)
        if not isinstance(violations, int) or isinstance(violations, bool) or not 0 <= violations <= GREATEST_SCORE:
            raise _wrong(url, f"NumPDBViolations on {node}", "a number", violations)
        uids = [_fields(pod, url, "a victim").get("uid") for pod in pods]
        found[node] = (_texts(uids, url), violations)
    return found


def _texts(values: Sequence[Any], url: str) -> list[str]:
    texts = []
    for value in values:
        if not isinstance(value, str) or not value:
            raise _wrong(url, "UID", "text", value)
        texts.append(value)
    return texts


def _decoded(answer: bytes, url: str) -> Any:
    try:
        return msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ExtenderError(f"the extender at URL {url} does not answer JSON: {error}") from error


def _fields(value: Any, url: str, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(url, what, "an object", value)
    return {key.lower(): held for key, held in value.items()}


def _wrong(url: str, what: str, wanted: str, value: Any) -> ExtenderError:
    shown = str(value)
    shown = shown if len(shown) <= 100 else f"{shown[:100]}..."
    return ExtenderError(f"the extender at URL {url} answers nonsense: {what} is not {wanted}: {shown}")
