"""From command line arguments to flag values, by the rules of Go's pflag.

Upstream: vendor/github.com/spf13/pflag/flag.go (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stowplan.api.gotext import quote
from stowplan.daemon.flag_table import FLAGS, SHORTHANDS, Flag
from stowplan.daemon.flag_values import PARSERS

PROGRAM: Final = "stowplan scheduler"


class UsageError(Exception):
    """Raised when the command line cannot be used."""


def parse_flags(arguments: Sequence[str]) -> Mapping[str, Any]:
    """The values of the flags that are given, by name. Raises UsageError."""
    given: dict[str, Any] = {}
    positional: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            positional.extend(rest)
            break
        if argument.startswith("--"):
            _long(argument, rest, given)
        elif argument.startswith("-") and argument != "-":
            _short(argument, rest, given)
        else:
            positional.append(argument)
    if any(positional) and not given.get("help"):
        listed = " ".join(quote(argument) for argument in positional)
        raise UsageError(f'"{PROGRAM}" does not take any arguments, got [{listed}]')
    return given


def _long(argument: str, rest: list[str], given: dict[str, Any]) -> None:
    name, equals, value = argument[2:].partition("=")
    if not name or name.startswith("-"):
        raise UsageError(f"bad flag syntax: {argument}")
    flag = FLAGS.get(name.replace("_", "-"))
    if flag is None:
        raise UsageError(f"unknown flag: --{name}")
    if equals:
        text = value
    elif flag.bare is not None:
        text = flag.bare
    elif rest:
        text = rest.pop(0)
    else:
        raise UsageError(f"flag needs an argument: --{name}")
    _set(flag, text, given)


def _short(argument: str, rest: list[str], given: dict[str, Any]) -> None:
    letters = argument[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter not in SHORTHANDS:
            raise UsageError(f"unknown shorthand flag: {_quoted_letter(letter)} in {argument}")
        flag = FLAGS[SHORTHANDS[letter]]
        if letters.startswith("="):
            text, letters = letters[1:], ""
        elif flag.bare is not None:
            text = flag.bare
        elif letters:
            text, letters = letters, ""
        elif rest:
            text = rest.pop(0)
        else:
            raise UsageError(f"flag needs an argument: {_quoted_letter(letter)} in {argument}")
        _set(flag, text, given)


def _quoted_letter(letter: str) -> str:
    return f"'{letter}'"


def _set(flag: Flag, text: str, given: dict[str, Any]) -> None:
    try:
        value = PARSERS[flag.kind](text)
    except ValueError as error:
        if flag.kind == "gates":  # parity: those are judged after all flags, so the flag is not named
            raise UsageError(str(error)) from None
        letter = next((f"-{short}, " for short, name in SHORTHANDS.items() if name == flag.name), "")
        raise UsageError(f'invalid argument {quote(text)} for "{letter}--{flag.name}" flag: {error}') from None
    if not flag.repeats:
        given[flag.name] = value
    elif isinstance(value, Mapping):
        given[flag.name] = {**given.get(flag.name, {}), **value}
    elif isinstance(value, tuple):
        given[flag.name] = (*given.get(flag.name, ()), *value)
    else:
        given[flag.name] = (*given.get(flag.name, ()), value)
