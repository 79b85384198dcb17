"""The completed indexes of an indexed Job, as text and as numbers.

Upstream: pkg/controller/job/indexed_job_utils.go (v1.36.4).
"""

from collections.abc import Iterable


def read_indexes(text: str) -> set[int]:
    """The numbers of `0-2,5`; parts that cannot be read count for nothing."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if first.isdecimal() and (last.isdecimal() if dash else True):
            found.update(range(int(first), int(last if dash else first) + 1))
    return found


def write_indexes(indexes: Iterable[int]) -> str:
    """Numbers as intervals; two in a row are still written one by one."""
    spans: list[list[int]] = []
    for index in sorted(set(indexes)):
        if spans and index == spans[-1][1] + 1:
            spans[-1][1] = index
        else:
            spans.append([index, index])
    parts = []
    for first, last in spans:
        joint = "," if last == first + 1 else "-"
        parts.append(str(first) if first == last else f"{first}{joint}{last}")
    return ",".join(parts)
