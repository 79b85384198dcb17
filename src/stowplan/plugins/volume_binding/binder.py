"""Binder: assumes what a pod is to get, writes it to the API, waits until it is so, and takes it back on failure.

Upstream: AssumePodVolumes and BindPodVolumes in pkg/scheduler/framework/plugins/volumebinding/binder.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Final, TypeVar, final

from msgspec.structs import replace

from stowplan.api.claims import BOUND_BY_CONTROLLER, SELECTED_NODE, is_bound
from stowplan.api.csi_migration import (
    ALWAYS_MIGRATED,
    MIGRATED_PLUGINS,
    MigrationError,
    plugin_of,
    translate,
    translated_affinity,
)
from stowplan.api.meta import KubeObject, ObjectReference
from stowplan.api.node import Node
from stowplan.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim
from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.framework.plugin import ApiFailure, Binding, PluginError
from stowplan.plugins.volume_binding.affinity import mismatch
from stowplan.plugins.volume_binding.assume_cache import AssumeCache, AssumeError
from stowplan.plugins.volume_binding.claims import all_bound
from stowplan.plugins.volume_binding.finding import Finder
from stowplan.plugins.volume_binding.plan import Match, Reservation, VolumePlan

K = TypeVar("K", bound=KubeObject)

POLL_SECONDS: Final = 1.0


@final
class Binder:
    """Works on the versions that a profile assumes."""

    def __init__(
        self,
        volumes: AssumeCache[PersistentVolume],
        claims: AssumeCache[PersistentVolumeClaim],
        finder: Finder,
        timeout: float,
    ) -> None:
        self._volumes = volumes
        self._claims = claims
        self._finder = finder
        self._timeout = timeout

    def assume(self, view: View, pod: PodInfo, node_name: str, plan: VolumePlan) -> Reservation:
        """Count on what the pod gets on the node, so that nobody else does. Raises PluginError."""
        if all_bound(self._claims, pod.pod):
            return Reservation([], [], all_bound=True)
        wanted = self._finder.reserve(view, plan, node_name)
        if isinstance(wanted, str):
            raise PluginError(wanted)
        assumed = Reservation([], [])
        try:
            for match in wanted.bindings:
                volume = bound_to(match.volume, match.claim)
                if volume is not match.volume:
                    self._volumes.assume(volume)
                assumed.bindings.append(Match(volume, match.claim))
            for claim in wanted.provisions:
                annotated = annotate(claim, SELECTED_NODE, node_name)
                self._claims.assume(annotated)
                assumed.provisions.append(annotated)
        except AssumeError as error:
            self.revert(assumed)
            raise PluginError(str(error)) from error
        return assumed

    def revert(self, reservation: Reservation) -> None:
        """Take back what was assumed; what the API has taken over stays."""
        self._restore(reservation.bindings, reservation.provisions)

    async def bind(self, binding: Binding, reservation: Reservation) -> None:
        """Write it all, and wait until the volume controller has done its part. Raises PluginError."""
        provisions = await self._write(binding, reservation)
        try:
            await self._wait(binding, reservation.bindings, provisions)
        except PluginError as error:
            raise PluginError(f"binding volumes: {error}") from error

    def _restore(self, bindings: Sequence[Match], provisions: Sequence[PersistentVolumeClaim]) -> None:
        for match in bindings:
            self._volumes.restore(match.volume)
        for claim in provisions:
            self._claims.restore(claim)

    async def _write(self, binding: Binding, reservation: Reservation) -> list[PersistentVolumeClaim]:
        """Update volumes, then claims; what was not written when something fails is no longer assumed."""
        bindings, provisions = reservation.bindings, list(reservation.provisions)
        bound = written = 0
        try:
            for i, match in enumerate(bindings):
                bindings[i] = Match(await binding.writer.update(match.volume), match.claim)
                bound += 1
            for i, claim in enumerate(provisions):
                provisions[i] = await binding.writer.update(claim)
                written += 1
        except ApiFailure as error:
            raise PluginError(str(error)) from error
        finally:
            self._restore(bindings[bound:], reservation.provisions[written:])
        return provisions

    async def _wait(
        self, binding: Binding, bindings: Sequence[Match], provisions: Sequence[PersistentVolumeClaim]
    ) -> None:
        writer = binding.writer
        deadline = writer.now() + self._timeout
        while True:
            await writer.pause(max(min(POLL_SECONDS, deadline - writer.now()), 0.0))
            if writer.now() >= deadline:
                raise PluginError("context deadline exceeded")
            if self._done(binding, bindings, provisions):
                return

    def _done(self, binding: Binding, bindings: Sequence[Match], provisions: Sequence[PersistentVolumeClaim]) -> bool:
        """Whether all is bound by what the API itself says. Raises PluginError when it never will be."""
        node = binding.find_node()
        if node is None:
            missing = f'node "{binding.node_name}" not found'
            raise PluginError(f'failed to get node "{binding.node_name}": {missing}')
        if not binding.pod_exists():
            raise PluginError(f'pod does not exist any more: pod "{binding.pod.pod.name}" not found')
        check = _Check(binding, node)
        return all(check.bound(match) for match in bindings) and all(check.provisioned(claim) for claim in provisions)


@final
class _Check:
    """The state of what was written for one pod, as the watch shows it."""

    def __init__(self, binding: Binding, node: Node) -> None:
        self._objects = binding.objects
        self._node = node

    def bound(self, match: Match) -> bool:
        name, key = match.volume.name, match.claim.key
        volume = self._objects.get(PersistentVolume, name)
        if volume is None:
            raise PluginError(f'failed to check binding: persistentvolumes "{name}" not found')
        claim = self._objects.get(PersistentVolumeClaim, key)
        if claim is None:
            raise PluginError(f'failed to check binding: persistentvolumeclaims "{key}" not found')
        if is_newer(match.volume, volume):
            return False
        self._check_affinity(volume, "failed to translate pv to csi: ")
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            raise PluginError(f'ClaimRef got reset for pv "{name}"')
        return is_bound(claim)

    def provisioned(self, written: PersistentVolumeClaim) -> bool:
        claim = self._objects.get(PersistentVolumeClaim, written.key)
        if claim is None:
            raise PluginError(f'failed to check provisioning pvc: persistentvolumeclaims "{written.key}" not found')
        if is_newer(written, claim):
            return False
        if not claim.metadata.annotations:
            raise PluginError(f'selectedNode annotation reset for PVC "{claim.name}"')
        if claim.metadata.annotations.get(SELECTED_NODE, "") != self._node.name:
            raise PluginError(f'provisioning failed for PVC "{claim.name}"')
        if claim.spec.volume_name:
            volume = self._objects.get(PersistentVolume, claim.spec.volume_name)
            if volume is None:
                return False
            self._check_affinity(volume, "")
        return is_bound(claim)

    def _check_affinity(self, volume: PersistentVolume, untranslatable: str) -> None:
        affinity = volume.spec.node_affinity
        plugin = plugin_of(volume)
        if plugin in ALWAYS_MIGRATED and plugin in self._migrated():
            try:
                translate(volume)
            except MigrationError as error:
                raise PluginError(f"{untranslatable}could not translate pv: {error}") from error
            affinity = translated_affinity(volume)
        wrong = mismatch(affinity, self._node.labels)
        if wrong is not None:
            told = f'pv "{volume.name}" node affinity doesn\'t match node "{self._node.name}": {wrong}'
            raise PluginError(told)

    def _migrated(self) -> list[str]:
        csi_node = self._objects.get(CSINode, self._node.name)
        return [] if csi_node is None else csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume with a reference to the claim; the very same one when it has all it needs."""
    changed = volume
    ref = volume.spec.claim_ref
    meant = ref is not None and (ref.namespace, ref.name) == (claim.namespace, claim.name)
    if ref is None or not meant or ref.uid != claim.uid:
        to_claim = ObjectReference(
            kind=PersistentVolumeClaim.kind,
            namespace=claim.namespace,
            name=claim.name,
            uid=claim.uid,
            api_version=PersistentVolumeClaim.api_version,
            resource_version=claim.metadata.resource_version,
        )
        changed = replace(changed, spec=replace(volume.spec, claim_ref=to_claim))
    by_user = ref is not None and meant and ref.uid in {"", claim.uid}
    if not by_user and BOUND_BY_CONTROLLER not in volume.metadata.annotations:
        changed = annotate(changed, BOUND_BY_CONTROLLER, "yes")
    return changed


def is_newer(ours: KubeObject, theirs: KubeObject) -> bool:
    """Whether the version we got back from the API is ahead of another. Raises PluginError for a malformed version."""
    return _version(ours) > _version(theirs)


def _version(obj: KubeObject) -> int:
    written = obj.metadata.resource_version
    if written and not (written.isascii() and written.isdigit()):
        raise PluginError(f"{obj.kind} {obj.key}: resource version {written!r} is no number")
    return int(written or 0)


def annotate(obj: K, key: str, value: str) -> K:
    """The object with one more annotation."""
    return replace(obj, metadata=replace(obj.metadata, annotations={**obj.metadata.annotations, key: value}))
