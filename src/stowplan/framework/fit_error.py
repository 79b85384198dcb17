"""The text that says why no node took a pod: upstream's to the byte, since people and tools grep it.

Upstream: FitError in pkg/scheduler/framework/types.go (v1.36.4).
"""

from collections import Counter
from collections.abc import Iterable

from stowplan.framework.verdict import Rejection


def fit_error_text(
    *,
    nodes: int,
    pre_filter_message: str,
    rejections: Iterable[tuple[Rejection, int]],
    absent: Rejection | None,
    post_filter_message: str,
) -> str:
    """0/N nodes are available: <PreFilter message>. <reason counts>. <PostFilter message>."""
    text = f"0/{nodes} nodes are available:"
    if pre_filter_message:
        text += f" {pre_filter_message}."
    else:
        counts: Counter[str] = Counter()
        judged = 0
        for rejection, rows in rejections:
            judged += rows
            for reason in rejection.reasons:
                counts[reason] += rows
        if absent is not None and judged < nodes:
            for reason in absent.reasons:
                counts[reason] += nodes - judged
        # parity: sorted as text, the count first, so "10 ..." comes before "2 ..."
        listed = sorted(f"{count} {reason}" for reason, count in counts.items())
        if listed:
            text += f" {', '.join(listed)}."
    if post_filter_message:
        text += f" {post_filter_message}"
    return text
