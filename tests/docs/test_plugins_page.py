"""The examples in docs/plugins.md do what the page says."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings

from stowplan.api.pod import Pod
from stowplan.composition import set_up
from stowplan.config.errors import ConfigError
from stowplan.framework import plugin as points
from stowplan.testing.builders import node, pod
from stowplan.testing.properties import assert_rows_agree, assert_worlds_agree
from stowplan.testing.running import run_filter, run_score, run_wakes
from tests.plugins.generated import Scene, pods, scenes

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The page's code as the module that a reader would make of it."""
    path = tmp_path_factory.mktemp("page") / "page_example.py"
    path.write_text("\n".join(blocks("python")), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[path.stem]


def test_the_tests_of_the_page_pass(example: Any) -> None:
    example.test_plain_pods_stay_away()
    example.test_the_contract_is_kept()


@settings(max_examples=40)
@given(scenes(), pods())
def test_both_ways_of_writing_it_agree(example: Any, scene: Scene, pod: Pod) -> None:
    slow, fast = (kind(example.ReserveGpusArgs()) for kind in (example.ReserveGpus, example.ReserveGpusFast))

    assert run_filter(slow, scene.cluster(), pod).by_node == run_filter(fast, scene.cluster(), pod).by_node
    assert run_score(slow, scene.cluster(), pod) == run_score(fast, scene.cluster(), pod)


@settings(max_examples=20)
@given(scenes(), pods(), pods("guest"))
def test_both_keep_the_contract(example: Any, scene: Scene, pod: Pod, guest: Pod) -> None:
    for kind in (example.ReserveGpus, example.ReserveGpusFast):
        assert_rows_agree(kind(example.ReserveGpusArgs()), scene.cluster(), pod)
        assert_worlds_agree(kind(example.ReserveGpusArgs()), scene.cluster, pod, guest)


def test_the_configuration_of_the_page_enables_it_with_its_arguments(example: Any) -> None:
    (config,) = blocks("yaml")

    profile = set_up(config.encode(), str(PAGE), plugins=[example.ReserveGpus]).first

    assert "team/anybody" == profile.plugins["ReserveGpus"].open_label  # type: ignore[attr-defined]
    assert ("ReserveGpus", 5) == [(scorer.name, weight) for scorer, weight in profile.scores][-1]
    assert "ReserveGpus" == profile.filters[-1].name


def test_a_misspelt_argument_is_refused(example: Any) -> None:
    (config,) = blocks("yaml")

    with pytest.raises(ConfigError, match="openLable"):
        set_up(config.replace("openLabel", "openLable").encode(), str(PAGE), plugins=[example.ReserveGpus])


def test_opening_a_node_wakes(example: Any) -> None:
    plugin = example.ReserveGpus(example.ReserveGpusArgs())

    assert run_wakes(plugin, pod(), old=node("a"), new=node("a", labels={"example.com/open-to-all": ""}))
    assert not run_wakes(plugin, pod(), old=node("a", cpu=1), new=node("a", cpu=2))


def test_every_method_the_page_names_is_there() -> None:
    named = re.findall(r"`(\w+Plugin)\.(\w+)", TEXT)

    assert len(named) > 10
    for base, method in named:
        home = points if hasattr(points, base) else importlib.import_module("stowplan.framework.per_node")
        assert callable(getattr(getattr(home, base), method)), f"{base}.{method}"
