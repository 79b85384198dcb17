"""Worlds: rows with changes laid over them, each row a what-if of its own.

Five hundred preemption candidates are one array operation, not five hundred clones.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, final

import numpy as np

from stowplan.columns.pods import PodInfo
from stowplan.columns.ports import HostPort, ports_clash
from stowplan.columns.rows import Rows
from stowplan.columns.selector_counts import SelectorCount
from stowplan.columns.term_counts import AffinityTerm
from stowplan.goarith import BoolN, IntN, wrap_int64

if TYPE_CHECKING:
    from stowplan.columns.view import View


@final
class Worlds(Rows):
    """Rows to which pods are added and from which pods are removed, position by position."""

    __slots__ = ("_added", "_port_changes", "_removed", "_requested", "_shifts", "_term_shifts", "_totals")

    def __init__(self, view: "View", index: IntN) -> None:
        super().__init__(view, index)
        n = len(index)
        self._added: list[list[PodInfo]] = [[] for _ in range(n)]
        self._removed: list[list[PodInfo]] = [[] for _ in range(n)]
        self._requested: dict[str, IntN] = {}
        self._totals: IntN = np.zeros((3, n), np.int64)  # pods, non-zero cpu, non-zero memory
        self._shifts: dict[SelectorCount, IntN] = {}
        self._term_shifts: dict[AffinityTerm, IntN] = {}
        self._port_changes: dict[int, list[tuple[HostPort, bool]]] = {}

    @property
    def differs(self) -> bool:
        """Always."""
        return True

    def add(self, at: int, pod: PodInfo) -> None:
        """Place a pod in the world at a position; one that was removed there comes back."""
        if pod in self._removed[at]:
            self._removed[at].remove(pod)
        else:
            self._added[at].append(pod)
        self._change(at, pod, 1)

    def remove(self, at: int, pod: PodInfo) -> None:
        """Take a pod out of the world at a position."""
        if pod in self._added[at]:
            self._added[at].remove(pod)
        else:
            self._removed[at].append(pod)
        self._change(at, pod, -1)

    def added(self, at: int) -> Sequence[PodInfo]:
        """Pods that this world has and the View has not."""
        return self._added[at]

    def removed(self, at: int) -> Sequence[PodInfo]:
        """Pods that the View has and this world has not."""
        return self._removed[at]

    def _change(self, at: int, pod: PodInfo, by: int) -> None:
        cls = pod.cls
        for name, amount in cls.requests.items():
            shift = self._requested.get(name)
            if shift is None:
                shift = self._requested[name] = np.zeros(len(self.index), np.int64)
            shift[at] = wrap_int64(shift.item(at) + by * amount)
        totals = self._totals
        totals[0, at] += by
        totals[1, at] = wrap_int64(totals.item(1, at) + by * cls.nonzero_cpu)
        totals[2, at] = wrap_int64(totals.item(2, at) + by * cls.nonzero_memory)
        if cls.host_ports:
            self._port_changes.setdefault(at, []).extend((port, by > 0) for port in cls.host_ports)
        for selector, shift in self._shifts.items():
            if self._picks(selector, pod):
                shift[at] += by
        for term in cls.terms:
            shift = self._term_shifts.get(term)
            if shift is None:
                shift = self._term_shifts[term] = np.zeros(len(self.index), np.int64)
            shift[at] += by

    def _picks(self, selector: SelectorCount, pod: PodInfo) -> bool:
        # parity: pods that are being deleted count here even where the View leaves them out: the PreFilter
        # extensions of topology spread do not look (updateWithPod in podtopologyspread/filtering.go)
        return self.view.selectors.picks(selector.what, pod.cls.namespace, pod.cls.labels)

    def select(self, mask: BoolN) -> "Worlds":
        """The worlds where the mask is set, as copies."""
        chosen = Worlds(self.view, self.index[mask])
        at = np.flatnonzero(mask).tolist()
        chosen._added = [list(self._added[i]) for i in at]
        chosen._removed = [list(self._removed[i]) for i in at]
        chosen._requested = {name: shift[mask] for name, shift in self._requested.items()}
        chosen._totals = self._totals[:, mask]
        chosen._shifts = {selector: shift[mask] for selector, shift in self._shifts.items()}
        chosen._term_shifts = {term: shift[mask] for term, shift in self._term_shifts.items()}
        if self._port_changes:
            chosen._port_changes = {
                new: list(self._port_changes[old]) for new, old in enumerate(at) if old in self._port_changes
            }
        return chosen

    def requested(self, resource: str) -> IntN:
        """What the pods of each world ask for of a resource."""
        base = super().requested(resource)
        shift = self._requested.get(resource)
        return base if shift is None else base + shift

    @property
    def nonzero_cpu(self) -> IntN:
        """Milli-cpu asked for in each world, with defaults."""
        total_n: IntN = super().nonzero_cpu + self._totals[1]
        return total_n

    @property
    def nonzero_memory(self) -> IntN:
        """Bytes asked for in each world, with defaults."""
        total_n: IntN = super().nonzero_memory + self._totals[2]
        return total_n

    @property
    def pod_count(self) -> IntN:
        """Pods in each world."""
        total_n: IntN = super().pod_count + self._totals[0]
        return total_n

    def count(self, selector: SelectorCount) -> IntN:
        """Pods in each world that a selector matches."""
        shift = self.shift(selector)
        return super().count(selector) if shift is None else super().count(selector) + shift

    def shift(self, selector: SelectorCount) -> IntN | None:
        """Per world: matching pods more or fewer than in the View."""
        shift = self._shifts.get(selector)
        if shift is None:
            shift = self._shifts[selector] = np.zeros(len(self.index), np.int64)
            for at in range(len(self.index)):
                shift[at] = sum(self._picks(selector, pod) for pod in self._added[at]) - sum(
                    self._picks(selector, pod) for pod in self._removed[at]
                )
        return shift if shift.any() else None

    def term_shift(self, term: AffinityTerm) -> IntN | None:
        """Per world: pods with a term more or fewer than in the View."""
        shift = self._term_shifts.get(term)
        return shift if shift is not None and shift.any() else None

    def added_terms(self) -> Collection[AffinityTerm]:
        """Terms of the added pods."""
        return {term for pods in self._added for pod in pods for term in pod.cls.terms}

    def port_clash(self, wanted: HostPort) -> BoolN | None:
        """Where a host port is taken in its world."""
        taken = super().port_clash(wanted)
        if not self._port_changes:
            return taken
        clash = np.zeros(len(self.index), np.bool_) if taken is None else taken.copy()
        for at, changes in self._port_changes.items():
            last = {port: used for port, used in changes if ports_clash(wanted, port)}
            if last:
                clash[at] = any(last.values()) or self._taken_otherwise(wanted, at, last)
        return clash if clash.any() else None

    def _taken_otherwise(self, wanted: HostPort, at: int, changed: Collection[HostPort]) -> bool:
        ports = self.view.nodes.ports
        row = self.index[at]
        return any(port not in changed and column.data[row] for port, column in ports.conflicting(wanted))

    def pods(self, at: int) -> Sequence[PodInfo]:
        """The pods of the world at a position."""
        removed = self._removed[at]
        base = super().pods(at)
        kept = [pod for pod in base if pod not in removed] if removed else list(base)
        return kept + self._added[at]
