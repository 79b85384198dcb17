"""List pages and watch lines as objects, in one decode each, and what to make of those that do not fit their type."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, final

import msgspec

from stowplan.api.codec import decode_as
from stowplan.api.errors import DecodeError
from stowplan.client.errors import BadResponse

T = TypeVar("T")

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Identity(NamedTuple):
    """Which object, which incarnation of it, and which state of that."""

    key: str
    uid: str
    version: str


@final
class LooseMeta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The metadata that every object has, also one whose type we cannot read."""

    namespace: str | None = ""
    name: str | None = ""
    uid: str | None = ""
    resource_version: str | None = ""
    annotations: dict[str, str] | None = None

    @property
    def identity(self) -> Identity:
        """The identity of the object."""
        return Identity(object_key(self.namespace or "", self.name or ""), self.uid or "", self.resource_version or "")


@final
class LooseObject(msgspec.Struct, frozen=True, gc=False):
    """Any object, for its metadata."""

    metadata: LooseMeta = LooseMeta()


@final
class LooseEvent(msgspec.Struct, frozen=True, gc=False):
    """A watch event whose object is not decoded yet."""

    type: str
    object: msgspec.Raw


class Event(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """A watch event."""

    type: str
    object: T


@final
class ListMeta(msgspec.Struct, frozen=True, rename={"resource_version": "resourceVersion", "continue_": "continue"}):
    """What a list says about itself."""

    resource_version: str = ""
    continue_: str = ""


class _Page(msgspec.Struct, Generic[T], frozen=True):
    metadata: ListMeta = ListMeta()
    items: list[T] | None = None


@final
class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list; `malformed` says what was left out and why."""

    resource_version: str
    continue_token: str
    items: list[T]
    malformed: tuple[str, ...] = ()


class ObjectDecoder(Protocol[T]):
    """How an informer reads its objects."""

    def event(self, line: bytes) -> Event[T]:
        """One watch line; `msgspec.DecodeError` when its object does not fit."""

    def page(self, body: bytes) -> Page[T]:
        """One list answer; objects that do not fit are left out and named."""

    def identify(self, value: T) -> Identity:
        """The identity of a decoded object."""


class _HasMeta(Protocol):
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


class HasMetadata(Protocol):
    """A record with the usual metadata."""

    @property
    def metadata(self) -> _HasMeta:
        """Name, namespace, uid and resource version."""


R = TypeVar("R", bound=HasMetadata)


@final
class RecordDecoder(Generic[R]):
    """Decodes straight into msgspec records, a watch line in a single pass."""

    def __init__(self, record: type[R]) -> None:
        self._event: msgspec.json.Decoder[Event[R]] = msgspec.json.Decoder(Event[record])  # type: ignore[valid-type]
        self._page: msgspec.json.Decoder[_Page[R]] = msgspec.json.Decoder(_Page[record])  # type: ignore[valid-type]
        self._record = record
        self._item = msgspec.json.Decoder(record)

    def event(self, line: bytes) -> Event[R]:
        """One watch line."""
        try:
            return self._event.decode(line)
        except msgspec.ValidationError:
            loose = _LOOSE_EVENT.decode(line)
            return Event(loose.type, self._with_nulls(loose.object))

    def page(self, body: bytes) -> Page[R]:
        """One list answer."""
        try:
            page = self._page.decode(body)
        except msgspec.DecodeError:
            return _page_of_each(body, self._with_nulls)
        return Page(page.metadata.resource_version, page.metadata.continue_, page.items or [])

    def _with_nulls(self, raw: bytes | msgspec.Raw) -> R:
        """An object in which null may stand for any field that is not there, as Go writes lists that are nil."""
        try:
            return self._item.decode(raw)
        except msgspec.ValidationError:
            # perf: three times the work, so only for those that need it
            try:
                return decode_as(self._record, bytes(raw))  # type: ignore[type-var]  # any struct will do
            except DecodeError:
                pass
            raise

    def identify(self, value: R) -> Identity:
        """The identity of a record."""
        meta = value.metadata
        return Identity(object_key(meta.namespace, meta.name), meta.uid, meta.resource_version)


@final
class DictDecoder:
    """Decodes into plain dictionaries, for those who write back what they read."""

    def __init__(self) -> None:
        self._event = msgspec.json.Decoder(Event[dict[str, Any]])
        self._page = msgspec.json.Decoder(_Page[dict[str, Any]])

    def event(self, line: bytes) -> Event[dict[str, Any]]:
        """One watch line."""
        return self._event.decode(line)

    def page(self, body: bytes) -> Page[dict[str, Any]]:
        """One list answer."""
        try:
            page = self._page.decode(body)
        except msgspec.DecodeError:
            return _page_of_each(body, msgspec.json.Decoder(dict[str, Any]).decode)
        return Page(page.metadata.resource_version, page.metadata.continue_, page.items or [])

    def identify(self, value: dict[str, Any]) -> Identity:
        """The identity of a dictionary."""
        meta: Mapping[str, str] = value["metadata"]
        key = object_key(meta.get("namespace", ""), meta["name"])
        return Identity(key, meta.get("uid", ""), meta.get("resourceVersion", ""))


@final
class FunctionDecoder(Generic[T]):
    """Decodes objects with a given function, out of an envelope that is scanned first."""

    def __init__(self, decode: Callable[[bytes | msgspec.Raw], T], identify: Callable[[T], Identity]) -> None:
        self._decode = decode
        self._identify = identify

    def event(self, line: bytes) -> Event[T]:
        """One watch line."""
        loose = _LOOSE_EVENT.decode(line)
        return Event(loose.type, self._decode(loose.object))

    def page(self, body: bytes) -> Page[T]:
        """One list answer."""
        return _page_of_each(body, self._decode)

    def identify(self, value: T) -> Identity:
        """The identity of a decoded object."""
        return self._identify(value)


_LOOSE_EVENT = msgspec.json.Decoder(LooseEvent)
_LOOSE_OBJECT = msgspec.json.Decoder(LooseObject)
_LOOSE_PAGE = msgspec.json.Decoder(_Page[msgspec.Raw])


def loose_event(line: bytes) -> tuple[LooseEvent, LooseMeta]:
    """A watch line for its type and metadata only; BadResponse when it is no watch event at all."""
    try:
        event = _LOOSE_EVENT.decode(line)
        return event, _LOOSE_OBJECT.decode(event.object).metadata
    except msgspec.DecodeError as error:
        raise BadResponse(f"a line of the watch is not a watch event: {error}") from error


def object_key(namespace: str, name: str) -> str:
    """`namespace/name`, or the name alone for objects without a namespace."""
    return f"{namespace}/{name}" if namespace else name


def _page_of_each(body: bytes, decode: Callable[[bytes | msgspec.Raw], T]) -> Page[T]:
    try:
        page = _LOOSE_PAGE.decode(body)
    except msgspec.DecodeError as error:
        raise BadResponse(f"the answer is not a list: {error}") from error
    items: list[T] = []
    malformed: list[str] = []
    for raw in page.items or ():
        try:
            items.append(decode(raw))
        except msgspec.DecodeError as error:
            malformed.append(f"{_name_of(raw)}: {error}")
    return Page(page.metadata.resource_version, page.metadata.continue_, items, tuple(malformed))


def _name_of(raw: msgspec.Raw) -> str:
    try:
        return _LOOSE_OBJECT.decode(raw).metadata.identity.key
    except msgspec.DecodeError:
        return "an object without readable metadata"
