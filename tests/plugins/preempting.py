"""Failed attempts for the tests of preemption, and a twin that really removes pods and puts them back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, final

from stowplan.api.meta import KubeObject, ObjectMeta
from stowplan.api.pod import Pod
from stowplan.api.policy import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.composition import set_up
from stowplan.framework.extender import Extender, ExtenderAnswer, ExtenderError, Victims
from stowplan.framework.post_filter import FailedAttempt
from stowplan.framework.profile import Profile
from stowplan.framework.runner import NOBODY_NOMINATED, Judgement, Prepared, run_filters_with_nominated, run_prepare
from stowplan.testing.builders import cluster, select

NOW: Final = 4_000_000_000.0
PROFILE: Final = set_up().first


@final
@dataclass(frozen=True, slots=True)
class ProfileJudge:
    """All filters of the default profile."""

    profile: Profile
    prepared: Prepared
    pod: PodInfo

    def judge(self, rows: Rows) -> Judgement:
        return run_filters_with_nominated(self.profile, self.prepared, self.pod, rows, NOBODY_NOMINATED)


def failed_attempt(
    built: Cluster, incoming: Pod, *, extenders: Sequence[Extender] = (), hopeless: bool = False, seed: int = 0
) -> FailedAttempt:
    """An attempt for a pod; the nodes that turn it down for now are those to try."""
    view, info = built.view(), built.compiler.compile(incoming)
    prepared = run_prepare(PROFILE, view, info)
    judge = ProfileJudge(PROFILE, prepared, info)
    judgement = judge.judge(view.rows)
    return FailedAttempt(
        view=view,
        pod=info,
        prepared=prepared,
        judgement=judgement,
        helpable=view.rows.select(~judgement.passed_n & ~judgement.unresolvable_n),
        nominated_is_hopeless=hopeless,
        judge=judge,
        extenders=extenders,
        now=NOW,
        rng=Random(seed),
    )


def budget(
    allowed: int, *, namespace: str = "default", disrupted: Sequence[str] = (), name: str = "b", **labels: str
) -> PodDisruptionBudget:
    """A budget for pods with these labels."""
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=PodDisruptionBudgetSpec(selector=select(**labels)),
        status=PodDisruptionBudgetStatus(
            disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted, "2026-01-01T00:00:00Z")
        ),
    )


@final
@dataclass(slots=True)
class PreemptExtender:
    """An extender that has a word in preemption only."""

    answer: Callable[[Mapping[str, Victims]], Mapping[str, Victims]]
    ignorable: bool = False
    wants: bool = True
    name: str = "ext"
    filters: bool = False
    prioritizes: bool = False
    preempts: bool = True
    weight: int = 1
    asked: list[set[str]] = field(default_factory=list)

    def interested(self, pod: PodInfo) -> bool:
        return self.wants

    def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderAnswer:
        raise AssertionError("it does not filter")

    def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        raise AssertionError("it does not prioritize")

    def preempt(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
        self.asked.append(set(victims))
        return self.answer(victims)


def fails(_victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
    """An extender that cannot be reached."""
    raise ExtenderError("unreachable")


# ---- the twin


def start(found: Pod) -> str:
    """When a pod started; RFC 3339 in one zone sorts as text."""
    assert found.status.start_time is not None
    return found.status.start_time


def victims_twin(
    objects: Sequence[KubeObject], incoming: Pod, node_name: str, budgets: Sequence[PodDisruptionBudget]
) -> tuple[list[str], int] | None:
    """Names of the victims on a node and how many violate a budget; None when the pod would not even fit then."""
    real = cluster(*objects)

    def fits() -> bool:
        view, info = real.view(), real.compiler.compile(incoming)
        prepared = run_prepare(PROFILE, view, info)
        if prepared.rejected is not None:
            return False
        return bool(ProfileJudge(PROFILE, prepared, info).judge(view.only([node_name])).passed_n.all())

    there = [obj for obj in objects if isinstance(obj, Pod) and obj.spec.node_name == node_name]
    weaker = [p for p in there if (p.spec.priority or 0) < (incoming.spec.priority or 0)]
    for weak in weaker:
        real.remove_pod(weak.uid)
    if not weaker or not fits():
        return None
    weaker.sort(key=lambda p: (-(p.spec.priority or 0), start(p)))
    left = {id(b): b.status.disruptions_allowed for b in budgets}
    violating = []
    for weak in weaker:
        guards = [b for b in budgets if b.namespace == weak.namespace and covers(b, weak)]
        for guard in guards:
            left[id(guard)] -= 1
        if any(left[id(guard)] < 0 for guard in guards):
            violating.append(weak)
    victims = []
    for weak in [*violating, *(w for w in weaker if w not in violating)]:
        real.put_pod(weak)
        if not fits():
            real.remove_pod(weak.uid)
            victims.append(weak)
    victims.sort(key=weaker.index)
    return [victim.name for victim in victims], sum(victim in violating for victim in victims)


def covers(guard: PodDisruptionBudget, guarded: Pod) -> bool:
    """Whether a budget made here speaks of a pod."""
    assert guard.spec.selector is not None
    wanted = guard.spec.selector.match_labels.items()
    return bool(wanted) and wanted <= guarded.labels.items()
