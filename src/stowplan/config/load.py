"""From the bytes of a configuration file to the configuration, or one error that says what is wrong where.

Upstream: cmd/kube-scheduler/app/options/configfile.go, pkg/scheduler/apis/config/scheme (v1.36.4).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from stowplan.api.gotext import aggregate, quote
from stowplan.config.assemble import assemble
from stowplan.config.catalog import DefaultOrder, PluginCatalog
from stowplan.config.decode import Values, decode
from stowplan.config.document import Entries, Tree, kind_of, read_document
from stowplan.config.draft import Draft, draft_configuration
from stowplan.config.errors import ConfigError, DecodeError, DocumentError, PluginsError
from stowplan.config.schema_v1 import API_VERSION, CONFIGURATION, KIND, PLUGIN_ARGS
from stowplan.config.spec import LeaderElection, SchedulerConfiguration
from stowplan.config.validate import configuration_errors
from stowplan.framework.gates import Gates

GROUP: Final = API_VERSION.partition("/")[0]
DEFAULT_GATES: Final = Gates()


def load_configuration(
    data: bytes,
    filename: str,
    catalog: PluginCatalog,
    default_order: DefaultOrder,
    *,
    gates: Gates = DEFAULT_GATES,
    adjust_leader_election: Callable[[LeaderElection], LeaderElection] | None = None,
) -> SchedulerConfiguration:
    """Read, default and judge a configuration file (YAML or JSON); ConfigError when it cannot be used.

    `adjust_leader_election` puts in what the command line says, which
    wins over the file and is judged with it.
    """
    try:
        draft = _read(data, default_order, gates)
        if adjust_leader_election is not None:
            draft = replace(draft, leader_election=adjust_leader_election(draft.leader_election))
        return _judge(draft, catalog, gates)
    except (DocumentError, DecodeError, PluginsError) as error:
        raise ConfigError(filename, str(error)) from error
    except RecursionError as error:
        raise ConfigError(filename, "nested too deeply") from error


def default_configuration(
    catalog: PluginCatalog, default_order: DefaultOrder, *, gates: Gates = DEFAULT_GATES
) -> SchedulerConfiguration:
    """What holds when there is no file."""
    return _judge(draft_configuration({}, {}, default_order, gates), catalog, gates)


def _judge(draft: Draft, catalog: PluginCatalog, gates: Gates) -> SchedulerConfiguration:
    if errors := configuration_errors(draft, gates):
        raise DecodeError(aggregate(errors))
    return assemble(draft, catalog)


def _read(data: bytes, default_order: DefaultOrder, gates: Gates) -> Draft:
    document = read_document(data)
    _check_kind(document.tree)
    values, strict = decode(document.tree, CONFIGURATION)
    args_values, args_strict = _decode_args(values)
    if faults := [*document.faults, *strict, *args_strict]:
        raise DecodeError(f"strict decoding error: {', '.join(faults)}")
    return draft_configuration(values, args_values, default_order, gates)


def _check_kind(tree: Tree) -> None:
    api_version, kind = _identity(tree)
    if not kind:
        raise DecodeError("Object 'Kind' is missing")
    if not api_version:
        raise DecodeError("Object 'apiVersion' is missing")
    if api_version != API_VERSION:
        raise DecodeError(f"{_not_registered(kind, api_version)}{_version_hint(api_version)}")
    if kind.removesuffix("Args") in PLUGIN_ARGS:
        raise DecodeError(f"couldn't decode as KubeSchedulerConfiguration, got {api_version}, Kind={kind}")
    if kind != KIND:
        raise DecodeError(_not_registered(kind, api_version))


def _identity(tree: Tree) -> tuple[str, str]:
    """apiVersion and kind of an object, empty where they are not set."""
    if tree is None:
        return "", ""
    if not isinstance(tree, Entries):
        raise DecodeError(f"couldn't get version/kind; json parse error: want an object, got {kind_of(tree)}")
    found = []
    for name in ("apiVersion", "kind"):
        value = tree.get(name)
        if value is not None and not isinstance(value, str):
            raise DecodeError(
                f"couldn't get version/kind; json parse error: json: cannot unmarshal {kind_of(value)} "
                f"into Go struct field .{name} of type string"
            )
        found.append(value or "")
    if found[0].count("/") > 1:
        raise DecodeError(f"unexpected GroupVersion string: {found[0]}")
    return found[0], found[1]


def _not_registered(kind: str, api_version: str) -> str:
    return f"no kind {quote(kind)} is registered for version {quote(api_version)}"


def _version_hint(api_version: str) -> str:
    group, _, version = api_version.rpartition("/")
    if group != GROUP:
        return ""
    if version.startswith(("v1alpha", "v1beta")):
        return f': {version} was removed from Kubernetes, write "apiVersion: {API_VERSION}"'
    return f': write "apiVersion: {API_VERSION}"'


def _decode_args(values: Values) -> tuple[dict[tuple[int, int], Values], list[str]]:
    """The in-tree arguments of all profiles by position, and their strict errors."""
    found: dict[tuple[int, int], Values] = {}
    strict = []
    for position, profile in enumerate(values.get("profiles", ())):
        for place, entry in enumerate(profile.get("pluginConfig", ())):
            name = entry.get("name", "")
            if name not in PLUGIN_ARGS:
                continue
            where = f".profiles[{position}].pluginConfig[{place}]"
            try:
                found[position, place], faults = _decode_one(name, entry.get("args"), f"{where[1:]}.args")
            except DecodeError as error:
                raise DecodeError(f"decoding {where}: {error}") from error
            if faults:
                joined = ", ".join(faults)
                strict.append(
                    f"decoding {where}: strict decoding error: decoding args for plugin {name}: "
                    f"strict decoding error: {joined}"
                )
    return found, strict


def _decode_one(name: str, tree: Tree, root: str) -> tuple[Values, list[str]]:
    wanted = f"{name}Args"
    try:
        api_version, kind = _identity(tree)
        kind = kind or wanted
        if (api_version or API_VERSION) != API_VERSION or kind.removesuffix("Args") not in PLUGIN_ARGS:
            raise DecodeError(_not_registered(kind, api_version or API_VERSION))
        if kind == wanted:
            return decode(tree, PLUGIN_ARGS[name], root)
    except DecodeError as error:
        raise DecodeError(f"decoding args for plugin {name}: {error}") from error
    raise DecodeError(f"args for plugin {name} were not of type {wanted}.{GROUP}, got {kind}.{GROUP}")
