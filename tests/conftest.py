"""Options of the whole suite."""

import pytest
from hypothesis import settings

# an example may take long on a busy machine; what a property must not do is fail for it
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the files that golden tests compare with; review the difference."""
    parser.addoption("--update-golden", action="store_true", help="rewrite *.want.* files")
