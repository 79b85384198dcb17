"""Claims as pods and volumes refer to them."""

import pytest

from stowplan.api.claims import (
    BETA_CLASS,
    ClaimUse,
    claim_class,
    claim_uses,
    is_bound,
    ownership_error,
    uses_claim,
    volume_class,
)
from stowplan.api.storage import PersistentVolumeClaim
from stowplan.api.volumes import Volume
from stowplan.testing.builders import pod
from stowplan.testing.storage import claim, ephemeral, volume

ASKING = pod("web", claims=["a", "a"], volumes=[Volume(name="scratch"), ephemeral("e")])


def test_a_pod_uses_the_claims_it_names_and_those_made_for_it() -> None:
    assert [ClaimUse("a", False), ClaimUse("a", False), ClaimUse("web-e", True)] == list(claim_uses(ASKING))


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(claim("a"), True, id="one it names"),
        pytest.param(claim("web-e"), True, id="one made for it"),
        pytest.param(claim("b"), False, id="another"),
        pytest.param(claim("a", namespace="other"), False, id="one of that name elsewhere"),
    ],
)
def test_whether_a_pod_uses_a_claim(asked: PersistentVolumeClaim, want: bool) -> None:
    assert want == uses_claim(ASKING, asked)


def test_the_old_annotation_says_the_class_first() -> None:
    old = {BETA_CLASS: "old"}

    assert ("old", "old") == (
        claim_class(claim(storage_class="new", annotations=old)),
        volume_class(volume(storage_class="new", annotations=old)),
    )
    assert ("new", "new") == (claim_class(claim(storage_class="new")), volume_class(volume(storage_class="new")))
    assert claim_class(claim(storage_class=None)) == ""


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(claim("web-e", owner=ASKING), None, id="made for the pod"),
        pytest.param(
            claim("web-e"),
            "PVC default/web-e was not created for pod default/web (pod is not owner)",
            id="made by somebody",
        ),
        pytest.param(
            claim("web-e", owner=pod("web", uid="other")),
            "PVC default/web-e was not created for pod default/web (pod is not owner)",
            id="made for a pod that had the name before",
        ),
    ],
)
def test_whom_a_claim_was_made_for(asked: PersistentVolumeClaim, want: str | None) -> None:
    assert want == ownership_error(ASKING, asked)


def test_binding_is_finished_when_the_annotation_says_so() -> None:
    assert is_bound(claim(bound_to="v"))
    assert not is_bound(claim(bound_to="v", complete=False))
    assert not is_bound(claim())
