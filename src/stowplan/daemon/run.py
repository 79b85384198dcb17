"""`stowplan scheduler` from options to exit status: logs, configuration, and then the process.

Upstream: cmd/kube-scheduler/app/server.go (v1.36.4).
"""

import asyncio
import logging
import sys
from pathlib import Path

from stowplan.client.errors import ClientError
from stowplan.composition import DEFAULT_REGISTRY, NAMES_AND_WEIGHTS, Setup, compose
from stowplan.config.encode import yaml_of
from stowplan.config.errors import ConfigError
from stowplan.config.load import default_configuration, load_configuration
from stowplan.daemon.logs import Logs
from stowplan.daemon.options import Options
from stowplan.daemon.process import Process
from stowplan.daemon.serving_tls import ServingError
from stowplan.framework.discovery import PluginLoadError, load_plugins

_LOG = logging.getLogger(__name__)


def run(options: Options) -> int:
    """Schedule until told to stop; 0 after SIGTERM or SIGINT, 1 when it could not start or lost its lease."""
    logs = Logs(options.logging, sys.stderr)
    try:
        for sentence in options.ignored:
            _LOG.warning("%s", sentence)
        setup = load_setup(options)
        if options.write_config_to:
            Path(options.write_config_to).write_text(yaml_of(setup.configuration))
            _LOG.info("Wrote configuration to %s", options.write_config_to)
            return 0
        process = Process(options, setup, logs)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(process.serve())
    except (ConfigError, ClientError, PluginLoadError, ServingError, OSError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    finally:
        logs.close()


def load_setup(options: Options) -> Setup:
    """The configuration that the command line asks for. Raises ConfigError."""
    registry = DEFAULT_REGISTRY.extended(load_plugins(options.plugins))
    filename = options.config_file
    if not filename:
        defaults = default_configuration(registry, NAMES_AND_WEIGHTS, gates=options.gates)
        return compose(options.adjust_defaults(defaults), registry, options.gates, filename="flags")
    try:
        data = Path(filename).read_bytes()
    except OSError as error:
        raise ConfigError(filename, error.strerror or str(error)) from error
    configuration = load_configuration(
        data,
        filename,
        registry,
        NAMES_AND_WEIGHTS,
        gates=options.gates,
        adjust_leader_election=options.adjust_leader_election,
    )
    return compose(configuration, registry, options.gates, filename=filename)


def _loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    try:
        import uvloop
    except ImportError:  # there is none for this platform; the standard loop does the same, slower
        return None
    factory: type[asyncio.AbstractEventLoop] = uvloop.new_event_loop  # type: ignore[assignment]
    return factory
