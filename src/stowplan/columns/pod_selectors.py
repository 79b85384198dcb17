"""Which pods a term or constraint speaks of, labels within namespaces; and an index to find such selectors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, final

from stowplan.api.selectors import NOTHING, Operator, Selector

T = TypeVar("T")

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PodSelector:
    """Pods with matching labels in the named namespaces, or in namespaces that the namespace selector picks."""

    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector = NOTHING

    def picks_namespace(self, name: str, labels: Labels | None, *, unknown: Labels | None) -> bool:
        """Whether pods of a namespace are meant. `unknown` stands for the labels of a namespace nobody has seen."""
        if name in self.namespaces or self.namespace_selector.is_everything:
            return True
        known = labels if labels is not None else unknown
        return known is not None and self.namespace_selector.matches(known)

    @property
    def reads_namespaces(self) -> bool:
        """Whether the answer can change with a namespace's labels."""
        return not (self.namespace_selector.is_everything or self.namespace_selector.is_nothing)


def demanded_pair(selector: Selector) -> tuple[str, str] | None:
    """A label and value without which nothing matches the selector, if it has such."""
    for requirement in selector.requirements or ():
        if requirement.operator is Operator.IN and len(requirement.values) == 1:
            return requirement.key, requirement.values[0]
    return None


@final
class SelectorIndex(Generic[T]):
    """Finds the items whose selector may match a label set without asking each: by one label value it demands."""

    __slots__ = ("_by_pair", "_rest")

    def __init__(self) -> None:
        self._by_pair: dict[tuple[str, str], dict[T, None]] = {}
        self._rest: dict[T, None] = {}

    def add(self, selector: Selector, item: T) -> None:
        """File an item under its selector."""
        pair = demanded_pair(selector)
        if pair is None:
            self._rest[item] = None
        else:
            self._by_pair.setdefault(pair, {})[item] = None

    def remove(self, selector: Selector, item: T) -> None:
        """Take an item out."""
        pair = demanded_pair(selector)
        if pair is None:
            del self._rest[item]
            return
        items = self._by_pair[pair]
        del items[item]
        if not items:
            del self._by_pair[pair]

    def candidates(self, labels: Labels) -> Iterator[T]:
        """All items whose selector can possibly match."""
        yield from self._rest
        if self._by_pair:
            for pair in labels.items():
                yield from self._by_pair.get(pair, ())
