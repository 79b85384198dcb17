"""A killed process loses nothing that it acknowledged, and keeps nothing by half."""

import asyncio
import json
import resource
import threading
import time
from pathlib import Path

import pytest

from stowplan.apiserver.options import ServerOptions, StartError
from tests.apiserver.running import PODS, config_map, pod, running
from tests.apiserver.wire import Reply, Wire, process

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WRITERS = 4
SECONDS = 1.5


def write_until_dead(wire: Wire, writer: int, acknowledged: dict[str, str], gone: set[str]) -> None:
    """Create, change and delete until the server is gone; note what it acknowledged."""
    for number in range(100_000):
        name = f"w{writer}-{number}"
        try:
            if 201 != wire.send("POST", CONFIG_MAPS, json.dumps(config_map(name, text="a" * 500)).encode()).status:
                return
            acknowledged[name] = "a" * 500
            if number % 3 == 1:
                # from here on both texts are right: the answer may be lost with the server
                changed = json.dumps({"data": {"text": "b" * 500}}).encode()
                del acknowledged[name]
                reply = wire.send("PATCH", f"{CONFIG_MAPS}/{name}", changed, "application/merge-patch+json")
                if 200 == reply.status:
                    acknowledged[name] = "b" * 500
            if number % 3 == 2:
                del acknowledged[name]
                if 200 == wire.send("DELETE", f"{CONFIG_MAPS}/{name}").status:
                    gone.add(name)
        except OSError:
            return
        except Exception:  # noqa: BLE001 - a connection can die in many ways
            return


def test_a_killed_server_has_all_that_it_acknowledged(tmp_path: Path) -> None:
    options = ServerOptions(data_dir=tmp_path / "data")
    acknowledged: dict[str, str] = {}
    gone: set[str] = set()
    with process(options) as (server, _):
        wires = [Wire(server.ready) for _ in range(WRITERS)]
        threads = [
            threading.Thread(target=write_until_dead, args=(wire, number, acknowledged, gone))
            for number, wire in enumerate(wires)
        ]
        for thread in threads:
            thread.start()
        time.sleep(SECONDS)
        server.kill()
        for thread in threads:
            thread.join(10)
        for wire in wires:
            wire.close()
    assert len(acknowledged) > 50

    with process(options) as (_, wire):
        found = {item["metadata"]["name"]: item for item in wire.send("GET", CONFIG_MAPS).json["items"]}
    missing = [name for name, text in acknowledged.items() if found.get(name, {}).get("data", {}).get("text") != text]
    assert [] == missing
    assert set() == gone & found.keys()
    for name, item in found.items():
        if name.startswith("w"):
            assert item["data"]["text"] in ("a" * 500, "b" * 500)
            assert item["metadata"]["uid"]


def test_a_restart_keeps_versions_growing_and_forgets_history(tmp_path: Path) -> None:
    options = ServerOptions(data_dir=tmp_path / "data")

    async def story() -> None:
        async with running(options) as api:
            first = (await api.post(PODS, pod("a"))).json
            token = api.token
            await api.delete(f"{PODS}/a")
            last = int((await api.get(PODS)).json["metadata"]["resourceVersion"])
        async with running(options) as api:
            assert token == api.token
            second = (await api.post(PODS, pod("a"))).json
            assert int(second["metadata"]["resourceVersion"]) > last
            assert second["metadata"]["uid"] != first["metadata"]["uid"]
            expired = await api.get(f"{PODS}?watch=true&resourceVersion={first['metadata']['resourceVersion']}")
            assert (410, "Expired") == (expired.status, expired.reason)

    asyncio.run(story())


def test_a_disk_that_is_full_refuses_writes_and_loses_nothing(tmp_path: Path) -> None:
    options = ServerOptions(data_dir=tmp_path / "data")

    def create(wire: Wire, name: str, text: str) -> Reply:
        return wire.send("POST", CONFIG_MAPS, json.dumps(config_map(name, text=text)).encode())

    def names(wire: Wire) -> set[str]:
        return {item["metadata"]["name"] for item in wire.send("GET", CONFIG_MAPS).json["items"]}

    with process(options) as (server, wire):
        create(wire, "before", "small")
        held = names(wire)
        # no file of the server may grow any more: to it, the disk is full
        resource.prlimit(server.child.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        refused = create(wire, "refused", "a" * 500)
        assert (500, "InternalError") == (refused.status, refused.json["reason"])
        assert f"data folder {options.data_dir}: " in refused.json["message"]
        assert held == names(wire)

        resource.prlimit(server.child.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert 201 == create(wire, "refused", "a" * 500).status
        server.kill()

    with process(options) as (_, wire):
        assert {*held, "refused"} == names(wire)


def test_a_folder_that_is_in_use_is_one_clear_line(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(ServerOptions(data_dir=tmp_path)):
            with pytest.raises(StartError, match=r"data folder .*: locked by process \d+"):
                async with running(ServerOptions(data_dir=tmp_path)):
                    pass

    asyncio.run(story())


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(b"this is no database" * 100, "state.db: file is not a database", id="another file in its place"),
        pytest.param(None, "data folder .*: ", id="a file where the folder should be"),
    ],
)
def test_an_unusable_folder_is_one_clear_line(tmp_path: Path, content: bytes | None, want: str) -> None:
    folder = tmp_path / "data"
    if content is None:
        folder.write_text("a file")
    else:
        folder.mkdir()
        (folder / "state.db").write_bytes(content)

    async def story() -> None:
        async with running(ServerOptions(data_dir=folder)):
            pass

    with pytest.raises(StartError, match=want):
        asyncio.run(story())
