"""A snapshot of a cluster from a file: a kubectl list, a multi-document YAML, or a scenario."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from stowplan.api.codec import check_quantities, decode_object, expand_list
from stowplan.api.documents import load_documents
from stowplan.api.errors import ApiError, UnknownKindError
from stowplan.api.meta import KubeObject
from stowplan.api.pod import Pod
from stowplan.sim.operators import unknown_operator
from stowplan.sim.scenario import Scenario, ScenarioError, decode_scenario
from stowplan.sim.scenario_files import FileError, read_lines

SCENARIO_HINT: Final = b'"pending"'


class SnapshotError(Exception):
    """Raised when a snapshot cannot be read, or does not hold what was asked for; names the file and the place."""


@final
@dataclass(frozen=True, slots=True)
class Snapshot:
    """The objects of a file; `pending` are pods to place first, one after another, before the one asked about."""

    objects: tuple[KubeObject, ...]
    pending: tuple[Pod, ...] = ()
    config: bytes | None = None


def load_snapshot(filename: str, *, pod_key: str) -> Snapshot:
    """Read a snapshot in which a pod (namespace/name) is to be found. Raises SnapshotError."""
    scenario = _scenario_with(filename, pod_key)
    if scenario is not None:
        keys = [pod.key for pod in scenario.pending]
        before = scenario.pending[: keys.index(pod_key) + 1] if pod_key in keys else ()
        return Snapshot(scenario.objects, before, scenario.config)
    return Snapshot(tuple(_objects(filename)))


def _scenario_with(filename: str, pod_key: str) -> Scenario | None:
    """The scenario of a scenarios file that holds the pod; None when it is another kind of file."""
    found = 0
    try:
        for line in read_lines(filename):
            if not found and (not line.data.lstrip().startswith(b"{") or SCENARIO_HINT not in line.data):
                return None
            found += 1
            scenario = decode_scenario(line.data)
            if any(obj.key == pod_key for obj in (*scenario.pending, *scenario.objects) if isinstance(obj, Pod)):
                return scenario
    except FileError as error:
        raise SnapshotError(str(error)) from error
    except ScenarioError as error:
        raise SnapshotError(f"{filename}:{found}: {error}") from error
    if found:
        raise SnapshotError(f"{filename}: none of its {found} scenarios has a pod {pod_key}")
    return None


def _objects(filename: str) -> list[KubeObject]:
    try:
        data = Path(filename).read_bytes()
    except OSError as error:
        raise SnapshotError(f"{filename}: {error.strerror}") from error
    objects: list[KubeObject] = []
    try:
        for place, document in load_documents(data, filename):
            for path, item in expand_list(document):
                try:
                    obj = decode_object(item)
                    check_quantities(obj)
                    fault = unknown_operator(item)
                    if fault is not None:
                        raise SnapshotError(f"{place}: {f'{path}: ' if path else ''}{obj.kind} {obj.key}: {fault}")
                    objects.append(obj)
                except UnknownKindError:
                    continue
                except ApiError as error:
                    raise SnapshotError(f"{place}: {f'{path}: ' if path else ''}{error}") from error
    except ApiError as error:
        raise SnapshotError(str(error)) from error
    if not objects:
        raise SnapshotError(f"{filename}: holds no object that scheduling reads")
    return objects
