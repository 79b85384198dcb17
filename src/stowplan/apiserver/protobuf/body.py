"""A request's body in the binary form, as the JSON object that it stands for."""

from typing import Any

import msgspec

from stowplan.apiserver.context import Api
from stowplan.apiserver.errors import ApiError, bad_request
from stowplan.apiserver.protobuf.decode import UnknownTypeError, read_envelope, read_message
from stowplan.apiserver.protobuf.wire import WireError

PROTOBUF = "application/vnd.kubernetes.protobuf"
SPOKEN_ELSEWHERE = {
    ("policy/v1", "Eviction"): ("policy_v1", "Eviction"),
    ("autoscaling/v1", "Scale"): ("autoscaling_v1", "Scale"),
}
OPTIONS = "DeleteOptions"


def is_protobuf(content_type: str) -> bool:
    """True for the binary form."""
    return content_type.partition(";")[0].strip().lower() == PROTOBUF


def read_protobuf(api: Api, body: bytes) -> dict[str, Any]:
    """The object in a body."""
    try:
        api_version, kind, raw = read_envelope(body)
        group, _, version = api_version.rpartition("/")
        if kind == OPTIONS:
            model = ("meta_v1", OPTIONS)
        elif (api_version, kind) in SPOKEN_ELSEWHERE:
            model = SPOKEN_ELSEWHERE[api_version, kind]
        else:
            resource = api.registry.find_kind(group, version, kind)
            if resource is None or resource.model is None:
                raise bad_request(f'no kind "{kind}" is registered for version "{api_version}"')
            model = resource.model
        value = read_message(api.models.get(*model), raw)
    except WireError as error:
        raise bad_request(f"the object provided is unrecognized (must be of type Protobuf): {error}") from None
    except UnknownTypeError as error:
        raise ApiError(415, str(error)) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from None
    return {"apiVersion": api_version, "kind": kind, **value}
