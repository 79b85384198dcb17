"""Every kind has a table, and every table a cell for each column."""

import pytest

from stowplan.apiserver.defaulting.table import DEFAULTERS
from stowplan.apiserver.printing.table import PRINTERS, printer_for
from stowplan.apiserver.resources.builtin import builtin_resources
from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.strategy.table import STRATEGIES
from stowplan.apiserver.validation.table import CHANGES, NEW

RESOURCES = builtin_resources()


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda found: f"{found.plural}.{found.group}")
def test_an_empty_object_has_a_row(resource: Resource) -> None:
    printer = printer_for(resource)

    row = printer.row({"metadata": {"name": "a"}}, 0.0)

    assert len(printer.columns) == len(row)
    assert "name" == printer.columns[0].name.lower() or resource.plural == "events"


@pytest.mark.parametrize("table", [PRINTERS, DEFAULTERS, STRATEGIES, NEW, CHANGES], ids=lambda found: str(len(found)))
def test_tables_speak_of_kinds_that_there_are(table: dict[str, object]) -> None:
    assert set() == table.keys() - {resource.storage for resource in RESOURCES}
