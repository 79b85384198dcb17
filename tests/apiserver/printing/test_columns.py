"""The texts of tables."""

import pytest

from stowplan.apiserver.printing.columns import human_duration, joined, selector_text, since


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        (0, "0s"), (-1, "0s"), (-5, "<invalid>"), (119, "119s"), (120, "2m"), (200, "3m20s"), (600, "10m"),
        (10_700, "178m"), (10_800, "3h"), (12_345, "3h25m"), (28_800, "8h"), (172_799, "47h"), (172_800, "2d"),
        (180_000, "2d2h"), (700_000, "8d"), (63_071_999, "729d"), (63_072_000, "2y"), (70_000_000, "2y80d"),
        (252_288_000, "8y"),
    ],
)  # fmt: skip
def test_durations_have_two_digits_of_meaning(seconds: float, want: str) -> None:
    assert want == human_duration(seconds)


def test_what_is_unknown_says_so() -> None:
    assert ("<unknown>", "<unknown>", "5s") == (since(None, 0), since("soon", 0), since("1970-01-01T00:00:00Z", 5))


def test_labels_and_selectors() -> None:
    rules = [
        {"key": "b", "operator": "In", "values": ["y", "x"]},
        {"key": "c", "operator": "Exists"},
        {"key": "d", "operator": "DoesNotExist"},
    ]

    assert "a=1,b in (x,y),c,!d" == selector_text({"matchLabels": {"a": "1"}, "matchExpressions": rules})
    assert ("<none>", "a=1,b=2") == (joined(None), joined({"b": "2", "a": "1"}))
