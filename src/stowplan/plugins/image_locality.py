"""ImageLocality: prefer nodes that have the pod's images already, above all big ones that many nodes have.

Upstream: pkg/scheduler/framework/plugins/imagelocality (v1.36.4).
"""

from typing import Final, final

import numpy as np

from stowplan.columns.pods import PodClass, PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.plugin import MAX_SCORE, Depends, ScorePlugin
from stowplan.goarith import IntN, to_int_scalar, trunc_div

MB: Final = 1024 * 1024
LEAST: Final = 23 * MB
"""Images of less than this in total count nothing."""
MOST_PER_CONTAINER: Final = 1000 * MB
"""More than this, times the containers, counts no more."""


@final
class ImageLocality(ScorePlugin[None]):
    """Ranks nodes by the size of the pod's images that they hold."""

    name = "ImageLocality"
    # what an image counts depends on how many other nodes have it
    depends = Depends.FLEET

    def score(self, pod: PodInfo, rows: Rows, plan: None) -> IntN:
        """The sum over images of size times share of nodes, brought to the range of scores."""
        view = rows.view
        sums: IntN | None = None
        for name in image_names(pod.cls):
            state = view.nodes.images.get(name)
            if state is None:
                continue
            if sums is None:
                sums = np.zeros(view.nodes.table.capacity, np.int64)
            sums[state.index] += to_int_scalar(state.size * (len(state.rows) / len(view)))
        if sums is None:
            return np.zeros(len(rows), np.int64)
        containers = len(pod.cls.spec.init_containers) + len(pod.cls.spec.containers)
        return brought_to_range(sums[rows.index], MOST_PER_CONTAINER * containers)


def brought_to_range(sum_n: IntN, most: int) -> IntN:
    """Sums between LEAST and `most` to scores."""
    return trunc_div(MAX_SCORE * (np.maximum(np.minimum(sum_n, most), LEAST) - LEAST), most - LEAST)


def image_names(cls: PodClass) -> list[str]:
    """The images of a pod, once per use, as nodes name them."""
    spec = cls.spec
    names = [container.image for container in (*spec.init_containers, *spec.containers)]
    names += [volume.image.reference for volume in spec.volumes if volume.image is not None]
    return [normalized(name) for name in names]


def normalized(name: str) -> str:
    """An image name with a tag."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
