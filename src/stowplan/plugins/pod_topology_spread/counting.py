"""Which nodes count for a constraint, and how many pods it matches there."""

from collections.abc import Sequence
from typing import final

import numpy as np

from stowplan.api.affinity import Taint
from stowplan.api.node_selectors import RequiredNodes
from stowplan.api.tolerations import first_untolerated
from stowplan.columns.node_masks import required_mask
from stowplan.columns.pods import PodClass
from stowplan.columns.rows import Rows
from stowplan.goarith import BoolN
from stowplan.plugins.pod_topology_spread.constraints import Constraint


@final
class CountedNodes:
    """For one pod class and its constraints: the nodes that count. It works out over rows of any kind."""

    __slots__ = ("_cls", "_comparisons", "_keys", "_required")

    def __init__(
        self,
        cls: PodClass,
        constraints: Sequence[Constraint],
        required: RequiredNodes | None,
        *,
        all_keys: bool,
        comparisons: bool,
    ) -> None:
        self._cls = cls
        self._required = required if any(constraint.honors_affinity for constraint in constraints) else None
        self._keys = {constraint.topology_key for constraint in constraints} if all_keys else set()
        self._comparisons = comparisons

    @property
    def all_keys(self) -> bool:
        """Whether only nodes with all topology keys come into question."""
        return bool(self._keys)

    def masks(self, rows: Rows, constraints: Sequence[Constraint]) -> list[BoolN | None]:
        """Per constraint the rows that count; None where all do, but perhaps for the topology key."""
        everywhere = self._with_all_keys(rows)
        affinity_n = None if self._required is None else required_mask(rows, self._required)
        return [
            _both(
                _both(everywhere, affinity_n if constraint.honors_affinity else None),
                self._tolerated(rows) if constraint.honors_taints else None,
            )
            for constraint in constraints
        ]

    def lacks_a_key(self, rows: Rows) -> BoolN | None:
        """Rows that lack one of the topology keys where all are asked for; None when no row does."""
        if not self._keys:
            return None
        lacking_n = np.logical_or.reduce([rows.label(key) < 0 for key in self._keys])
        return lacking_n if lacking_n.any() else None

    def _with_all_keys(self, rows: Rows) -> BoolN | None:
        # a single key needs no mask: rows without it belong to no domain anyway
        if len(self._keys) < 2:
            return None
        lacking_n = self.lacks_a_key(rows)
        return None if lacking_n is None else ~lacking_n

    def _tolerated(self, rows: Rows) -> BoolN:
        tolerations, comparisons = self._cls.spec.tolerations, self._comparisons

        def bearable(taints: tuple[Taint, ...]) -> bool:
            return first_untolerated(taints, tolerations, comparisons=comparisons) is None

        nodes = rows.view.nodes
        answers = nodes.taint_sets.answers(("spread", tolerations, comparisons), bearable, np.bool_)
        codes_n = rows.take(nodes.taint_set)
        return answers.take(codes_n)


def _both(a: BoolN | None, b: BoolN | None) -> BoolN | None:
    if a is None or b is None:
        return b if a is None else a
    return a & b
