"""Plugins of third parties: found by name or announcement, refused with a reason."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from stowplan.framework.discovery import ENTRY_POINTS, PluginLoadError, installed_plugins, load_plugin, load_plugins

MODULE = """\
from stowplan.framework.plugin import FilterPlugin, Plugin

class Picky(FilterPlugin):
    name = "Picky"

class Twin(FilterPlugin):
    name = "Picky"

class Nameless(FilterPlugin):
    pass

class Idle(Plugin):
    name = "Idle"

class Holder:
    Inner = Picky

NOT_A_CLASS = 5
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An importable module with plugins, and one that breaks beside it."""
    (tmp_path / "third_party_plugins.py").write_text(MODULE)
    (tmp_path / "third_party_broken.py").write_text("raise RuntimeError('no luck')")
    (tmp_path / "third_party_needy.py").write_text("import not_installed_anywhere")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "third_party_plugins"
    for name in ("third_party_plugins", "third_party_broken", "third_party_needy"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("path", ["Picky", "Holder.Inner"])
def test_a_named_plugin(module: str, path: str) -> None:
    assert "Picky" == load_plugin(f"{module}:{path}").name


@pytest.mark.parametrize(
    ("reference", "want"),
    [
        pytest.param("third_party_plugins", "write it as module:Class", id="no class"),
        pytest.param(":Picky", "write it as module:Class", id="no module"),
        pytest.param("nowhere_at_all:Picky", "there is no module 'nowhere_at_all' to import", id="no such module"),
        pytest.param("third_party_needy:X", "there is no module 'not_installed_anywhere' to import",
                     id="a module that needs another"),
        pytest.param("third_party_broken:X", "importing third_party_broken failed: RuntimeError: no luck",
                     id="a broken module"),
        pytest.param("third_party_plugins:Missing", "third_party_plugins has no Missing", id="no such class"),
        pytest.param("third_party_plugins:NOT_A_CLASS", "5 is not a class derived from", id="no class at all"),
        pytest.param("third_party_plugins:Holder", "is not a class derived from", id="another class"),
        pytest.param("third_party_plugins:Nameless", "Nameless has no name", id="no name"),
        pytest.param("third_party_plugins:Idle", "Idle takes part in no extension point", id="nothing to do"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("module")
def test_refused(reference: str, want: str) -> None:
    with pytest.raises(PluginLoadError) as caught:
        load_plugin(reference)

    assert want in str(caught.value)
    assert repr(reference) in str(caught.value)


def announced(value: str) -> EntryPoint:
    return EntryPoint("mine", value, ENTRY_POINTS)


def test_an_announced_plugin(module: str) -> None:
    assert ["Picky"] == [plugin.name for plugin in installed_plugins([announced(f"{module}:Picky")])]


@pytest.mark.usefixtures("module")
def test_a_broken_announcement_names_itself() -> None:
    with pytest.raises(PluginLoadError, match=r"entry point 'mine' of stowplan\.plugins \(third_party_broken:X\): "):
        installed_plugins([announced("third_party_broken:X")])


def test_naming_one_twice_is_no_fault(module: str) -> None:
    assert ["Picky"] == [p.name for p in load_plugins([f"{module}:Picky", f"{module}:Holder.Inner"])]


def test_two_of_one_name(module: str) -> None:
    with pytest.raises(PluginLoadError, match=r"two plugins are named Picky: third_party_plugins:Picky and .*:Twin"):
        load_plugins([f"{module}:Picky", f"{module}:Twin"])
