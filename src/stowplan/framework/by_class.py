"""What was worked out for pod classes lately, so that it need not be worked out for each of their pods."""

from typing import Final, Generic, TypeVar, final

from stowplan.columns.pods import PodClass

T = TypeVar("T")

MOST_KEPT: Final = 1024


@final
class ByClass(Generic[T]):
    """One value per pod class, forgotten all at once when there are many."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[PodClass, T] = {}

    def get(self, cls: PodClass) -> T | None:
        """What is known of a class."""
        return self._kept.get(cls)

    def put(self, cls: PodClass, value: T) -> T:
        """Keep a value, and give it back."""
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[cls] = value
        return value
