"""The secure port: what every page says."""

import json
from dataclasses import replace

import pytest

from stowplan.daemon.health import Check, Checks
from stowplan.daemon.options import parse_options
from tests.daemon.serving import Client, Levels, pages, run, serving_options


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param("/healthz", (200, "ok"), id="healthz"),
        pytest.param("/livez", (200, "ok"), id="livez"),
        pytest.param("/livez?verbose", (200, "[+]ping ok\nlivez check passed\n"), id="no checks are a ping"),
        pytest.param("/livez/ping", (200, "ok"), id="one check"),
        pytest.param("/readyz?verbose", (500, "[+]informers ok\n[-]leader failed: reason withheld\n"
                     "readyz check failed\n"), id="a failing check keeps its reason"),
        pytest.param("/readyz", (500, "[+]informers ok\n[-]leader failed: reason withheld\nreadyz check failed\n"),
                     id="what fails is always told in full"),
        pytest.param("/readyz?exclude=leader", (200, "ok"), id="checks can be left out"),
        pytest.param("/readyz?verbose&exclude=leader&exclude=nope",
                     (200, "[+]informers ok\n[+]leader excluded: ok\nwarn: some health checks cannot be excluded: "
                           'no matches for "nope"\nreadyz check passed\n'), id="unknown names are told"),
        pytest.param("/readyz/informers", (200, "ok"), id="a check by name"),
        pytest.param("/readyz/leader", (500, "internal server error: nobody leads\n"),
                     id="a failing check by name has its reason"),
        pytest.param("/readyz/nope", (404, "404 page not found\n"), id="no such check"),
        pytest.param("/metrics", (200, "scheduler_pending_pods 1\n"), id="metrics"),
        pytest.param("/metrics/resources", (200, "kube_pod_resource_request 1\n"), id="resources"),
        pytest.param("/configz", (200, '{"componentconfig":{"parallelism":16}}'), id="configz"),
        pytest.param("/debug/stowplan/queue", (200, '{"active":["default/web"]}'), id="the queue"),
        pytest.param("/debug/stowplan/explain?pod=default/web", (200, '{"pod":"default/web","why":"no room"}'),
                     id="why a pod waits"),
        pytest.param("/debug/stowplan/explain?pod=default/x", (404, 'there is no pod "default/x" here\n'),
                     id="no such pod"),
        pytest.param("/debug/stowplan/explain?pod=web", (400, "name a pod: ?pod=NAMESPACE/NAME\n"), id="no pod named"),
        pytest.param("/debug/pprof/profile",
                     (501, "There is no Go runtime to profile here: point py-spy at the process instead.\n"),
                     id="profiles of Go"),
        pytest.param("/nope", (404, "404 page not found\n"), id="nothing"),
        pytest.param("/", (404, "404 page not found\n"), id="no index"),
    ],
)  # fmt: skip
def test_page(path: str, want: tuple[int, str]) -> None:
    checks = Checks(readyz=(Check("informers", lambda: None), Check("leader", lambda: "nobody leads")))

    async def story(client: Client) -> None:
        assert want == await client.ask(path)

    run(story, checks=checks)


def test_headers() -> None:
    async def story(client: Client) -> None:
        async with client.session.get(client.url + "/livez") as response:
            assert "no-cache, private" == response.headers["Cache-Control"]
            assert "nosniff" == response.headers["X-Content-Type-Options"]
            assert "text/plain; charset=utf-8" == response.headers["Content-Type"]
            assert "aiohttp" not in response.headers["Server"]

    run(story)


def test_statusz_and_flagz() -> None:
    options = parse_options(["--leader-elect-lease-duration=20s", "--feature-gates=VolumeLimitScaling=true"])

    async def story(client: Client) -> None:
        _, text = await client.ask("/statusz")
        assert text.startswith("\nkube-scheduler statusz\n")
        assert "\nBinary version  1.36.4\nEmulation version  1.36\n" in text
        assert "\nPaths  /configz /flagz /healthz /livez /metrics /readyz\n" in text
        _, text = await client.ask("/statusz", headers={"Accept": "application/json"})
        assert ("Statusz", "1.36.4") == (json.loads(text)["kind"], json.loads(text)["binaryVersion"])
        _, text = await client.ask("/flagz")
        lines = text.splitlines()
        assert "leader-elect-lease-duration 20s" in lines
        assert "feature-gates VolumeLimitScaling=true" in lines
        assert "authorization-always-allow-paths [/healthz,/readyz,/livez]" in lines
        assert "kube-api-qps 50" in lines
        assert "leader-elect true" in lines

    run(story, options=replace(options, serving=serving_options()))


def test_slis_count_checks() -> None:
    checks = Checks(readyz=(Check("leader", lambda: "nobody leads"),))

    async def story(client: Client) -> None:
        await client.ask("/readyz")
        await client.ask("/readyz")
        _, text = await client.ask("/metrics/slis")
        assert 'kubernetes_healthcheck{name="leader",type="readyz"} 0.0\n' in text
        assert 'kubernetes_healthchecks_total{name="leader",status="error",type="readyz"} 2.0\n' in text

    run(story, checks=checks)


def test_a_standby_tells_no_resources() -> None:
    async def story(client: Client) -> None:
        assert (200, "") == await client.ask("/metrics/resources")

    run(story, shown=pages(resources=lambda: None))


def test_verbosity() -> None:
    levels = Levels()

    async def story(client: Client) -> None:
        path = "/debug/flags/v"
        want = (200, "successfully set klog.logging.verbosity to 4\n")
        assert want == await client.ask(path, method="PUT", body=b"4")
        assert 4 == levels.level
        want = (400, 'strconv.ParseUint: parsing "x": invalid syntax\n')
        assert want == await client.ask(path, method="PUT", body=b"x")
        assert (406, "unsupported http method\n") == await client.ask(path)
        assert 4 == levels.level

    run(story, shown=pages(set_verbosity=levels.set))


def test_without_profiling_there_is_no_verbosity() -> None:
    async def story(client: Client) -> None:
        assert (404, "404 page not found\n") == await client.ask("/debug/flags/v", method="PUT", body=b"4")

    run(story, shown=pages(profiling=False))


def test_pages_are_for_reading() -> None:
    async def story(client: Client) -> None:
        assert (405, "/metrics can only be read\n") == await client.ask("/metrics", method="PUT", body=b"")

    run(story)


def test_a_broken_page_breaks_nothing_else() -> None:
    def broken() -> bytes:
        raise RuntimeError("no metrics today")

    async def story(client: Client) -> None:
        status, text = await client.ask("/metrics")
        assert 500 == status
        assert "no metrics today" not in text
        assert (200, "ok") == await client.ask("/livez")

    run(story, shown=pages(metrics=broken))
