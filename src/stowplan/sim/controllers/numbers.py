"""Amounts that may be written as a number or as a percentage.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/intstr/intstr.go (v1.36.4).
"""


def scaled(value: int | str | None, total: int, *, up: bool, default: int = 0) -> int:
    """A number as it is, a percentage of `total` rounded up or down."""
    if value is None:
        return default
    if isinstance(value, int):
        return value
    text = value.removesuffix("%")
    if not value.endswith("%") or not text.isascii() or not text.isdecimal():
        raise ValueError(f"{value!r} is neither a number nor a percentage")
    product = total * int(text)
    return -(-product // 100) if up else product // 100


def fenceposts(max_surge: int | str | None, max_unavailable: int | str | None, desired: int) -> tuple[int, int]:
    """How many more and how many fewer pods a rollout may have; never both zero."""
    # parity: deployment_util.go ResolveFenceposts
    surge, unavailable = scaled(max_surge, desired, up=True), scaled(max_unavailable, desired, up=False)
    return (surge, 1) if surge == 0 and unavailable == 0 else (surge, unavailable)
