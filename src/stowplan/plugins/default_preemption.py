"""DefaultPreemption: make room for a pod by evicting less important ones from one node.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption and pkg/scheduler/framework/preemption (v1.36.4).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any, Final, Self, final

import numpy as np

from stowplan.api.errors import SelectorError
from stowplan.api.gotext import aggregate
from stowplan.api.pod import find_condition
from stowplan.api.policy import PodDisruptionBudget
from stowplan.api.selectors import Selector, compile_label_selector
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.columns.worlds import Worlds
from stowplan.framework.extender import ExtenderError, Victims
from stowplan.framework.fit_error import fit_error_text
from stowplan.framework.plugin import PluginContext, PluginError, PostFilterPlugin, PreEnqueuePlugin
from stowplan.framework.plugin_args import DefaultPreemptionArgs
from stowplan.framework.post_filter import FailedAttempt, Nomination, NoRoom, PostFilterResult
from stowplan.framework.verdict import Rejection, fatal, rejection, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake

NEVER: Final = rejection("preemption: not eligible due to preemptionPolicy=Never.")
VICTIMS_LEAVING: Final = rejection("preemption: not eligible due to a terminating pod on the nominated node.")
NO_CANDIDATE: Final = rejection("preemption: no candidate node for preemption")
STILL_EVICTING: Final = unresolvable("waiting for the preemption for this pod to be finished")
NO_VICTIMS: Final = unresolvable("No preemption victims found for incoming pod")
NOT_HELPFUL: Final = unresolvable("Preemption is not helpful for scheduling")

INSERTION_SORTED: Final = 12
PRIORITY_OFFSET: Final = 2**31  # makes every priority positive, so that fewer victims never weigh more


def never(_pod: PodInfo, _event: ObjectEvent, _view: View) -> bool:
    """The plugins that rejected the pod before know what to wait for; preemption itself wakes nobody."""
    return False


@final
class DefaultPreemption(PostFilterPlugin, PreEnqueuePlugin):
    """Nominates the node where evictions do the least harm."""

    name = "DefaultPreemption"
    args_type = DefaultPreemptionArgs
    wakes = (Wake(Kind.POD, Change.DELETED, never),)

    def __init__(self, args: DefaultPreemptionArgs = DefaultPreemptionArgs()) -> None:  # noqa: B008 - frozen
        self._args = args
        self.evicting: set[str] = set()
        """Uids of pods whose victims are being evicted; the shell that evicts keeps it."""

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> Self:
        """With the arguments of the profile."""
        return cls(args or DefaultPreemptionArgs())

    def pre_enqueue(self, view: View, pod: PodInfo) -> Rejection | None:
        """A pod waits until its evictions are done."""
        return STILL_EVICTING if pod.uid in self.evicting else None

    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        """Make room, where that is possible. Raises PluginError."""
        try:
            return self._make_room(attempt)
        except PluginError as error:
            raise PluginError(f"preemption: {error}") from error

    def _make_room(self, attempt: FailedAttempt) -> PostFilterResult:
        """Find candidates, let extenders object, pick the best."""
        refusal = not_eligible(attempt)
        if refusal is not None:
            return NoRoom(refusal)
        candidates, rejections = self._find_candidates(attempt)
        failures = [why.message for why in rejections if why.fatal]
        if failures and not candidates:
            raise PluginError(aggregate(failures))
        if not candidates:
            text = fit_error_text(
                nodes=len(attempt.view),
                pre_filter_message="",
                rejections=[(why, 1) for why in rejections],
                absent=NOT_HELPFUL,
                post_filter_message="",
            )
            return NoRoom(rejection(f"preemption: {text}"), voids_nomination=True)
        candidates = ask_extenders(attempt, candidates)
        if not candidates:
            return NoRoom(NO_CANDIDATE)
        node_name = pick_node(candidates, attempt)
        return Nomination(node_name, candidates[node_name].pods)

    def _find_candidates(self, attempt: FailedAttempt) -> tuple[dict[str, Victims], list[Rejection]]:
        """Candidates with their victims, and why the other nodes that were tried are none.

        Nodes are tried from a random start until enough candidates are found, one of which violates no budget.
        """
        helpable = attempt.helpable
        candidates: dict[str, Victims] = {}
        rejections: list[Rejection] = []
        if not len(helpable):
            return candidates, rejections
        budgets = [Budget.of(budget) for budget in attempt.view.objects.all(PodDisruptionBudget).values()]
        enough = self._enough(len(helpable))
        order = np.roll(helpable.index, -attempt.rng.randrange(len(helpable)))
        harmless = False
        for start in range(0, len(order), enough):
            rows = Rows(attempt.view, order[start : start + enough])
            for name, result in zip(rows.names, select_victims(attempt, rows, budgets), strict=True):
                if isinstance(result, Rejection):
                    rejections.append(result)
                    continue
                candidates[name] = result
                harmless = harmless or not result.violations
                if harmless and len(candidates) >= enough:
                    return candidates, rejections
        return candidates, rejections

    def _enough(self, nodes: int) -> int:
        args = self._args
        wanted = max(nodes * args.min_candidate_nodes_percentage // 100, args.min_candidate_nodes_absolute)
        return max(1, min(wanted, nodes))


def not_eligible(attempt: FailedAttempt) -> Rejection | None:
    """Why the pod may not preempt: it must not, or its earlier victims are still leaving."""
    pod = attempt.pod
    if pod.cls.spec.preemption_policy == "Never":
        return NEVER
    nominated = pod.pod.status.nominated_node_name
    if not nominated or attempt.nominated_is_hopeless:
        return None
    row = attempt.view.row_of(nominated)
    if row is None:
        return None
    leaving = (other for other in attempt.view.nodes.pods_on[row] if other.priority < pod.priority)
    return VICTIMS_LEAVING if any(leaves_for_preemption(other) for other in leaving) else None


def leaves_for_preemption(pod: PodInfo) -> bool:
    """Whether a pod is being deleted because the scheduler evicted it."""
    if not pod.terminating:
        return False
    condition = find_condition(pod.pod.status.conditions, "DisruptionTarget")
    return condition is not None and condition.status == "True" and condition.reason == "PreemptionByScheduler"


@final
@dataclass(frozen=True, slots=True)
class Budget:
    """A disruption budget, as far as it protects pods here."""

    namespace: str
    selector: Selector | None
    """None when it protects nobody: no selector, an empty one, or a malformed one."""
    allowed: int
    disrupted: Mapping[str, Any]

    @staticmethod
    def of(budget: PodDisruptionBudget) -> "Budget":
        """Compile a budget."""
        try:
            selector: Selector | None = compile_label_selector(budget.spec.selector)
        except SelectorError:
            selector = None
        if selector is not None and (selector.is_everything or selector.is_nothing):
            selector = None
        return Budget(budget.namespace, selector, budget.status.disruptions_allowed, budget.status.disrupted_pods)

    def covers(self, pod: PodInfo) -> bool:
        """Whether evicting the pod uses the budget up; one that the API server has processed already does not."""
        return (
            self.selector is not None
            and self.namespace == pod.cls.namespace
            and self.selector.matches(pod.cls.labels)
            and pod.pod.metadata.name not in self.disrupted
        )


def split_by_budgets(victims: Sequence[PodInfo], budgets: Sequence[Budget]) -> tuple[list[PodInfo], list[PodInfo]]:
    """Victims whose eviction violates a budget, and the others; both in the order given."""
    left = [budget.allowed for budget in budgets]
    violating: list[PodInfo] = []
    harmless: list[PodInfo] = []
    for pod in victims:
        violates = False
        if pod.cls.labels:
            for i, budget in enumerate(budgets):
                if budget.covers(pod):
                    left[i] -= 1
                    violates = violates or left[i] < 0
        (violating if violates else harmless).append(pod)
    return violating, harmless


def more_important(a: PodInfo, b: PodInfo, now: float) -> bool:
    """Whether a pod is more important than another: higher priority, or the same and started earlier."""
    if a.priority != b.priority:
        return a.priority > b.priority
    # parity: a pod that has not started counts as starting this very moment, each time it is asked; of two
    # such pods the one asked first is therefore the older (GetPodStartTime in pkg/scheduler/util/utils.go)
    started_a, started_b = a.start_seconds, b.start_seconds
    if started_a is None:
        return started_b is None or now < started_b
    return (now if started_b is None else started_b) > started_a


def by_importance(pods: Sequence[PodInfo], now: float) -> list[PodInfo]:
    """The most important first."""
    if len(pods) > INSERTION_SORTED:

        def compare(a: PodInfo, b: PodInfo) -> int:
            return more_important(b, a, now) - more_important(a, b, now)

        return sorted(pods, key=cmp_to_key(compare))
    # parity: Go sorts so few by insertion, each pod moving ahead while it is the more important one, which turns
    # the order of pods that have not started around; how upstream orders ties among more pods is chance
    ordered: list[PodInfo] = []
    for pod in pods:
        at = len(ordered)
        while at and more_important(pod, ordered[at - 1], now):
            at -= 1
        ordered.insert(at, pod)
    return ordered


def select_victims(attempt: FailedAttempt, rows: Rows, budgets: Sequence[Budget]) -> list[Victims | Rejection]:
    """Per row the smallest set of victims, found for all rows at once: each row is a world of its own.

    All less important pods are removed; where the pod then fits, they come back one by one, those whose eviction
    would violate a budget first, the most important first, as long as the pod still fits.
    """
    worlds = Worlds(attempt.view, rows.index)
    results: list[Victims | Rejection] = [NO_VICTIMS] * len(rows)
    weaker = [[pod for pod in rows.pods(at) if pod.priority < attempt.pod.priority] for at in range(len(rows))]
    for at, pods in enumerate(weaker):
        for pod in pods:
            worlds.remove(at, pod)
    tried = np.array([bool(pods) for pods in weaker], np.bool_)
    if not tried.any():
        return results

    judgement = attempt.judge.judge(worlds.select(tried))
    fits: list[int] = []
    for position, at in enumerate(np.flatnonzero(tried).tolist()):
        rejected = judgement.at(position)
        if rejected is None:
            fits.append(at)
        else:
            results[at] = fatal(rejected.failure) if rejected.why.fatal else rejected.why
    if not fits:
        return results

    violating: dict[int, list[PodInfo]] = {}
    queues: dict[int, list[PodInfo]] = {}
    for at in fits:
        violating[at], harmless = split_by_budgets(by_importance(weaker[at], attempt.now), budgets)
        queues[at] = violating[at] + harmless
    evicted = reprieve(attempt, worlds, queues)
    for at in fits:
        if not evicted[at]:
            results[at] = fatal(f'expected at least one victim pod on node "{rows.names[at]}"')
            continue
        violations = sum(pod in violating[at] for pod in evicted[at])
        mixed = violating[at] and len(violating[at]) < len(queues[at])
        results[at] = Victims(by_importance(evicted[at], attempt.now) if mixed else evicted[at], violations)
    return results


def reprieve(
    attempt: FailedAttempt, worlds: Worlds, queues: Mapping[int, Sequence[PodInfo]]
) -> dict[int, list[PodInfo]]:
    """Bring pods back in turn, one per world and round; returns those that must stay away."""
    evicted: dict[int, list[PodInfo]] = {at: [] for at in queues}
    for turn in range(max(len(queue) for queue in queues.values())):
        coming = {at: queue[turn] for at, queue in queues.items() if turn < len(queue)}
        mask = np.zeros(len(worlds), np.bool_)
        for at, pod in coming.items():
            worlds.add(at, pod)
            mask[at] = True
        passed_n = attempt.judge.judge(worlds.select(mask)).passed_n
        for at, passed in zip(np.flatnonzero(mask).tolist(), passed_n.tolist(), strict=True):
            if not passed:
                worlds.remove(at, coming[at])
                evicted[at].append(coming[at])
    return evicted


def ask_extenders(attempt: FailedAttempt, candidates: dict[str, Victims]) -> dict[str, Victims]:
    """The candidates that every interested extender agrees with."""
    for extender in attempt.extenders:
        if not extender.preempts or not extender.interested(attempt.pod):
            continue
        try:
            kept = dict(extender.preempt(attempt.pod, candidates))
        except ExtenderError as error:
            if extender.ignorable:
                continue
            raise PluginError(str(error)) from error
        for name, victims in list(kept.items()):
            if not victims.pods:
                if not extender.ignorable:
                    raise PluginError(f'expected at least one victim pod on node "{name}"')
                del kept[name]
        candidates = kept
        if not candidates:
            break
    return candidates


def pick_node(candidates: Mapping[str, Victims], attempt: FailedAttempt) -> str:
    """The candidate that does the least harm; the criteria decide in turn, chance decides what is left."""
    now = attempt.now
    criteria: tuple[Callable[[Victims], float], ...] = (
        lambda victims: -victims.violations,
        lambda victims: -victims.pods[0].priority,
        lambda victims: -sum(pod.priority + PRIORITY_OFFSET for pod in victims.pods),
        lambda victims: -len(victims.pods),
        lambda victims: earliest_start(victims.pods, now),
    )
    names = sorted(candidates)
    for worth in criteria:
        worths = [worth(candidates[name]) for name in names]
        best = max(worths)
        names = [name for name, w in zip(names, worths, strict=True) if w == best]
        if len(names) == 1:
            break
    return names[0] if len(names) == 1 else attempt.rng.choice(names)


def earliest_start(pods: Sequence[PodInfo], now: float) -> float:
    """When the first of the most important pods started."""
    highest = max(pod.priority for pod in pods)
    return min(now if pod.start_seconds is None else pod.start_seconds for pod in pods if pod.priority == highest)
