"""Which HTTP proxy stands between us and the server: the kubeconfig's, or the environment's as Go reads it.

Upstream: golang.org/x/net/http/httpproxy, as vendored in v1.36.4.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from stowplan.client.errors import ConfigError


def checked_proxy(url: str, *, place: str) -> str:
    """The proxy URL, if it is of a kind that we can talk through."""
    scheme = urlsplit(url).scheme
    if scheme not in {"http", "https"}:
        raise ConfigError(
            f"{place}: a proxy of the kind {scheme or 'without a scheme'!r} is not supported, http and https are"
        )
    return url


def proxy_from_environment(server: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that the environment names for this server, if any."""
    target = urlsplit(server)
    name = f"{target.scheme}_proxy"
    url = environment.get(name.upper()) or environment.get(name)
    host = target.hostname or ""
    if not url or _is_local(host):
        return None
    exceptions = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    if any(_matches(rule.strip().lower(), host.lower(), target.port) for rule in exceptions.split(",")):
        return None
    # parity: a proxy without a scheme is an http proxy
    return checked_proxy(url if "://" in url else f"http://{url}", place=f"the variable {name.upper()}")


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _matches(rule: str, host: str, port: int | None) -> bool:
    if not rule:
        return False
    if rule == "*":
        return True
    address = _address(host)
    if "/" in rule:
        try:
            network = ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
        return address is not None and address in network
    if _address(rule) is None and ":" in rule:
        rule, _, rule_port = rule.rpartition(":")
        if rule_port != str(port):
            return False
    if _address(rule) is not None:
        return _address(rule) == address
    domain = rule.removeprefix("*").removeprefix(".")
    # parity: a leading dot leaves out the domain itself
    return host.endswith("." + domain) or (host == domain and rule == domain)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
