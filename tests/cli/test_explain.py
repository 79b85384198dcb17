"""stowplan explain: golden tables (--update-golden rewrites them), forms, exit statuses."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.running import Ran, run
from tests.sim.manifests import node, pod, scenario, write

STORIES = Path(__file__).parent / "explain"
MORE = {
    "exhaustive": ["--exhaustive"],
    "node": ["--node", "small"],
    "best": ["--best", "1", "--node", "c"],
}
"""Options of the stories that take some."""


def explain(story: Path, *more: str) -> Ran:
    return run("explain", "pod/web", "--snapshot", str(story), *more)


@pytest.mark.parametrize("story", sorted(STORIES.glob("*.input.yaml")), ids=lambda path: path.name.split(".")[0])
def test_story(story: Path, request: pytest.FixtureRequest) -> None:
    name = story.name.removesuffix(".input.yaml")
    ran = explain(story, *MORE.get(name, []))
    got = f"{ran.out}exit status {ran.status}\n"
    golden = story.with_name(f"{name}.want.txt")
    if request.config.getoption("--update-golden"):
        golden.write_text("".join(f"{line.rstrip()}\n" for line in got.splitlines()))

    assert "" == ran.err
    assert golden.read_text().splitlines() == [line.rstrip() for line in got.splitlines()]


def test_json_and_yaml_hold_the_same(tmp_path: Path) -> None:
    name = write(tmp_path / "s", scenario("s", node("a"), node("b", cpu="1"), pending=[pod("web", cpu="2")]))

    as_json, as_yaml = (run("explain", "web", "--snapshot", name, "-o", form) for form in ("json", "yaml"))

    told = json.loads(as_json.out)
    assert told == yaml.safe_load(as_yaml.out)
    assert ("explain.stowplan.dev/v1", "Explanation", "default/web", "a", 2, 1) == tuple(
        told[key] for key in ("apiVersion", "kind", "pod", "node", "nodes", "feasible")
    )
    assert ["Insufficient cpu"] == [reason["reason"] for reason in told["reasons"]]
    assert (0, 0) == (as_json.status, as_yaml.status)


def test_a_pod_that_fits_nowhere_exits_with_one(tmp_path: Path) -> None:
    name = write(tmp_path / "s", scenario("s", node("a"), pending=[pod("web", cpu="20")]))

    ran = run("explain", "pod/web", "--snapshot", name, "-o", "json")

    assert 1 == ran.status
    assert not json.loads(ran.out)["schedulable"]


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["node/a"], "node/a: only pods can be explained; write pod/NAME", id="no pod"),
        pytest.param(["pod/"], "pod/: only pods can be explained; write pod/NAME", id="no name"),
        pytest.param(["pod/x"], "FILE: none of its 1 scenarios has a pod default/x", id="an unknown pod"),
        pytest.param(["pod/web", "-n", "zz"], "FILE: none of its 1 scenarios has a pod zz/web", id="another namespace"),
        pytest.param(["pod/web", "--node", "zz"], "FILE: there is no node zz", id="an unknown node"),
        pytest.param(["pod/web", "--config", "/no/such"], "/no/such: No such file or directory", id="no config"),
    ],
)
def test_what_is_not_there_is_one_line(tmp_path: Path, arguments: list[str], want: str) -> None:
    name = write(tmp_path / "s", scenario("s", node("a"), pending=[pod("web")]))

    ran = run("explain", *arguments, "--snapshot", name)

    assert (2, [want.replace("FILE", name)], "") == (ran.status, ran.complaints, ran.out)


def test_a_configuration_with_an_unknown_plugin_is_one_line(tmp_path: Path) -> None:
    name = write(tmp_path / "s", scenario("s", node("a"), pending=[pod("web")]))
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {filter: {enabled: [{name: Nope}]}}}]\n"
    )

    ran = run("explain", "pod/web", "--snapshot", name, "--config", str(config))

    (complaint,) = ran.complaints
    assert complaint.startswith(f"{config}: ")
    assert '"Nope" does not exist' in complaint
    assert 2 == ran.status


def test_usage_errors() -> None:
    assert 2 == run("explain", "pod/web").status
    assert 2 == run("explain", "pod/web", "--snapshot", "x", "-o", "xml").status
    assert 2 == run("explain", "pod/web", "--snapshot", "x", "--best", "0").status
