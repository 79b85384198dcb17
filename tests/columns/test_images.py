"""Images and the rows that have them."""

from stowplan.columns.images import Images


def rows(images: Images, name: str) -> list[int]:
    state = images.get(name)
    return [] if state is None else sorted(state.index.tolist())


def test_rows_come_and_go() -> None:
    images = Images()
    images.set(3, [("web", 10), ("db", 20)])
    images.set(1, [("web", 99)])
    assert [1, 3] == rows(images, "web")

    images.set(3, [("db", 20)])

    assert [1] == rows(images, "web")
    assert [3] == rows(images, "db")

    images.set(5, [("web", 10)])

    assert [1, 5] == rows(images, "web")


def test_an_image_without_nodes_is_forgotten_with_its_size() -> None:
    images = Images()
    images.set(1, [("web", 10)])
    images.set(1, [])
    assert images.get("web") is None

    images.set(2, [("web", 30)])

    state = images.get("web")
    assert state is not None
    assert 30 == state.size


def test_a_name_listed_twice_is_one_image_of_the_first_size() -> None:
    images = Images()
    images.set(1, [("web", 10), ("web", 30)])
    state = images.get("web")
    assert state is not None
    assert (10, [1]) == (state.size, state.index.tolist())

    images.set(1, [])

    assert images.get("web") is None
