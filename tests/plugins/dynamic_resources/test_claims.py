"""The claims of a pod, and why they cannot be used yet."""

import msgspec
import pytest

from stowplan.api.meta import OwnerReference
from stowplan.api.pod import Pod, PodResourceClaim, PodResourceClaimStatus
from stowplan.api.resource import ResourceClaim
from stowplan.plugins.dynamic_resources.claims import claims_of
from stowplan.plugins.dynamic_resources.errors import ClaimError
from stowplan.testing.builders import pod
from tests.plugins.dynamic_resources.devices import claim, claiming

MINE = OwnerReference(kind="Pod", name="pod", uid="mine", controller=True)


def templated(*made: PodResourceClaimStatus) -> Pod:
    asking = pod(uid="mine")
    entry = PodResourceClaim(name="g", resource_claim_template_name="template")
    spec = msgspec.structs.replace(asking.spec, resource_claims=(entry,))
    status = msgspec.structs.replace(asking.status, resource_claim_statuses=made)
    return msgspec.structs.replace(asking, spec=spec, status=status)


def names(asking: Pod, *existing: ResourceClaim) -> list[str]:
    known = {one.key: one for one in existing}
    return [one.name for one in claims_of(asking, known.get)]


@pytest.mark.parametrize(
    ("asking", "existing", "want"),
    [
        pytest.param(claiming(pod(), "x", "y"), [claim(name="y"), claim(name="x")], ["x", "y"], id="claims by name"),
        pytest.param(
            templated(PodResourceClaimStatus(name="g", resource_claim_name="made")),
            [claim(name="made", owner_references=(MINE,))],
            ["made"],
            id="a claim made from a template",
        ),
        pytest.param(templated(PodResourceClaimStatus(name="g")), [], [], id="a template that needs no claim"),
    ],
)
def test_claims_that_can_be_used(asking: Pod, existing: list[ResourceClaim], want: list[str]) -> None:
    assert want == names(asking, *existing)


@pytest.mark.parametrize(
    ("asking", "existing", "want"),
    [
        pytest.param(claiming(pod(), "x"), [], 'could not find ResourceClaim "default/x"', id="a missing claim"),
        pytest.param(
            claiming(pod(), "x"),
            [claim(name="x", deletion_timestamp="2026-01-01T00:00:00Z")],
            'resourceclaim "x" is being deleted',
            id="a claim that is being deleted",
        ),
        pytest.param(
            templated(), [], 'pod "default/pod": ResourceClaim not created yet', id="a claim still to be made"
        ),
        pytest.param(
            templated(PodResourceClaimStatus(name="g", resource_claim_name="other")),
            [claim(name="other")],
            "ResourceClaim default/other was not created for Pod default/pod (Pod is not owner)",
            id="a claim of somebody else",
        ),
        pytest.param(
            msgspec.structs.replace(
                pod(), spec=msgspec.structs.replace(pod().spec, resource_claims=(PodResourceClaim(name="g"),))
            ),
            [],
            'pod "default/pod", spec.resourceClaim "g": none of the supported fields are set',
            id="an entry of an unknown kind",
        ),
    ],
)
def test_claims_that_cannot(asking: Pod, existing: list[ResourceClaim], want: str) -> None:
    with pytest.raises(ClaimError) as failed:
        names(asking, *existing)

    assert want == str(failed.value)
