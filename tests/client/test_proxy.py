"""The environment's proxy is found by Go's rules."""

import pytest

from stowplan.client.errors import ConfigError
from stowplan.client.proxy import checked_proxy, proxy_from_environment

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "exceptions", "want"),
    [
        pytest.param("https://api.example:6443", "", PROXY, id="no exceptions"),
        pytest.param("https://127.0.0.1:6443", "", None, id="loopback never"),
        pytest.param("https://localhost:6443", "", None, id="nor localhost"),
        pytest.param("https://10.1.2.3", "10.0.0.0/8", None, id="a network"),
        pytest.param("https://11.1.2.3", "10.0.0.0/8", PROXY, id="another network"),
        pytest.param("https://[fd00::1]:6443", "fd00::/8", None, id="a network of IPv6"),
        pytest.param("https://10.1.2.3", "10.1.2.3", None, id="an address"),
        pytest.param("https://api.example", "example", None, id="a domain above"),
        pytest.param("https://example", "example", None, id="the domain itself"),
        pytest.param("https://example", ".example", PROXY, id="a leading dot leaves the domain itself out"),
        pytest.param("https://api.example", "*.example", None, id="a star is a dot"),
        pytest.param("https://notexample", "example", PROXY, id="not within a word"),
        pytest.param("https://api.example:6443", "api.example:6443", None, id="a port that fits"),
        pytest.param("https://api.example:6443", "api.example:443", PROXY, id="a port that does not"),
        pytest.param("https://api.example", "a, *", None, id="everything"),
        pytest.param("https://api.example", "10.0.0.0/99", PROXY, id="a broken rule"),
        pytest.param("http://api.example", "", None, id="a variable for another scheme"),
    ],
)
def test_exceptions(server: str, exceptions: str, want: str | None) -> None:
    assert want == proxy_from_environment(server, {"HTTPS_PROXY": PROXY, "NO_PROXY": exceptions})


@pytest.mark.parametrize(
    ("environment", "want"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"https_proxy": PROXY}, PROXY, id="small letters"),
        pytest.param({"HTTPS_PROXY": "proxy:3128"}, PROXY, id="without a scheme it is http"),
        pytest.param({"HTTPS_PROXY": PROXY, "no_proxy": "x.io"}, PROXY, id="exceptions in small letters"),
    ],
)
def test_variables(environment: dict[str, str], want: str | None) -> None:
    assert want == proxy_from_environment("https://api.example", environment)


def test_other_kinds_are_refused() -> None:
    with pytest.raises(ConfigError, match="'socks5' is not supported") as caught:
        checked_proxy("socks5://me:s3cret@proxy", place="here")
    assert "s3cret" not in str(caught.value)
