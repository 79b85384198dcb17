"""Which of several replicas acts: the one that holds a Lease, by client-go's timing rules.

Upstream: staging/src/k8s.io/client-go/tools/leaderelection (v1.36.4).
"""

import asyncio
import logging
import random
import socket
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, final

import msgspec

from stowplan.client.backoff import jittered
from stowplan.client.errors import BadResponse, ClientError, ConfigError, LeadershipLost, NotFound
from stowplan.client.lease_events import LeaseEvents
from stowplan.client.paths import LEASES
from stowplan.client.timestamps import rfc3339_micro
from stowplan.client.transport import ApiClient, encode
from stowplan.clock import Clock

_LOG = logging.getLogger(__name__)

JITTER = 1.2
# parity: the healthz adaptor of kube-scheduler tolerates twenty seconds beyond the lease
WATCHDOG_TOLERANCE = 20.0
_STOP_PATIENCE = 1.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """Where the Lease is and how long things take, in seconds."""

    namespace: str = "kube-system"
    name: str = "kube-scheduler"
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    release_on_cancel: bool = True

    def __post_init__(self) -> None:
        if self.lease_duration <= self.renew_deadline:
            raise ConfigError("leader election: leaseDuration must be greater than renewDeadline")
        if self.renew_deadline <= JITTER * self.retry_period:
            raise ConfigError("leader election: renewDeadline must be greater than retryPeriod*1.2")
        if self.retry_period <= 0 or self.lease_duration < 1:
            raise ConfigError("leader election: retryPeriod must be positive and leaseDuration at least one second")


@final
class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    """What a Lease says of its holder."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


def new_identity() -> str:
    """`<host>_<uuid>`, so that two processes of one host are two."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


@final
class LeaderElector:
    """Waits for the Lease, leads while it can be renewed, and gives it up at the end.

    Give it a client of its own: a rate limit that others exhaust would cost the leadership.
    """

    def __init__(
        self,
        client: ApiClient,
        settings: LeaseSettings,
        *,
        identity: str,
        clock: Clock,
        rng: random.Random,
        on_new_leader: Callable[[str], None] | None = None,
        events: LeaseEvents | None = None,
    ) -> None:
        assert identity, "a candidate needs an identity"
        self.identity = identity
        self.settings = settings
        self._client = client
        self._clock = clock
        self._rng = rng
        self._on_new_leader = on_new_leader
        self._events = events
        self._lease: dict[str, Any] | None = None
        self._observed = _Spec()
        self._observed_at = 0.0
        self._reported = ""

    @property
    def leader(self) -> str:
        """The identity of the holder last seen; empty when there is none."""
        return self._observed.holder_identity or ""

    @property
    def is_leader(self) -> bool:
        """Whether the holder last seen is this one."""
        return self.leader == self.identity

    @property
    def transitions(self) -> int:
        """How often the Lease changed hands."""
        return self._observed.lease_transitions or 0

    def watchdog(self, tolerance: float = WATCHDOG_TOLERANCE) -> str | None:
        """What is wrong when a leader has long failed to renew and is still running; None when all is well."""
        if not self.is_leader:
            return None
        if self._clock.monotonic() - self._observed_at <= self.settings.lease_duration + tolerance:
            return None
        return f"failed election to renew leadership on lease {self.settings.name}"

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait to be the leader, then run `lead` until it ends.

        LeadershipLost when the Lease could not be renewed in time: `lead` is cancelled, and the process has to end,
        since somebody else may act by now. On cancellation `lead` is cancelled and ends, then the Lease is given up.
        """
        await self._acquire()
        leading = asyncio.ensure_future(lead())
        renewing = asyncio.ensure_future(self._renew())
        lost = False
        try:
            await asyncio.wait({leading, renewing}, return_when=asyncio.FIRST_COMPLETED)
            lost = renewing.done()
            if lost:
                renewing.result()
            leading.result()
        finally:
            leading.cancel()
            renewing.cancel()
            # A leader that lost has no time to wait for; one that steps down lets its work end first.
            await asyncio.wait({leading, renewing}, timeout=_STOP_PATIENCE if lost else None)
            if not lost and self.settings.release_on_cancel:
                await self._release()
            self._tell("stopped leading")

    async def _acquire(self) -> None:
        _LOG.info("Attempting to acquire leader lease %s...", self._place)
        while True:
            acquired = await self._try_to_hold()
            self._report()
            if acquired:
                self._tell("became leader")
                _LOG.info("Successfully acquired lease %s", self._place)
                return
            await asyncio.sleep(jittered(self.settings.retry_period, JITTER, self._rng))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.settings.retry_period)
            try:
                async with asyncio.timeout(self.settings.renew_deadline):
                    while not await self._try_to_hold():
                        # Stricter than upstream, which goes on until its deadline: somebody else holds it now.
                        if self.leader and not self.is_leader:
                            break
                        await asyncio.sleep(self.settings.retry_period)
            except TimeoutError:
                raise LeadershipLost(
                    f"lease {self._place}: not renewed within {self.settings.renew_deadline:g} s"
                ) from None
            finally:
                self._report()
            if not self.is_leader:
                raise LeadershipLost(f"lease {self._place}: taken over by {self.leader}")

    async def _try_to_hold(self) -> bool:
        """Take or renew the Lease if that is ours to do; False when it is not or did not work."""
        try:
            if self.is_leader and self._still_valid() and await self._renew_unseen():
                return True
            return await self._read_and_hold()
        except ClientError as error:
            _LOG.error("Failed to update lease %s: %s", self._place, error)
            return False

    async def _renew_unseen(self) -> bool:
        """Renew on the assumption that nobody touched the Lease since."""
        try:
            await self._update(self._claim(self._observed))
        except ClientError as error:
            _LOG.info("Failed to update lease %s optimistically, falling back to slow path: %s", self._place, error)
            return False
        return True

    async def _read_and_hold(self) -> bool:
        try:
            lease = await self._request("GET", self._path)
        except NotFound:
            await self._create(self._claim(None))
            return True
        self._lease = lease
        found = _spec_of(lease)
        # The clocks of others are not believed: a holder is alive while its record keeps changing before our eyes.
        if found != self._observed:
            self._observe(found)
        if self.leader and not self.is_leader and self._still_valid():
            _LOG.debug("Lease %s is held by %s and has not yet expired", self._place, self.leader)
            return False
        await self._update(self._claim(found))
        return True

    def _claim(self, before: _Spec | None) -> _Spec:
        """The record with which we hold the Lease, after the one that was there."""
        now = rfc3339_micro(self._clock.now())
        ours = before is not None and before.holder_identity == self.identity
        transitions = 0 if before is None else (before.lease_transitions or 0) + (0 if ours else 1)
        return _Spec(
            holder_identity=self.identity,
            lease_duration_seconds=int(self.settings.lease_duration),
            acquire_time=before.acquire_time if ours and before is not None else now,
            renew_time=now,
            lease_transitions=transitions,
        )

    async def _release(self) -> None:
        try:
            async with asyncio.timeout(self.settings.renew_deadline):
                # Read first, since the version may have moved (a patch of labels, say).
                self._lease = lease = await self._request("GET", self._path)
                if _spec_of(lease).holder_identity != self.identity:
                    return
                now = rfc3339_micro(self._clock.now())
                await self._update(
                    _Spec(
                        holder_identity="",
                        lease_duration_seconds=1,
                        acquire_time=now,
                        renew_time=now,
                        lease_transitions=_spec_of(lease).lease_transitions,
                    )
                )
        except (ClientError, TimeoutError) as error:
            _LOG.error("Failed to release lease %s: %s", self._place, error)

    async def _create(self, spec: _Spec) -> None:
        lease = {
            "kind": LEASES.kind,
            "apiVersion": LEASES.api_version,
            "metadata": {"name": self.settings.name, "namespace": self.settings.namespace},
            "spec": msgspec.to_builtins(spec),
        }
        self._lease = await self._request("POST", LEASES.collection(self.settings.namespace), lease)
        self._observe(spec)

    async def _update(self, spec: _Spec) -> None:
        assert self._lease is not None, "a Lease is read or created before it is updated"
        kept = {key: value for key, value in (self._lease.get("spec") or {}).items() if key not in _SPEC_FIELDS}
        lease = self._lease | {"spec": kept | msgspec.to_builtins(spec)}
        self._lease = await self._request("PUT", self._path, lease)
        self._observe(spec)

    async def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = await self._client.request(
            method,
            path,
            body=None if body is None else encode(body),
            # parity: half the deadline, so that a hanging request leaves time for another (NewFromKubeconfig)
            timeout=max(1.0, self.settings.renew_deadline / 2),
        )
        try:
            return msgspec.json.decode(answer, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise BadResponse(f"the answer is not a Lease: {error}", request=f"{method} {path}") from error

    def _observe(self, spec: _Spec) -> None:
        self._observed = spec
        self._observed_at = self._clock.monotonic()

    def _still_valid(self) -> bool:
        return self._observed_at + (self._observed.lease_duration_seconds or 0) > self._clock.monotonic()

    def _report(self) -> None:
        if self.leader == self._reported:
            return
        self._reported = self.leader
        _LOG.info("New leader of lease %s: %s", self._place, self.leader)
        if self._on_new_leader is not None:
            self._on_new_leader(self.leader)

    def _tell(self, what: str) -> None:
        if self._events is not None and self._lease is not None:
            self._events.tell(self._lease, f"{self.identity} {what}")

    @property
    def _path(self) -> str:
        return LEASES.item(self.settings.name, self.settings.namespace)

    @property
    def _place(self) -> str:
        return f"{self.settings.namespace}/{self.settings.name}"


_SPEC_FIELDS = frozenset(_Spec.__struct_encode_fields__)


def _spec_of(lease: dict[str, Any]) -> _Spec:
    try:
        return msgspec.convert(lease.get("spec") or {}, _Spec)
    except msgspec.ValidationError as error:
        raise BadResponse(f"the Lease cannot be read: {error}") from error
