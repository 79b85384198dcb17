"""Label selectors as people type them: `a=b,c in (d,e),!f`.

Upstream: staging/src/k8s.io/apimachinery/pkg/labels/selector.go (v1.36.4).
"""

import re
from dataclasses import dataclass
from typing import final

from stowplan.api.errors import SelectorError
from stowplan.api.gotext import invalid, label_key_errors
from stowplan.api.selectors import Operator, Requirement, Selector, requirement, selector_of

_SPACE = " \t\r\n"
_WORD = re.compile(r"[^=!(),<> \t\r\n]+")
_SYMBOLS = (")", ",", "!", "==", "=", ">", "<", "!=", "(")
_BINARY = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    "gt": Operator.GREATER_THAN,
    "lt": Operator.LESS_THAN,
}
_OPERATOR_TOKENS = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}


def parse_label_selector(text: str) -> Selector:
    """Parse a selector; an empty text selects everything; SelectorError with upstream's text."""
    return selector_of(_Parser(_tokens(text)).requirements())


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    word: bool = False


_END = _Token("")


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(text):
        if text[position] in _SPACE:
            position += 1
        elif word := _WORD.match(text, position):
            tokens.append(_Token(word[0], word=True))
            position = word.end()
        else:
            symbol = _symbol(text, position)
            tokens.append(_Token(symbol))
            position += len(symbol)
    return [*tokens, _END]


def _symbol(text: str, position: int) -> str:
    two = text[position : position + 2]
    return two if two in _SYMBOLS else text[position]


@final
class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._position = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            token = self._peek()
            if token is _END:
                return found
            if not token.word and token.text != "!":
                raise SelectorError(f"found '{token.text}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            after = self._next()
            if after is _END:
                return found
            if after.word or after.text != ",":
                raise SelectorError(f"found '{after.text}', expected: ',' or 'end of string'")
            following = self._peek()
            if not following.word and following.text != "!":
                raise SelectorError(f"found '{following.text}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        token = self._next()
        absent = not token.word and token.text == "!"
        if absent:
            token = self._next()
        if not token.word:
            raise SelectorError(f"found '{token.text}', expected: identifier")
        key_errors = label_key_errors(token.text)
        if key_errors:
            raise SelectorError(invalid("<nil>", token.text, "; ".join(key_errors)))
        if absent:
            return requirement(token.text, Operator.DOES_NOT_EXIST)
        following = self._peek()
        if following is _END or (not following.word and following.text == ","):
            return requirement(token.text, Operator.EXISTS)
        shown = self._operator()
        values = self._set() if shown in {"in", "notin"} else self._exact()
        return requirement(token.text, _BINARY[shown], sorted(set(values)), shown=shown)

    def _operator(self) -> str:
        token = self._next()
        shown = _OPERATOR_TOKENS.get(token.text)
        if shown is None:
            raise SelectorError(f"found '{token.text}', expected: in, notin, =, ==, !=, gt, lt")
        return shown

    def _set(self) -> list[str]:
        token = self._next()
        if token.word or token.text != "(":
            raise SelectorError(f"found '{token.text}' expected: '('")
        first = self._peek()
        if not first.word and first.text == ")":
            self._next()
            return [""]
        if not first.word and first.text != ",":
            raise SelectorError(f"found '{first.text}', expected: ',', ')' or identifier")
        values = self._identifiers()
        self._next()
        return values

    def _identifiers(self) -> list[str]:
        values: list[str] = []
        while True:
            token = self._next()
            following = self._peek()
            closes = not following.word and following.text == ")"
            comma = not following.word and following.text == ","
            if token.word:
                values.append(token.text)
                if closes:
                    return values
                if not comma:
                    raise SelectorError(f"found '{following.text}', expected: ',' or ')'")
            elif token.text == ",":
                if not values or closes or comma:
                    values.append("")
                if closes:
                    return values
            else:
                raise SelectorError(f"found '{token.text}', expected: ',', or identifier")

    def _exact(self) -> list[str]:
        token = self._peek()
        if token is _END or (not token.word and token.text == ","):
            return [""]
        self._next()
        if token.word:
            return [token.text]
        raise SelectorError(f"found '{token.text}', expected: identifier")

    def _peek(self) -> _Token:
        return self._tokens[self._position]

    def _next(self) -> _Token:
        token = self._tokens[self._position]
        self._position += token is not _END
        return token
