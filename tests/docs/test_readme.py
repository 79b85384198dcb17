"""What the README shows is what the program prints."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.cli.main import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```console\n\$ stowplan (?P<arguments>[^\n]+)\n(?P<output>.*?)\n```", re.DOTALL)


def test_the_example_prints_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = BLOCK.search((ROOT / "README.md").read_text())
    assert shown is not None

    result = CliRunner().invoke(main, shown["arguments"].split())

    assert shown["output"] == "\n".join(line.rstrip() for line in result.output.rstrip().splitlines())


def test_every_command_is_listed() -> None:
    readme = (ROOT / "README.md").read_text()

    missing = [name for name in main.list_commands(None) if f"`stowplan {name}`" not in readme]  # type: ignore[arg-type]

    assert [] == missing


@pytest.mark.parametrize(
    "page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page if (ROOT / page).exists() else ROOT / "docs" / page
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())

    broken = [link for link in links if not (path.parent / link).exists()]

    assert [] == broken
