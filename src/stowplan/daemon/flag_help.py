"""The text of --help: the flags by group, as kube-scheduler lists its own."""

import textwrap
from typing import Final

from stowplan.config.duration import format_duration
from stowplan.daemon.flag_parsing import PROGRAM
from stowplan.daemon.flag_table import GROUPS, SHORTHANDS, Flag

_INTRODUCTION: Final = """\
Watches a cluster for pods without a node, finds the best node for each, and
binds it: what kube-scheduler does, with the same flags, configuration file,
events, conditions and metrics."""


def help_text(width: int) -> str:
    """All of it, wrapped to a width."""
    parts = [_INTRODUCTION, "", "Usage:", f"  {PROGRAM} [flags]"]
    for title, flags in GROUPS.items():
        heads = [_head(flag) for flag in flags]
        indent = max(map(len, heads)) + 3
        parts += ["", f"{title} flags:", ""]
        for head, flag in zip(heads, flags, strict=True):
            parts.append(
                textwrap.fill(
                    f"{head.ljust(indent)}{flag.about}{_default(flag)}",
                    max(width, indent + 40),
                    subsequent_indent=" " * indent,
                    drop_whitespace=True,
                )
            )
    return "\n".join(parts) + "\n"


def _head(flag: Flag) -> str:
    letter = next((f"-{short}, " for short, name in SHORTHANDS.items() if name == flag.name), "    ")
    kind = {"bool": "", "version": " version[=true]", "gates": " mapStringBool"}.get(flag.kind, f" {flag.kind}")
    return f"  {letter}--{flag.name}{kind}"


def _default(flag: Flag) -> str:
    if not flag.default or flag.kind in {"version", "Level"} or flag.default == "0":
        return ""
    if flag.kind == "duration":
        assert isinstance(flag.default, int)
        return f" (default {format_duration(flag.default)})"
    if isinstance(flag.default, tuple):
        return f" (default [{','.join(map(str, flag.default))}])"
    if flag.kind == "string":
        return f' (default "{flag.default}")'
    return f" (default {str(flag.default).lower()})"
