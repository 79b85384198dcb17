"""The example in docs/configuration.md does what the page says."""

import re
from pathlib import Path

from stowplan.config.load import load_configuration
from stowplan.framework.plugin_args import MOST_ALLOCATED, NodeResourcesFitArgs
from tests.config.catalog import CATALOG, ORDER, names, weights

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_example_of_the_page() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)

    packing, tried = load_configuration(example.encode(), str(PAGE), CATALOG, ORDER).profiles

    assert ("NodeResourcesFit", 10) == weights(packing)[0]
    assert "ImageLocality" not in names(packing, "score")
    fit = packing.args["NodeResourcesFit"]
    assert isinstance(fit, NodeResourcesFitArgs)
    assert (MOST_ALLOCATED, [("cpu", 3), ("memory", 1)]) == (
        fit.scoring_strategy.type,
        [(resource.name, resource.weight) for resource in fit.scoring_strategy.resources],
    )
    assert ("Custom", 5) == weights(tried)[-1]
    assert "Custom" == names(tried, "filter")[-1]
