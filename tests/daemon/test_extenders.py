"""HTTP extenders against small local servers: good ones, broken ones, and one that hangs."""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stowplan.clock import SystemClock
from stowplan.columns.pods import PodCompiler, PodInfo
from stowplan.config.spec import ExtenderSpec, ExtenderTls, ManagedResource
from stowplan.daemon.extenders import HttpExtender
from stowplan.daemon.serving_tls import ServerTls, self_signed
from stowplan.daemon.tls_flags import ServingOptions
from stowplan.framework.extender import ExtenderAnswer, ExtenderError, Victims
from stowplan.testing.builders import node, pod

Reply = tuple[int, bytes]
MILLISECOND_NS = 1_000_000
NODES = {name: node(name) for name in ("a", "b", "c")}


def compiled(name: str, **wanted: Any) -> PodInfo:
    """A pod with its class, its uid being its name."""
    made = pod(name, **wanted)
    return PodCompiler().compile(
        msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, uid=f"uid-{name}"))
    )


WEB = compiled("web", cpu="500m")
VICTIMS = {name: compiled(name) for name in ("v1", "v2", "other")}


class Served:
    """A server and what it was asked."""

    def __init__(self, port: int, scheme: str) -> None:
        self.url = f"{scheme}://127.0.0.1:{port}"
        self.asked: list[tuple[str, Any]] = []
        self.connections: set[Any] = set()


@contextmanager
def serving(answer: Callable[[str, Any], Reply], tls: ServerTls | None = None) -> Iterator[Served]:
    """A local extender; `answer` gets the path and the decoded body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.asked.append((self.path, body))
            served.connections.add(self.client_address)
            status, reply = answer(self.path, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.context.wrap_socket(server.socket, server_side=True)
    served = Served(server.server_port, "http" if tls is None else "https")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def extender(url: str, **spec: Any) -> HttpExtender:
    """An extender with all verbs."""
    verbs = {
        "filter_verb": "filter",
        "prioritize_verb": "score",
        "preempt_verb": "preempt",
        "bind_verb": "bind",
        "http_timeout_ns": 2000 * MILLISECOND_NS,
        "node_cache_capable": True,
    }
    placed = {"a": [VICTIMS["v1"], VICTIMS["v2"]], "b": [VICTIMS["other"]]}
    return HttpExtender(
        ExtenderSpec(url_prefix=url, **{**verbs, **spec}),
        node_of=NODES.get,
        pods_on=lambda name: placed.get(name, ()),
        clock=SystemClock(),
    )


def always(reply: Any, status: int = 200) -> Callable[[str, Any], Reply]:
    """The same answer to everything."""
    body = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    return lambda path, asked: (status, body)


@pytest.mark.parametrize(
    ("cached", "reply", "want"),
    [
        pytest.param(True, {"NodeNames": ["b"]}, ExtenderAnswer(["b"], {}, {}), id="names are kept"),
        pytest.param(True, {"nodenames": ["b"]}, ExtenderAnswer(["b"], {}, {}), id="case does not matter"),
        pytest.param(False, {"Nodes": {"items": [{"metadata": {"name": "c"}}]}}, ExtenderAnswer(["c"], {}, {}),
                     id="whole nodes are kept by name"),
        pytest.param(True, {"Nodes": {"items": [{"metadata": {"name": "c"}}]}}, ExtenderAnswer(["c"], {}, {}),
                     id="nodes count where names are missing"),
        pytest.param(True, {"NodeNames": [], "FailedNodes": {"a": "full"}, "FailedAndUnresolvableNodes": {"b": "old"}},
                     ExtenderAnswer([], {"a": "full"}, {"b": "old"}), id="reasons are told apart"),
        pytest.param(True, {}, ExtenderAnswer([], {}, {}), id="nothing kept is nothing feasible"),
        pytest.param(True, None, ExtenderAnswer([], {}, {}), id="null is an empty answer"),
        pytest.param(True, {"NodeNames": None, "FailedNodes": None, "Error": ""}, ExtenderAnswer([], {}, {}),
                     id="nulls are as good as absent"),
    ],
)  # fmt: skip
def test_filter(cached: bool, reply: Any, want: ExtenderAnswer) -> None:
    with serving(always(reply)) as served, closing(extender(served.url, node_cache_capable=cached)) as asked:
        got = asked.filter(WEB, ["a", "b", "c"])

    assert want == got


@pytest.mark.parametrize(
    ("reply", "status", "want"),
    [
        pytest.param({"Error": "no licence"}, 200, "^no licence$", id="the extender's own error is told as it is"),
        pytest.param({}, 503, "^failed filter with extender at URL {url}/filter, code 503$", id="a refusing status"),
        pytest.param(b"<html>", 200, "{url}/filter does not answer JSON", id="no JSON"),
        pytest.param(b"", 200, "{url}/filter does not answer JSON", id="no answer at all"),
        pytest.param(b"\xff\xfe", 200, "{url}/filter does not answer JSON", id="no text"),
        pytest.param(b"[" * 100_000, 200, "{url}/filter does not answer JSON", id="nested beyond sense"),
        pytest.param([1], 200, "{url}/filter answers nonsense: the answer is not an object", id="a list"),
        pytest.param({"NodeNames": "a"}, 200, "NodeNames is not a list of names: a", id="names that are no list"),
        pytest.param({"NodeNames": [7]}, 200, "NodeNames is not a list of names", id="names that are numbers"),
        pytest.param({"NodeNames": ["z"]}, 200,
                     '^extender "{url}" claims a filtered node "z" which is not found in the input node list$',
                     id="a node that nobody asked about"),
        pytest.param({"Nodes": {"items": [{"metadata": {"name": "z"}}]}}, 200, 'claims a filtered node "z"',
                     id="the same as a whole node"),
        pytest.param({"Nodes": {"items": [{"metadata": {}}]}}, 200, "a node's name is not text", id="no name"),
        pytest.param({"FailedNodes": ["a"]}, 200, "FailedNodes is not a map of node names to texts", id="reasons"),
        pytest.param({"Error": 5}, 200, "Error is not text: 5", id="an error that is a number"),
        pytest.param(b'"' + b"x" * (17 << 20) + b'"', 200, "{url}/filter answers more than 16777216 bytes",
                     id="a flood"),
    ],
)  # fmt: skip
def test_a_bad_answer_is_an_error(reply: Any, status: int, want: str) -> None:
    with (
        serving(always(reply, status)) as served,
        closing(extender(served.url)) as asked,
        pytest.raises(ExtenderError, match=want.replace("{url}", re.escape(served.url))),
    ):
        asked.filter(WEB, ["a", "b"])


def test_what_is_asked() -> None:
    with serving(always({})) as served:
        with closing(extender(served.url + "/", node_cache_capable=True)) as asked:
            asked.filter(WEB, ["a", "b"])
        with closing(extender(served.url, node_cache_capable=False)) as asked:
            asked.filter(WEB, ["a"])

    (path, names), (_, nodes) = served.asked
    assert "/filter" == path
    assert {"Pod", "Nodes", "NodeNames"} == set(names) == set(nodes)
    assert "web" == names["Pod"]["metadata"]["name"]
    assert "500m" == names["Pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    assert (None, ["a", "b"]) == (names["Nodes"], names["NodeNames"])
    assert (["a"], None) == ([one["metadata"]["name"] for one in nodes["Nodes"]["items"]], nodes["NodeNames"])


def test_a_connection_is_kept() -> None:
    with serving(always({})) as served, closing(extender(served.url)) as asked:
        for _ in range(5):
            asked.filter(WEB, ["a"])

    assert 1 == len(served.connections)


def test_a_connection_that_ended_meanwhile_is_replaced() -> None:
    answer = b'{"NodeNames":["a"]}'
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_and_leave() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))
                ended.set()

        thread = threading.Thread(target=answer_and_leave)
        thread.start()
        with closing(extender(f"http://127.0.0.1:{server.getsockname()[1]}")) as asked:
            asked.filter(WEB, ["a"])
            assert ended.wait(5)
            assert ["a"] == asked.filter(WEB, ["a"]).kept
        thread.join()


@pytest.mark.parametrize(
    ("reply", "want"),
    [
        pytest.param([{"Host": "a", "Score": 7}, {"Host": "b", "Score": 3}], {"a": 7, "b": 3}, id="scores"),
        pytest.param([{"host": "a", "score": 7}], {"a": 7}, id="case does not matter"),
        pytest.param([{"Host": "a", "Score": 1}, {"Host": "a", "Score": 2}], {"a": 3}, id="twice adds up"),
        pytest.param([{"Host": "z", "Score": 9}], {}, id="a node that nobody asked about counts nothing"),
        pytest.param(None, {}, id="null"),
    ],
)
def test_prioritize(reply: Any, want: dict[str, int]) -> None:
    with serving(always(reply)) as served, closing(extender(served.url)) as asked:
        assert want == asked.prioritize(WEB, ["a", "b"])


@pytest.mark.parametrize(
    ("reply", "want"),
    [
        pytest.param({"a": 1}, "the answer is not a list", id="an object"),
        pytest.param([{"Host": "a", "Score": 1.5}], "the score of a is not a number of 32 bits: 1.5", id="a fraction"),
        pytest.param([{"Host": "a", "Score": 2**40}], "the score of a is not a number of 32 bits", id="too much"),
        pytest.param([{"Host": "a", "Score": True}], "the score of a is not a number of 32 bits", id="a boolean"),
        pytest.param([{"Host": 1, "Score": 1}], "Host is not text", id="a host that is a number"),
    ],
)
def test_bad_scores(reply: Any, want: str) -> None:
    with (
        serving(always(reply)) as served,
        closing(extender(served.url)) as asked,
        pytest.raises(ExtenderError, match=rf"{served.url}/score.*{want}"),
    ):
        asked.prioritize(WEB, ["a"])


@pytest.mark.parametrize("cached", [pytest.param(True, id="by uid"), pytest.param(False, id="whole pods")])
def test_preempt(cached: bool) -> None:
    reply = {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-v2"}], "NumPDBViolations": 1}}}
    candidates = {"a": Victims([VICTIMS["v1"]], 0), "b": Victims([VICTIMS["other"]], 2)}
    with serving(always(reply)) as served, closing(extender(served.url, node_cache_capable=cached)) as asked:
        got = asked.preempt(WEB, candidates)

    assert {"a": Victims([VICTIMS["v2"]], 1)} == got
    _, body = served.asked[0]
    if cached:
        assert body["NodeNameToVictims"] is None
        want = {"Pods": [{"UID": "uid-other"}], "NumPDBViolations": 2}
        assert want == body["NodeNameToMetaVictims"]["b"]
    else:
        assert body["NodeNameToMetaVictims"] is None
        assert "other" == body["NodeNameToVictims"]["b"]["Pods"][0]["metadata"]["name"]
        assert 2 == body["NodeNameToVictims"]["b"]["NumPDBViolations"]


@pytest.mark.parametrize(
    ("reply", "want"),
    [
        pytest.param({"a": {"Pods": [{"UID": "uid-other"}]}},
                     r"claims to preempt pod \(UID: &{uid-other}\) on node: a, but the pod is not found on that node",
                     id="a pod of another node"),
        pytest.param({"z": {"Pods": []}}, 'nodeinfo not found for node name "z"', id="a node that is not there"),
        pytest.param({"a": {"Pods": [{"UID": 5}]}}, "UID is not text", id="a uid that is a number"),
        pytest.param({"a": {"Pods": {}, "NumPDBViolations": -1}}, "NumPDBViolations on a", id="negative violations"),
        pytest.param([], "NodeNameToMetaVictims is not a map", id="no map"),
    ],
)  # fmt: skip
def test_bad_victims(reply: Any, want: str) -> None:
    with (
        serving(always({"NodeNameToMetaVictims": reply})) as served,
        closing(extender(served.url)) as asked,
        pytest.raises(ExtenderError, match=want),
    ):
        asked.preempt(WEB, {"a": Victims([VICTIMS["v1"]], 0)})


def test_bind() -> None:
    with serving(always({})) as served, closing(extender(served.url)) as asked:
        asked.bind(WEB, "b")

    want = {"PodName": "web", "PodNamespace": "default", "PodUID": "uid-web", "Node": "b"}
    assert [("/bind", want)] == served.asked


def test_a_refused_bind_is_an_error() -> None:
    with (
        serving(always({"Error": "quota"})) as served,
        closing(extender(served.url)) as asked,
        pytest.raises(ExtenderError, match=r"^quota$"),
    ):
        asked.bind(WEB, "b")


@pytest.mark.parametrize(
    ("managed", "wanted", "want"),
    [
        pytest.param((), {}, True, id="one that manages nothing is interested in all pods"),
        pytest.param(("example.com/gpu",), {}, False, id="a plain pod is none of its business"),
        pytest.param(("example.com/gpu",), {"requests": {"example.com/gpu": 1}}, True, id="one that asks for it is"),
        pytest.param(("example.com/gpu",), {"limits": {"example.com/gpu": 1}}, True, id="limits count too"),
    ],
)
def test_interested(managed: tuple[str, ...], wanted: dict[str, Any], want: bool) -> None:
    made = pod("p")
    (container,) = made.spec.containers
    resources = msgspec.structs.replace(container.resources, **wanted)
    changed = msgspec.structs.replace(container, resources=resources)
    spec = msgspec.structs.replace(made.spec, containers=(changed,))
    asked = extender("http://127.0.0.1:1", managed_resources=tuple(ManagedResource(name=name) for name in managed))

    assert want == asked.interested(PodCompiler().compile(msgspec.structs.replace(made, spec=spec)))


def test_one_that_is_not_there() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        want = rf'^Post "{url}/filter": dial tcp {url.removeprefix("http://")}: connect: connection refused$'
        with closing(extender(url)) as asked, pytest.raises(ExtenderError, match=want):
            asked.filter(WEB, ["a"])


def drip(connection: socket.socket, stop: threading.Event) -> None:
    """A status line, and then a header that never ends."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not stop.wait(0.02):
        try:
            connection.sendall(b"x")
        except OSError:
            return


@pytest.mark.parametrize("drips", [pytest.param(False, id="in silence"), pytest.param(True, id="drop by drop")])
def test_one_that_hangs_costs_its_timeout_and_no_more(drips: bool) -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang() -> None:
            connection, _ = server.accept()
            with connection:
                if drips:
                    drip(connection, stop)
                else:
                    stop.wait()

        thread = threading.Thread(target=hang)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        started = time.monotonic()
        try:
            with (
                closing(extender(url, http_timeout_ns=300 * MILLISECOND_NS)) as asked,
                pytest.raises(ExtenderError, match=f'Post "{url}/filter": context deadline exceeded'),
            ):
                asked.filter(WEB, ["a"])
            took = time.monotonic() - started
        finally:
            stop.set()
            thread.join()

    assert 0.25 < took < 1.5


def test_one_that_hangs_up_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.recv(65536)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with closing(extender(url)) as asked, pytest.raises(ExtenderError, match=rf'^Post "{url}/bind": '):
            asked.bind(WEB, "a")
        thread.join()


@pytest.mark.parametrize("head", [
    pytest.param(b"HTTP/1.0 200 OK\r\n\r\n", id="and speaks HTTP/1.0"),
    pytest.param(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 19\r\n\r\n", id="and says so"),
])  # fmt: skip
def test_one_that_closes_after_each_answer_is_heard_out(head: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                with connection:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    question = b""
                    while not question.endswith(b"}"):  # what is left unread would reset the connection
                        question += connection.recv(65536)
                    connection.sendall(head)
                    asked.wait()
                    connection.sendall(b'{"NodeNames":["a"]}')

        asked = threading.Event()
        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        timer = threading.Timer(0.05, asked.set)  # the head is read before the rest is there
        timer.start()
        with closing(extender(url)) as one:
            got = [one.filter(WEB, ["a", "b"]).kept for _ in range(2)]
        thread.join()

    assert [["a"], ["a"]] == got


def server_tls(folder: Path) -> tuple[ServerTls, bytes]:
    """A server's side, and the certificate to trust."""
    tls = ServerTls(ServingOptions(cert_dir=str(folder)), SystemClock())
    return tls, (folder / "kube-scheduler.crt").read_bytes()


def test_https_with_its_own_root(tmp_path: Path) -> None:
    tls, root = server_tls(tmp_path)
    trusting = ExtenderTls(ca_data=root, server_name="localhost")
    with (
        serving(always({"NodeNames": ["a"]}), tls) as served,
        closing(extender(served.url, enable_https=True, tls=trusting)) as asked,
    ):
        assert ["a"] == asked.filter(WEB, ["a"]).kept


def test_https_without_a_root_is_not_verified(tmp_path: Path) -> None:
    tls, _ = server_tls(tmp_path)
    with (
        serving(always({"NodeNames": ["a"]}), tls) as served,
        closing(extender(served.url, enable_https=True)) as asked,
    ):
        assert ["a"] == asked.filter(WEB, ["a"]).kept


def test_https_with_the_wrong_root(tmp_path: Path) -> None:
    tls, _ = server_tls(tmp_path)
    other = self_signed("localhost", SystemClock()).certificate
    with (
        serving(always({}), tls) as served,
        closing(extender(served.url, enable_https=True, tls=ExtenderTls(ca_data=other))) as asked,
        pytest.raises(ExtenderError, match=r"tls: .*certificate"),
    ):
        asked.filter(WEB, ["a"])
