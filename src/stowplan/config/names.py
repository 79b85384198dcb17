"""Which label keys, label values and extended resource names are valid, and what is wrong with the others.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/validate/content (v1.36.4).
"""

import re
from typing import Final

_KEY_PATTERN: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_PATTERN: Final = f"({_KEY_PATTERN})?"
_DOMAIN_PATTERN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

_KEY: Final = re.compile(_KEY_PATTERN)
_VALUE: Final = re.compile(_VALUE_PATTERN)
_DOMAIN: Final = re.compile(_DOMAIN_PATTERN)

_ENDS: Final = "and must start and end with an alphanumeric character"
_KEY_RULE: Final = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY_PATTERN}')"
)
_VALUE_RULE: Final = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE_PATTERN}')"
)
_DOMAIN_RULE: Final = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS} "
    f"(e.g. 'example.com', regex used for validation is '{_DOMAIN_PATTERN}')"
)


def label_key_faults(key: str) -> list[str]:
    """What is wrong with a label key (a "qualified name"); empty when nothing is."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_KEY_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults += [f"prefix part {fault}" for fault in _domain_faults(prefix)]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        faults.append("name part must be no more than 63 bytes")
    if not _KEY.fullmatch(name):
        faults.append(f"name part {_KEY_RULE}")
    return faults


def label_value_faults(value: str) -> list[str]:
    """What is wrong with a label value; empty when nothing is."""
    faults = []
    if len(value.encode()) > 63:
        faults.append("must be no more than 63 bytes")
    if not _VALUE.fullmatch(value):
        faults.append(_VALUE_RULE)
    return faults


def is_extended_resource(name: str) -> bool:
    """Whether the name can be that of an extended resource: a domain of its own, fit for a quota."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return not label_key_faults(f"requests.{name}")


def _domain_faults(domain: str) -> list[str]:
    faults = []
    if len(domain) > 253:
        faults.append("must be no more than 253 bytes")
    if not _DOMAIN.fullmatch(domain):
        faults.append(_DOMAIN_RULE)
    return faults
