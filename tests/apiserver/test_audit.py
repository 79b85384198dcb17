"""The audit log names every finished write."""

import asyncio
import json
from pathlib import Path

from stowplan.apiserver.options import ServerOptions
from tests.apiserver.running import PODS, pod, running


def test_every_write_is_one_line_and_no_read_is(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "audit.jsonl"

    async def story() -> None:
        async with running(ServerOptions(audit_log=path)) as api:
            headers = {"User-Agent": "tester/1.0"}
            await api.call("POST", PODS, pod("a"), headers=headers)
            await api.get(f"{PODS}/a")
            await api.call("POST", PODS, pod("a"), headers=headers)
            await api.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}})
            await api.post(f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n"}})
            await api.delete(f"{PODS}/a")

    asyncio.run(story())
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    seen = [(line["verb"], line["resource"], line["subresource"], line["status"]) for line in lines]
    assert [
        ("create", "pods", "", 201), ("create", "pods", "", 409), ("patch", "pods", "status", 200),
        ("create", "pods", "binding", 201), ("delete", "pods", "", 200),
    ] == seen  # fmt: skip
    assert {"a"} == {line["name"] for line in lines if line["status"] < 400}
    assert ("kubernetes-admin", "tester/1.0", "default") == (
        lines[0]["user"], lines[0]["agent"], lines[0]["namespace"],
    )  # fmt: skip
    assert {"status": {"phase": "Running"}} == lines[2]["body"]
