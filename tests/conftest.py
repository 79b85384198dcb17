"""Options of the whole suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the files that golden tests compare with; review the difference."""
    parser.addoption("--update-golden", action="store_true", help="rewrite *.want.* files")
