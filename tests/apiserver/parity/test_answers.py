"""What a kube-apiserver answers to new objects, right and wrong ones: recorded, and given here too.

With a folder in KUBEBUILDER_ASSETS the recorded answers are compared with those of the server there; with
`--update-golden` they are written anew.
"""

import asyncio
import json
import os
import re
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.running import running
from tests.daemon.api import ASSETS, RealServer

Json = dict[str, Any]

HERE = Path(__file__).parent
ANSWERS = HERE / "cases.want.jsonl"
OPTIONS = "?dryRun=All&fieldValidation=Warn"
CASES: list[Json] = [json.loads(line) for line in (HERE / "cases.jsonl").read_text().splitlines()]

KNOWN = {
    "pods/b52": "the generated types do not say how long a number is",
    "pods/b57": "the value shown is a struct of the server's own",
    "pods/b68": "an object that was read elsewhere is a bad request here, not a failure of the server",
    "pods/x": "a wrong kind is told in other words",
    "pods/x-2": "a wrong version is told in other words",
    "foos/x": "an unknown group gets a Status too",
    "poddisruptionbudgets/bp1": "the value shown is a struct of the server's own",
    "deviceclasses/bdc1": "expressions are not compiled by the server",
    "events/be2": "the two forms of events are held to the same rules",
    "events/be3": "the two forms of events are held to the same rules",
    "secrets/bsec": "encoded data are checked with the rest of the object",
    "customresourcedefinitions/bars.ex.com": "definitions are checked in other words",
    "customresourcedefinitions/bazs.ex.com": "definitions are checked in other words",
    "customresourcedefinitions/foos.ex.com": "the status of a definition is filled in when it is served",
    "horizontalpodautoscalers/bh": "the group of a target is not checked",
    "horizontalpodautoscalers/h2": "one form of an autoscaler's first status",
    "persistentvolumeclaims/c1": "volumes in use are not protected by finalizers",
    "persistentvolumeclaims/c2": "volumes in use are not protected by finalizers",
    "persistentvolumes/v1": "volumes in use are not protected by finalizers",
    "persistentvolumes/v2": "volumes in use are not protected by finalizers",
    "persistentvolumes/v3": "volumes in use are not protected by finalizers",
    "volumeattributesclasses/vac1": "volumes in use are not protected by finalizers",
    "nodes/n2": "a time that nobody gave is left out",
    "resourceclaims/rc3": "a list that nobody gave is left out",
    "roles/r1": "a list that nobody gave is left out",
    "csinodes/bn2": "a list that nobody gave is left out",
}
"""Where the answers differ, and why."""

VOLATILE = frozenset(
    {
        "uid", "creationTimestamp", "resourceVersion", "managedFields", "clusterIP", "clusterIPs", "nodePort",
        "serviceAccount", "serviceAccountName", "lastTransitionTime", "lastPhaseTransitionTime", "timeAdded",
    }
)  # fmt: skip
UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

SETUP: list[tuple[str, Json]] = [
    ("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "pc2"}, "value": -5,
                                                    "preemptionPolicy": "Never"}),
    ("/apis/node.k8s.io/v1/runtimeclasses", {"metadata": {"name": "rtc1"}, "handler": "x",
                                             "overhead": {"podFixed": {"cpu": "1"}},
                                             "scheduling": {"nodeSelector": {"x": "y"},
                                                            "tolerations": [{"key": "t", "operator": "Exists"}]}}),
]  # fmt: skip
"""What some of the objects refer to."""

TAKEN = frozenset({"priorityclasses/pc2", "runtimeclasses/rtc1"})


def settled(value: Any) -> Any:
    """The parts of an answer that are the same every time."""
    if isinstance(value, dict):
        return {name: settled(member) for name, member in sorted(value.items()) if name not in VOLATILE}
    if isinstance(value, list):
        return [settled(member) for member in value]
    return UID.sub("UID", value) if isinstance(value, str) else value


def told(status: int, answer: Any) -> Json:
    """An answer, as it is recorded: what was made, or why nothing was."""
    if status < 400:
        return {"status": status, "object": settled(answer)}
    if not isinstance(answer, dict):
        return {"status": status, "message": str(answer)}
    causes = [[cause.get("field", ""), cause["reason"]] for cause in (answer.get("details") or {}).get("causes") or ()]
    found = {"status": status, "reason": answer.get("reason", ""), "message": UID.sub("UID", answer["message"])}
    return {**found, "causes": causes} if causes else found


@pytest.fixture(scope="module")
def embedded() -> dict[str, Json]:
    """The answers of this project's server, by case."""

    async def story() -> dict[str, Json]:
        async with running() as api:
            for path, value in SETUP:
                assert 201 == (await api.post(path, value)).status
            found = {}
            for case in CASES:
                got = await api.post(case["path"] + OPTIONS, case["body"])
                found[case["id"]] = told(got.status, got.json)
            return found

    return asyncio.run(story())


def recorded() -> dict[str, Json]:
    """The recorded answers, by case."""
    return {case["id"]: case["want"] for case in map(json.loads, ANSWERS.read_text().splitlines())}


@pytest.mark.parametrize("case", [case["id"] for case in CASES if case["id"] not in KNOWN.keys() | TAKEN])
def test_the_answer_is_the_real_servers(case: str, embedded: dict[str, Json]) -> None:
    assert recorded()[case] == embedded[case]


@pytest.mark.parametrize("case", sorted(KNOWN))
def test_a_known_difference_is_still_one(case: str, embedded: dict[str, Json]) -> None:
    assert recorded()[case] != embedded[case]


@pytest.mark.parametrize("case", [case["id"] for case in CASES])
def test_what_is_wrong_for_one_is_wrong_for_the_other(case: str, embedded: dict[str, Json]) -> None:
    lenient = {"pods/b68", "deviceclasses/bdc1", "events/be2", "secrets/bsec"}
    ours, theirs = embedded[case]["status"], recorded()[case]["status"]
    assert ours == theirs or case in lenient


@pytest.mark.skipif(ASSETS not in os.environ, reason="KUBEBUILDER_ASSETS does not name a folder with kube-apiserver")
def test_the_record_is_what_a_real_server_says(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server = RealServer(tmp_path, Path(os.environ[ASSETS]))
    try:
        server.start()
        for path, value in SETUP:
            assert 201 == _post(server, path, value)[0]
        found = {case["id"]: told(*_post(server, case["path"] + OPTIONS, case["body"])) for case in CASES}
    finally:
        server.stop()
    if request.config.getoption("--update-golden"):
        lines = [json.dumps({"id": name, "want": want}, separators=(",", ":")) for name, want in found.items()]
        ANSWERS.write_text("\n".join(lines) + "\n")
    assert recorded() == found


def _post(server: RealServer, path: str, value: Json) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {server.admin_token}", "Content-Type": "application/json"}
    request = urllib.request.Request(server.url + path, json.dumps(value).encode(), headers)
    trust = ssl.create_default_context(cadata=server.authority.decode())
    try:
        with urllib.request.urlopen(request, context=trust, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        text = error.read()
        try:
            return error.code, json.loads(text)
        except ValueError:
            return error.code, text.decode()
