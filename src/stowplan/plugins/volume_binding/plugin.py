"""VolumeBinding: pods go where their volumes can be reached, found or made, and get them before they are bound.

Upstream: pkg/scheduler/framework/plugins/volumebinding (v1.36.4).
"""

from collections.abc import Mapping
from typing import Any, Final, Self, final

from stowplan.api.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.columns.csi_nodes import CSINodeColumns
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import (
    SKIP,
    Binding,
    FilterPlugin,
    PluginContext,
    PluginError,
    PreBindPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    Skip,
)
from stowplan.framework.plugin_args import VolumeBindingArgs
from stowplan.framework.verdict import Rejection, Verdict, unresolvable
from stowplan.framework.wake import Change, Kind, Wake
from stowplan.goarith import IntN
from stowplan.plugins.volume_binding.assume_cache import AssumeCache
from stowplan.plugins.volume_binding.binder import Binder
from stowplan.plugins.volume_binding.claims import sort_claims, unusable
from stowplan.plugins.volume_binding.finding import Finder
from stowplan.plugins.volume_binding.hints import (
    claim_changed,
    class_changed,
    driver_stopped_counting,
    plugins_migrated,
    pool_grew,
)
from stowplan.plugins.volume_binding.plan import VolumePlan
from stowplan.plugins.volume_binding.scoring import Scorer
from stowplan.plugins.volume_binding.volumes import VolumeTable

NAME: Final = "VolumeBinding"
CAME_OR_CHANGED: Final = Change.ADDED | Change.UPDATED


@final
class VolumeBinding(
    PreFilterPlugin[VolumePlan],
    FilterPlugin[VolumePlan],
    PreScorePlugin[VolumePlan],
    ScorePlugin[VolumePlan],
    ReservePlugin,
    PreBindPlugin,
):
    """Finds volumes for the pod's claims on every node, and binds those of the chosen one."""

    name = NAME
    args_type = VolumeBindingArgs
    wakes = (
        Wake(Kind.STORAGE_CLASS, CAME_OR_CHANGED, class_changed),
        Wake(Kind.PERSISTENT_VOLUME_CLAIM, CAME_OR_CHANGED, claim_changed),
        Wake(Kind.PERSISTENT_VOLUME, CAME_OR_CHANGED),
        Wake(Kind.NODE, Change.ADDED | Change.NODE_LABELS),
        Wake(Kind.CSI_NODE, CAME_OR_CHANGED, plugins_migrated),
        Wake(Kind.CSI_DRIVER, Change.UPDATED, driver_stopped_counting),
        Wake(Kind.CSI_STORAGE_CAPACITY, CAME_OR_CHANGED, pool_grew),
    )

    def __init__(self, args: VolumeBindingArgs | None = None, context: PluginContext | None = None) -> None:
        args, context = args or VolumeBindingArgs(), context or PluginContext()
        # parity: each profile assumes for itself; a volume that two of them want is refused to one by the API
        self._volumes = AssumeCache(PersistentVolume, "persistentvolumes")
        self._claims = AssumeCache(PersistentVolumeClaim, "persistentvolumeclaims")
        self._finder = Finder(self._volumes, context.books.of(CSINodeColumns), VolumeTable(self._volumes))
        self._binder = Binder(self._volumes, self._claims, self._finder, float(args.bind_timeout_seconds))
        scores = context.gates.on("StorageCapacityScoring") and args.shape is not None
        self._scorer = Scorer(args.shape or ()) if scores else None

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> Self:
        """The time to bind, and the shape of the score where the gate for it is open."""
        return cls(args, context)

    def prepare(self, view: View, pod: PodInfo) -> VolumePlan | Skip | Rejection:
        """Sort the pod's claims; pods wait for claims that cannot be used or that somebody else binds."""
        volumes = pod.cls.spec.volumes
        if not any(v.persistent_volume_claim is not None or v.ephemeral is not None for v in volumes):
            return SKIP
        self._watch(view)
        wrong = unusable(view.objects, pod.pod)
        if wrong is not None:
            return unresolvable(wrong)
        return sort_claims(view.objects, self._claims, pod.pod)

    def filter(self, pod: PodInfo, rows: Rows, plan: VolumePlan) -> Verdict:
        """Nodes fail with all that stands in the way."""
        self._watch(rows.view)
        return self._finder.find(rows, plan).verdict

    def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> VolumePlan | Skip:
        """Only behind the gate."""
        plan: VolumePlan | None = plans.get(NAME)
        return SKIP if self._scorer is None or plan is None else plan

    def score(self, pod: PodInfo, rows: Rows, plan: VolumePlan) -> IntN:
        """How full the storage would be that the pod would use."""
        assert self._scorer is not None
        self._watch(rows.view)
        return self._scorer.score(self._finder.find(rows, plan), self._finder.volumes, self._finder.capacities)

    def reserve(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> Rejection | None:
        """Count on the volumes of the chosen node."""
        plan: VolumePlan | None = plans.get(NAME)
        if plan is None:
            return None
        self._watch(view)
        try:
            plan.reservation = self._binder.assume(view, pod, node_name, plan)
        except PluginError as error:
            raise PluginError(f'running Reserve plugin "{NAME}": {error}') from error
        return None

    def unreserve(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> None:
        """Take back what was assumed for the pod; what is written stays written, as upstream leaves it."""
        plan: VolumePlan | None = plans.get(NAME)
        if plan is not None and plan.reservation is not None:
            self._binder.revert(plan.reservation)
            plan.reservation = None

    def pre_bind_needed(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> bool:
        """Pods whose claims are all bound need nothing."""
        plan: VolumePlan | None = plans.get(NAME)
        if plan is None:
            return False
        if plan.reservation is None:
            raise PluginError(f'no pod volume found for node "{node_name}"')
        return not plan.reservation.all_bound

    async def pre_bind(self, binding: Binding) -> Rejection | None:
        """Write volumes and claims, and wait until they are bound."""
        plan: VolumePlan | None = binding.plans.get(NAME)
        if plan is None:
            return None
        if plan.reservation is None:
            raise PluginError(f'no pod volume found for node "{binding.node_name}"')
        if not plan.reservation.all_bound:
            await self._binder.bind(binding, plan.reservation)
        return None

    def _watch(self, view: View) -> None:
        self._volumes.watch(view.objects)
        self._claims.watch(view.objects)
