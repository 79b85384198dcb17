"""Rejection: why a pod may not go somewhere. Verdict: what one filter says of many nodes at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from stowplan.columns.rows import Rows
from stowplan.goarith import BoolN

OutcomeN = NDArray[np.int32]

FEW_MASKS: Final = 12


class Code(StrEnum):
    """Upstream's names for the two kinds of rejection."""

    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"


@final
@dataclass(frozen=True, slots=True)
class Rejection:
    """The reasons (texts are API: users grep for them) and whether evicting pods could help."""

    reasons: tuple[str, ...]
    unresolvable: bool = False
    fatal: bool = False
    """An error, no rejection: where it is the first word on a node, the attempt fails; a what-if is just no way out."""

    @property
    def code(self) -> Code:
        """Upstream's status code."""
        return Code.UNRESOLVABLE if self.unresolvable else Code.UNSCHEDULABLE

    @property
    def message(self) -> str:
        """The reasons as one text."""
        return ", ".join(self.reasons)


def rejection(*reasons: str) -> Rejection:
    """A rejection that evicting pods may lift."""
    return Rejection(reasons)


def fatal(text: str) -> Rejection:
    """No rejection: an error of one node."""
    return Rejection((text,), fatal=True)


def unresolvable(*reasons: str) -> Rejection:
    """A rejection that no eviction lifts."""
    return Rejection(reasons, unresolvable=True)


@final
class Verdict:
    """Which rows pass, and for the rest which rejection."""

    __slots__ = ("outcome_n", "rejections")

    def __init__(self, outcome_n: OutcomeN | None, rejections: Sequence[Rejection] = ()) -> None:
        self.outcome_n = outcome_n
        """Per row 0 when it passes, else 1 + the index of its rejection; None when all rows pass."""
        self.rejections = rejections

    @staticmethod
    def pass_all() -> "Verdict":
        """Every row passes."""
        return PASS_ALL

    @staticmethod
    def reject_all(rows: Rows, why: Rejection) -> "Verdict":
        """No row passes, for one reason."""
        return Verdict(np.ones(len(rows), np.int32), (why,))

    @staticmethod
    def reject_where(mask_n: BoolN, why: Rejection) -> "Verdict":
        """Rows under the mask are rejected for one reason."""
        return Verdict(mask_n.astype(np.int32), (why,)) if mask_n.any() else PASS_ALL

    @staticmethod
    def of_each(each: Sequence[Rejection | None]) -> "Verdict":
        """What is said of every row by itself; None lets it pass."""
        codes = {why: number for number, why in enumerate(dict.fromkeys(why for why in each if why is not None), 1)}
        if not codes:
            return PASS_ALL
        return Verdict(np.array([0 if why is None else codes[why] for why in each], np.int32), tuple(codes))

    @staticmethod
    def first_of(cases: Sequence[tuple[BoolN, Rejection]]) -> "Verdict":
        """The first case whose mask is set decides a row."""
        outcome_n: OutcomeN | None = None
        for number, (mask_n, _) in enumerate(cases, 1):
            if outcome_n is None:
                outcome_n = np.where(mask_n, np.int32(number), np.int32(0))
            else:
                outcome_n[(outcome_n == 0) & mask_n] = number
        if outcome_n is None or not outcome_n.any():
            return PASS_ALL
        return Verdict(outcome_n, tuple(why for _, why in cases))

    @staticmethod
    def all_of(
        cases: Sequence[tuple[BoolN, str]],
        unresolvable_n: BoolN | None = None,
    ) -> "Verdict":
        """Every case whose mask is set adds its reason to a row; rows without any pass."""
        if not cases:
            return PASS_ALL
        masks = [mask_n for mask_n, _ in cases]
        bad_n = np.logical_or.reduce(masks)
        if not bad_n.any():
            return PASS_ALL
        if unresolvable_n is not None:
            masks.append(unresolvable_n & bad_n)
        patterns, outcome_n = _number_patterns(masks)
        said = [tuple(reason for (_, reason), hit in zip(cases, pattern, strict=False) if hit) for pattern in patterns]
        rejections = tuple(
            Rejection(reasons, unresolvable_n is not None and pattern[-1])
            for reasons, pattern in zip(said, patterns, strict=True)
        )
        return Verdict(outcome_n, rejections)

    @property
    def passed_n(self) -> BoolN | None:
        """Mask of the rows that pass; None when all do."""
        return None if self.outcome_n is None else self.outcome_n == 0

    def at(self, position: int) -> Rejection | None:
        """The rejection of the row at a position, None when it passes."""
        outcome = 0 if self.outcome_n is None else int(self.outcome_n[position])
        return self.rejections[outcome - 1] if outcome else None

    def __bool__(self) -> NoReturn:
        raise TypeError("a Verdict speaks for many nodes; use .passed_n or .at(position)")


PASS_ALL = Verdict(None)


def _number_patterns(masks: Sequence[BoolN]) -> tuple[list[tuple[bool, ...]], OutcomeN]:
    """The combinations of masks that occur, and per row 0 for none, else 1 + the index of its combination."""
    width = len(masks)
    if width > FEW_MASKS:
        found, which_n = np.unique(np.stack(masks), axis=1, return_inverse=True)
        patterns = [tuple(pattern) for pattern in found.T.tolist()]
        # combinations come sorted, so that of no mask is the first if there is any such row
        first = 0 if any(patterns[0]) else 1
        return patterns[first:], (which_n.ravel() + (1 - first)).astype(np.int32)
    # perf: counting few bits in a table takes 80 µs for 5000 rows, sorting columns 3 ms
    bits_n = masks[0].astype(np.int64)
    for bit, mask_n in enumerate(masks[1:], 1):
        bits_n |= mask_n.astype(np.int64) << bit
    occurring = (np.flatnonzero(np.bincount(bits_n)[1:]) + 1).tolist()
    number_of = np.zeros(1 << width, np.int32)
    number_of[occurring] = np.arange(1, len(occurring) + 1)
    return [tuple(bool(bits >> bit & 1) for bit in range(width)) for bits in occurring], number_of[bits_n]
