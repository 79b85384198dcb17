"""Files are read line by line, to the point where they break off."""

import io
import os
import sys
from pathlib import Path

import pytest

from stowplan.sim.scenario_files import FileError, Line, read_lines
from tests.sim.manifests import write


def read(name: str) -> tuple[list[str], str]:
    """The places of the lines, and the error at the end."""
    places = []
    try:
        for line in read_lines(name):
            places.append(line.place.rpartition("/")[2])  # noqa: PERF401 - those before the error count
    except FileError as error:
        return places, str(error)
    return places, ""


@pytest.mark.parametrize("name", ["plain.jsonl", "packed.jsonl.gz", "misnamed.gz"])
def test_plain_and_packed_files_read_alike(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, '{"a": 1}', "", "   ", '{"b": 2}')
    if name == "misnamed.gz":
        path.write_text('{"a": 1}\n\n   \n{"b": 2}')

    assert ([f"{name}:1", f"{name}:4"], "") == read(str(path))
    assert [b'{"a": 1}', b'{"b": 2}'] == [line.data.strip() for line in read_lines(str(path))]


def test_a_file_cut_short_gives_its_lines_first(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    write(path, *(os.urandom(60).hex() for _ in range(2000)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])

    places, error = read(str(path))

    assert 0 < len(places) < 2000
    assert f"{path}: after line {len(places)}: the gzip file is cut short" == error


def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "damaged.gz"
    write(path, *(os.urandom(60).hex() for _ in range(2000)))
    data = bytearray(path.read_bytes())
    data[20:40] = bytes(20)
    path.write_bytes(data)

    places, error = read(str(path))

    assert [] == places
    assert error.startswith(f"{path}: the gzip file is damaged (")


def test_a_wrong_checksum_is_told_after_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "sum.gz"
    write(path, "{}")
    data = bytearray(path.read_bytes())
    data[-8] ^= 0xFF
    path.write_bytes(data)

    assert "CRC check failed" in read(str(path))[1]


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("nowhere", "nowhere: No such file or directory", id="a file that is not there"),
        pytest.param(".", ".: Is a directory", id="a folder"),
    ],
)
def test_what_cannot_be_opened(name: str, want: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert ([], want) == read(name)


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_a_dash(packed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / ("in.gz" if packed else "in")
    write(path, '{"a": 1}')
    with io.TextIOWrapper(io.BufferedReader(io.FileIO(path))) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)

        assert [Line("standard input:1", b'{"a": 1}\n')] == list(read_lines("-"))
        assert not stdin.buffer.closed, "it is not ours to close"


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    assert ([], "") == read(write(tmp_path / "empty"))
