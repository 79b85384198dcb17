"""The command line of the live scheduler: kube-scheduler's flags, with its names, syntax and answers."""

import ssl
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.composition import DEFAULT_REGISTRY, NAMES_AND_WEIGHTS
from stowplan.config.load import default_configuration, load_configuration
from stowplan.config.spec import SECOND_NS, LeaderElection
from stowplan.daemon.flag_help import help_text
from stowplan.daemon.flag_parsing import UsageError, parse_flags
from stowplan.daemon.flag_table import FLAGS, GROUPS
from stowplan.daemon.options import Options, parse_options
from stowplan.daemon.tls_flags import SniCertificate

# read in upstream's own help: group to flags
UPSTREAM = {
    "Misc": "config master write-config-to",
    "Secure serving": (
        "bind-address cert-dir disable-http2-serving http2-max-streams-per-connection permit-address-sharing "
        "permit-port-sharing secure-port tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version "
        "tls-private-key-file tls-sni-cert-key"
    ),
    "Authentication": (
        "authentication-kubeconfig authentication-skip-lookup authentication-token-webhook-cache-ttl "
        "authentication-tolerate-lookup-failure client-ca-file requestheader-allowed-names "
        "requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers "
        "requestheader-uid-headers requestheader-username-headers"
    ),
    "Authorization": (
        "authorization-always-allow-paths authorization-kubeconfig authorization-webhook-cache-authorized-ttl "
        "authorization-webhook-cache-unauthorized-ttl"
    ),
    "Deprecated": (
        "contention-profiling kube-api-burst kube-api-content-type kube-api-qps kubeconfig "
        "pod-max-in-unschedulable-pods-duration profiling"
    ),
    "Leader election": (
        "leader-elect leader-elect-lease-duration leader-elect-renew-deadline leader-elect-resource-lock "
        "leader-elect-resource-name leader-elect-resource-namespace leader-elect-retry-period"
    ),
    "Feature gate": "emulated-version feature-gates min-compatibility-version",
    "Metrics": ("allow-metric-labels allow-metric-labels-manifest disabled-metrics show-hidden-metrics-for-version"),
    "Logs": (
        "log-flush-frequency log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size "
        "log-text-split-stream logging-format v vmodule"
    ),
    "Global": "help version",
}


@pytest.mark.parametrize(("group", "names"), UPSTREAM.items(), ids=UPSTREAM)
def test_every_flag_of_upstream_is_there(group: str, names: str) -> None:
    assert names.split() == [flag.name for flag in GROUPS[group]]


def test_there_are_no_flags_but_upstreams_and_the_one_for_plugins() -> None:
    assert {*" ".join(UPSTREAM.values()).split(), "plugin"} == set(FLAGS)


def test_the_call_of_kubeadm() -> None:
    conf = "/etc/kubernetes/scheduler.conf"
    options = parse_options(
        [
            f"--authentication-kubeconfig={conf}",
            f"--authorization-kubeconfig={conf}",
            "--bind-address=127.0.0.1",
            f"--kubeconfig={conf}",
            "--leader-elect=true",
        ]
    )

    assert (conf, conf) == (options.authentication.kubeconfig, options.authorization.kubeconfig)
    assert ("127.0.0.1", 10259) == (options.serving.bind_address, options.serving.port)
    assert () == options.ignored


@pytest.mark.parametrize(
    ("arguments", "name", "want"),
    [
        pytest.param(["--secure-port=1"], "secure-port", 1, id="value after an equals sign"),
        pytest.param(["--secure-port", "1"], "secure-port", 1, id="value in the next word"),
        pytest.param(["--secure-port=0x10"], "secure-port", 16, id="Go reads bases"),
        pytest.param(["--secure-port=010"], "secure-port", 8, id="and old octals"),
        pytest.param(["--secure-port=1", "--secure-port=2"], "secure-port", 2, id="the last one wins"),
        pytest.param(["--leader-elect"], "leader-elect", True, id="a bare boolean is true"),
        pytest.param(["--leader-elect=F"], "leader-elect", False, id="Go's short booleans"),
        pytest.param(["--leader_elect=false"], "leader-elect", False, id="underscores are dashes"),
        pytest.param(["-v=2"], "v", 2, id="short with equals"),
        pytest.param(["-v2"], "v", 2, id="short and value in one word"),
        pytest.param(["-v", "2"], "v", 2, id="short and value in two"),
        pytest.param(["--v=2"], "v", 2, id="its long name is as short"),
        pytest.param(["--config", "--master"], "config", "--master", id="a value may look like a flag"),
        pytest.param(["--config="], "config", "", id="an empty value"),
        pytest.param(["--leader-elect-lease-duration=1m30s"], "leader-elect-lease-duration", 90 * SECOND_NS,
                     id="durations"),
        pytest.param(["--kube-api-qps=2.5"], "kube-api-qps", 2.5, id="fractions"),
        pytest.param(["--authorization-always-allow-paths=/a,/b"], "authorization-always-allow-paths", ("/a", "/b"),
                     id="a list replaces the default"),
        pytest.param(["--disabled-metrics=a,b", "--disabled-metrics=c"], "disabled-metrics", ("a", "b", "c"),
                     id="a list that is given twice adds up"),
        pytest.param(["--feature-gates=A=true,kube:B=false", "--feature-gates=A=false"], "feature-gates",
                     {"A": False, "B": False}, id="gates add up, the last word counts"),
        pytest.param(["--allow-metric-labels=m,l=x,y"], "allow-metric-labels", {"m,l": "x,y"},
                     id="a lone pair keeps its commas"),
        pytest.param(["--vmodule=loop=4,bind*=2"], "vmodule", (("loop", 4), ("bind*", 2)), id="patterns"),
        pytest.param(["--plugin=a:B", "--plugin", "c:D"], "plugin", ("a:B", "c:D"), id="plugins"),
        pytest.param(["--version"], "version", "plain", id="version"),
        pytest.param(["--version=raw"], "version", "raw", id="all of the version"),
        pytest.param(["--version=false"], "version", "", id="no version"),
        pytest.param(["-h"], "help", True, id="help"),
    ],
)  # fmt: skip
def test_syntax(arguments: list[str], name: str, want: Any) -> None:
    assert want == parse_flags(arguments)[name]


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["--foo"], "unknown flag: --foo", id="unknown"),
        pytest.param(["--foo=1"], "unknown flag: --foo", id="unknown with a value"),
        pytest.param(["-q"], "unknown shorthand flag: 'q' in -q", id="unknown letter"),
        pytest.param(["foo"], '"stowplan scheduler" does not take any arguments, got ["foo"]', id="an argument"),
        pytest.param(["--", "--config=x"], '"stowplan scheduler" does not take any arguments, got ["--config=x"]',
                     id="after two dashes all are arguments"),
        pytest.param(["--leader-elect", "false"],
                     '"stowplan scheduler" does not take any arguments, got ["false"]',
                     id="a boolean takes no second word"),
        pytest.param(["--config"], "flag needs an argument: --config", id="no value"),
        pytest.param(["-v"], "flag needs an argument: 'v' in -v", id="no value for a letter"),
        pytest.param(["--=x"], "bad flag syntax: --=x", id="no name"),
        pytest.param(["--secure-port=x"],
                     'invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax',
                     id="no number"),
        pytest.param(["--kube-api-burst=3000000000"],
                     'invalid argument "3000000000" for "--kube-api-burst" flag: strconv.ParseInt: parsing '
                     '"3000000000": value out of range', id="too large"),
        pytest.param(["--leader-elect=x"],
                     'invalid argument "x" for "--leader-elect" flag: strconv.ParseBool: parsing "x": invalid syntax',
                     id="no boolean"),
        pytest.param(["--leader-elect-lease-duration=x"],
                     'invalid argument "x" for "--leader-elect-lease-duration" flag: time: invalid duration "x"',
                     id="no duration"),
        pytest.param(["--bind-address=x"], 'invalid argument "x" for "--bind-address" flag: failed to parse IP: "x"',
                     id="no address"),
        pytest.param(["-vx"],
                     'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax',
                     id="no level"),
        pytest.param(["--kube-api-qps=x"],
                     'invalid argument "x" for "--kube-api-qps" flag: strconv.ParseFloat: parsing "x": invalid syntax',
                     id="no fraction"),
        pytest.param(["--feature-gates=Foo=true"], "unrecognized feature gate: Foo", id="unknown gate"),
        pytest.param(["--feature-gates=x"], "missing bool value for x", id="gate without a value"),
        pytest.param(["--feature-gates=SchedulerQueueingHints=false"],
                     "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true",
                     id="locked gate"),
        pytest.param(["--feature-gates=GangScheduling=true"],
                     "feature gate GangScheduling is not supported by stowplan: what it switches on does not exist "
                     "here", id="gate of something that is not there"),
        pytest.param(["--feature-gates=wardle:X=true"], "component not registered: wardle", id="other component"),
        pytest.param(["--secure-port=99999"],
                     "--secure-port 99999 must be between 0 and 65535, inclusive. 0 for turning off secure port",
                     id="no port"),
        pytest.param(["--logging-format=x"], 'format: Invalid value: "x": Unsupported log format', id="log format"),
        pytest.param(["--logging-format=json", "--vmodule=a=1"], "vmodule: Forbidden: Only supported for text log "
                     "format", id="vmodule in json"),
        pytest.param(["--show-hidden-metrics-for-version=3"],
                     'metrics.showHiddenMetricsForVersion: Invalid value: "3": must be omitted or have the value '
                     "'1.35'; only the previous minor version is allowed", id="hidden metrics"),
        pytest.param(["--tls-cipher-suites=foo"], "Cipher suite foo not supported or doesn't exist", id="cipher"),
        pytest.param(["--tls-min-version=x"], 'unknown tls version "x"', id="TLS version"),
        pytest.param(["--tls-curve-preferences=9"], "curve preference 9 is not supported", id="curve"),
        pytest.param(["--tls-cert-file=x"],
                     "--tls-cert-file and --tls-private-key-file go together: --tls-private-key-file is missing",
                     id="half a certificate"),
        pytest.param(["--tls-sni-cert-key=x"],
                     "--tls-sni-cert-key x: expected comma separated certificate and key file paths", id="SNI"),
        pytest.param(["--leader-elect-resource-lock=endpoints"],
                     "couldn't create resource lock: Invalid lock-type endpoints", id="another lock"),
        pytest.param(["--leader-elect-resource-name="], "--leader-elect-resource-name must not be empty",
                     id="no lock at all"),
        pytest.param(["--emulated-version=1.35"],
                     "--emulated-version 1.35: stowplan behaves as 1.36 and as no other version", id="emulation"),
        pytest.param(["--min-compatibility-version=1.20"],
                     "--min-compatibility-version 1.20 is not between [1.33, 1.36]", id="compatibility"),
        pytest.param(["--allow-metric-labels=m=x"],
                     '--allow-metric-labels must have a key with format `metricName,labelName`, got "m"',
                     id="metric without label"),
        pytest.param(["--version=v1.2.3"],
                     'invalid argument "v1.2.3" for "--version" flag: the reported version cannot be set, got '
                     '"v1.2.3"', id="another version"),
        pytest.param(["--secure-port=99999", "--feature-gates=Foo=true"],
                     "[--secure-port 99999 must be between 0 and 65535, inclusive. 0 for turning off secure port, "
                     "unrecognized feature gate: Foo]", id="several at once"),
    ],
)  # fmt: skip
def test_refused(arguments: list[str], want: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_options(arguments)

    assert want == str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param([], (), id="nothing given, nothing ignored"),
        pytest.param(["--contention-profiling=false"],
                     ("--contention-profiling has no effect: there is no Go runtime to profile",), id="Go's own"),
        pytest.param(["--kube-api-qps=5"], (), id="without a file the old flags count"),
        pytest.param(["--config=x", "--kube-api-qps=5", "--kubeconfig=y"],
                     ("--kube-api-qps is ignored, because --config is given",
                      "--kubeconfig is ignored, because --config is given"), id="with a file they do not"),
        pytest.param(["--config=x", "--pod-max-in-unschedulable-pods-duration=1m", "--leader-elect=false"], (),
                     id="what no file can say counts all the same, and so do the leader's flags"),
        pytest.param(["--feature-gates=KubeletPSI=true,HPAScaleToZero=true"],
                     ("--feature-gates: HPAScaleToZero=true has no effect: nothing that is decided here depends on it",
                      ), id="other components' gates"),
        pytest.param(["--tls-curve-preferences=29"],
                     ("--tls-curve-preferences has no effect: key exchanges are OpenSSL's choice",), id="curves"),
    ],
)  # fmt: skip
def test_ignored(arguments: list[str], want: tuple[str, ...]) -> None:
    assert want == parse_options(arguments).ignored


def test_gates() -> None:
    gates = parse_options(["--feature-gates=SchedulerAsyncPreemption=false,VolumeLimitScaling=true"]).gates

    assert not gates.on("SchedulerAsyncPreemption")
    assert gates.on("VolumeLimitScaling")
    assert gates.on("NodeDeclaredFeatures")


def test_the_secure_port() -> None:
    options = parse_options(
        [
            "--secure-port=0",
            "--tls-min-version=VersionTLS13",
            "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256",
            "--tls-sni-cert-key=a.crt,a.key:a.example,*.a.example",
            "--permit-port-sharing",
        ]
    ).serving

    assert 0 == options.port
    assert ssl.TLSVersion.TLSv1_3 is options.min_version
    assert ("ECDHE-RSA-AES128-GCM-SHA256",) == options.ciphers
    assert (SniCertificate(cert_file="a.crt", key_file="a.key", names=("a.example", "*.a.example")),) == options.sni
    assert options.share_port


def test_labels_from_a_manifest_and_from_the_flag(tmp_path: Path) -> None:
    manifest = tmp_path / "labels.yaml"
    manifest.write_text('allowListMapping:\n  "m,a": "1,2"\n  "m,b": "3"\n')
    options = parse_options([f"--allow-metric-labels-manifest={manifest}", "--allow-metric-labels=m,b=4"])

    assert {("m", "a"): {"1", "2"}, ("m", "b"): {"4"}} == options.metrics.allowed_values


CONFIGURED = b"""\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: from-file, qps: 7}
leaderElection: {leaderElect: true, resourceName: from-file, resourceNamespace: from-file}
"""


def test_the_leaders_flags_win_over_a_file_and_the_old_ones_do_not() -> None:
    options = parse_options(
        ["--config=f", "--leader-elect-resource-name=from-flag", "--kubeconfig=from-flag", "--kube-api-qps=9"]
    )
    loaded = load_configuration(
        CONFIGURED,
        "f",
        DEFAULT_REGISTRY,
        NAMES_AND_WEIGHTS,
        gates=options.gates,
        adjust_leader_election=options.adjust_leader_election,
    )

    assert "from-flag" == loaded.leader_election.resource_name
    assert "from-file" == loaded.leader_election.resource_namespace
    assert ("from-file", 7.0) == (loaded.client_connection.kubeconfig, loaded.client_connection.qps)


def test_without_a_file_all_flags_count() -> None:
    options = parse_options(["--kubeconfig=k", "--kube-api-burst=9", "--leader-elect=false", "--profiling=false"])
    defaults = default_configuration(DEFAULT_REGISTRY, NAMES_AND_WEIGHTS)
    got = options.adjust_defaults(defaults)

    assert replace(defaults.client_connection, kubeconfig="k", burst=9) == got.client_connection
    assert LeaderElection(leader_elect=False) == got.leader_election
    assert not got.enable_profiling
    assert defaults.profiles == got.profiles


def test_nothing_given_changes_nothing() -> None:
    defaults = default_configuration(DEFAULT_REGISTRY, NAMES_AND_WEIGHTS)

    assert defaults == Options().adjust_defaults(defaults) == parse_options([]).adjust_defaults(defaults)


def test_help_names_every_flag_under_its_group() -> None:
    text = help_text(120)

    positions = [text.index(f"{group} flags:") for group in GROUPS]
    assert sorted(positions) == positions
    for name in FLAGS:
        assert f"--{name}" in text
    assert "-v, --v Level" in text
    assert "(default 10259)" in text
    assert '(default "kube-scheduler")' in text
    assert "(default 5m0s)" in text
    assert max(map(len, text.splitlines())) <= 120


def test_help_and_version_need_nothing_else_to_be_right() -> None:
    assert parse_options(["--help", "--secure-port=99999"]).help
    assert "plain" == parse_options(["--version", "--logging-format=x"]).version


@given(st.lists(st.text(max_size=20), max_size=4))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    with suppress(UsageError):
        assert isinstance(parse_options(words), Options)
