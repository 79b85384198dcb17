"""Semantic versions."""

import pytest

from stowplan.plugins.dynamic_resources.cel.versions import VersionError, normalize_semver, parse_semver


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        pytest.param("1.2.3", "1.10.0", id="numbers compare as numbers"),
        pytest.param("1.0.0-rc.1", "1.0.0", id="a pre-release comes before its release"),
        pytest.param("1.0.0-2", "1.0.0-alpha", id="numbers come before words"),
        pytest.param("1.0.0-alpha", "1.0.0-alpha.1", id="more parts come later"),
        pytest.param("1.0.0-2", "1.0.0-10", id="numeric parts compare as numbers"),
    ],
)
def test_order(lower: str, higher: str) -> None:
    a, b = parse_semver(lower), parse_semver(higher)

    assert (a.compare(b), b.compare(a), a.compare(a)) == (-1, 1, 0)


def test_build_metadata_does_not_count() -> None:
    got = parse_semver("1.0.0+a").compare(parse_semver("1.0.0+b"))

    assert got == 0


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "Version string empty", id="nothing"),
        pytest.param("1.0", "No Major.Minor.Patch elements found", id="too short"),
        pytest.param("a.0.0", 'Invalid character(s) found in major number "a"', id="a letter"),
        pytest.param("1.02.0", 'Minor number must not contain leading zeroes "02"', id="a leading zero"),
        pytest.param("1.0.0-", "Prerelease is empty", id="an empty pre-release"),
        pytest.param(
            "1.0.0-01", 'Numeric PreRelease version must not contain leading zeroes "01"', id="a zero in a pre-release"
        ),
        pytest.param("1.0.0+", "Build meta data is empty", id="empty metadata"),
        pytest.param("1..0", 'strconv.ParseUint: parsing "": invalid syntax', id="an empty number"),
    ],
)
def test_bad_versions_are_named(text: str, want: str) -> None:
    with pytest.raises(VersionError) as failed:
        parse_semver(text)

    assert want == str(failed.value)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("v1", "1.0.0", id="a prefix goes and numbers are filled up"),
        pytest.param("01.02", "1.2.0", id="leading zeros go"),
    ],
)
def test_normalizing(text: str, want: str) -> None:
    assert parse_semver(want) == normalize_semver(text)
