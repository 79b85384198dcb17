"""All resources that are served right now, by address and by kind."""

from collections.abc import Iterable, Iterator
from typing import final

from stowplan.apiserver.resources.types import Resource


@final
class Registry:
    """Built-in kinds stay; custom kinds come and go."""

    def __init__(self, builtin: Iterable[Resource]) -> None:
        self._by_address: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str, str], Resource] = {}
        self.generation = 0
        for resource in builtin:
            self._add(resource)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource at an address."""
        return self._by_address.get((group, version, plural))

    def find_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource of a kind."""
        return self._by_kind.get((group, version, kind))

    def builtin(self, plural: str, group: str = "") -> Resource:
        """The resource of a built-in kind that surely exists."""
        return next(known for known in self if known.plural == plural and known.group == group)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_address.values())

    def groups(self) -> dict[str, list[str]]:
        """Group names with their versions, the preferred one first."""
        found: dict[str, list[str]] = {}
        for group, version, _ in self._by_address:
            versions = found.setdefault(group, [])
            if version not in versions:
                versions.append(version)
        for versions in found.values():
            versions.sort(key=version_rank)
        return found

    def in_version(self, group: str, version: str) -> list[Resource]:
        """The resources of one group version, in the order of their names."""
        return sorted(
            (known for known in self if (known.group, known.version) == (group, version)),
            key=lambda known: known.plural,
        )

    def replace_custom(self, definition: str, resources: Iterable[Resource]) -> None:
        """Serve exactly these versions of one custom kind."""
        for address, known in list(self._by_address.items()):
            if known.custom is not None and known.custom.definition == definition:
                del self._by_address[address]
                self._by_kind.pop((known.group, known.version, known.kind), None)
        for resource in resources:
            self._add(resource)
        self.generation += 1

    def _add(self, resource: Resource) -> None:
        self._by_address[resource.group, resource.version, resource.plural] = resource
        self._by_kind[resource.group, resource.version, resource.kind] = resource


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Sort key: stable before beta before alpha, newer before older, the rest by name."""
    for rank, mark in ((1, "beta"), (2, "alpha")):
        major, found, minor = version[1:].partition(mark)
        if version.startswith("v") and found and major.isdecimal() and minor.isdecimal():
            return rank, -int(major), -int(minor), version
    if version.startswith("v") and version[1:].isdecimal():
        return 0, -int(version[1:]), 0, version
    return 3, 0, 0, version
