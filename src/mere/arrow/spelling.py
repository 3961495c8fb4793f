"""Read column types as people write them: `"bigint"`, `"decimal(10,2)"`, `"list<int64>"`."""

import re
from collections.abc import Iterator
from dataclasses import replace

from mere.errors import InvalidInputError
from mere.model.schema import LEAF_TYPES, Field

_ALIASES = {
    "bool": "boolean",
    "tinyint": "int8",
    "smallint": "int16",
    "short": "int16",
    "int": "int32",
    "integer": "int32",
    "bigint": "int64",
    "long": "int64",
    "hugeint": "int128",
    "utinyint": "uint8",
    "usmallint": "uint16",
    "uinteger": "uint32",
    "ubigint": "uint64",
    "uhugeint": "uint128",
    "float": "float32",
    "real": "float32",
    "double": "float64",
    "string": "varchar",
    "text": "varchar",
    "str": "varchar",
    "binary": "blob",
    "bytes": "blob",
    "bytea": "blob",
    "varbinary": "blob",
    "date32": "date",
    "datetime": "timestamp",
    "timestamp_us": "timestamp",
    "timestamp_ntz": "timestamp",
    "timestamp_tz": "timestamptz",
    "timestamp_ltz": "timestamptz",
}
_PHRASES = (
    (re.compile(r"timestamp\s+with\s+time\s+zone", re.IGNORECASE), "timestamptz"),
    (re.compile(r"timestamp\s+without\s+time\s+zone", re.IGNORECASE), "timestamp"),
    (re.compile(r"time\s+with\s+time\s+zone", re.IGNORECASE), "timetz"),
    (re.compile(r"double\s+precision", re.IGNORECASE), "float64"),
)
_NOT_NULL = re.compile(r"\s+not\s+null\s*$", re.IGNORECASE)
_TOKEN = re.compile(r'\s*("(?:[^"]|"")*"|\w+|[<>(),:\[\]])')
_OPENING = {"<": ">", "(": ")"}
_DEFAULT_DECIMAL = "decimal(18,3)"
_MOST_DIGITS = 38


def parse_column(name: str, text: str) -> Field:
    """Build a column from its name and spelled type.

    Raises:
        InvalidInputError: If the type cannot be read.
    """
    nullable = _NOT_NULL.search(text) is None
    spelled = _NOT_NULL.sub("", text)
    for phrase, kind in _PHRASES:
        spelled = phrase.sub(kind, spelled)
    try:
        tokens = _Tokens(spelled)
        field = _type(name, tokens)
        tokens.end()
    except (ValueError, StopIteration) as error:
        msg = f"column {name!r}: cannot read the type {text!r}"
        if isinstance(error, ValueError) and str(error):
            msg = f"{msg}: {error}"
        known = ", ".join(sorted(LEAF_TYPES))
        hint = f"known: {known}, decimal(P,S), list<…>, struct<name: …>, map<…, …>"
        raise InvalidInputError(msg, hint=hint) from error
    return replace(field, nullable=nullable)


class _Tokens:
    """The words and signs of a spelled type, one after the other."""

    def __init__(self, text: str) -> None:
        found = list(self._split(text.rstrip()))
        self.ahead = found[::-1]

    @staticmethod
    def _split(text: str) -> Iterator[str]:
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                msg = f"unexpected {text[at:]!r}"
                raise ValueError(msg)
            yield match[1]
            at = match.end()

    def peek(self) -> str:
        return self.ahead[-1] if self.ahead else ""

    def take(self, wanted: str | None = None) -> str:
        if not self.ahead or (wanted is not None and self.ahead[-1] != wanted):
            found = self.peek() or "the end"
            msg = f"expected {wanted or 'a type'}, found {found}"
            raise ValueError(msg)
        return self.ahead.pop()

    def end(self) -> None:
        if self.ahead:
            msg = f"unexpected {self.ahead[-1]!r}"
            raise ValueError(msg)


def _type(name: str, tokens: _Tokens) -> Field:
    word = tokens.take().lower()
    if word == "struct":
        field = Field(name=name, type="struct", children=_members(tokens))
    elif word in {"list", "array"}:
        field = Field(name=name, type="list", children=_items(tokens, ("element",)))
    elif word == "map":
        field = Field(name=name, type="map", children=_items(tokens, ("key", "value")))
    elif word in {"decimal", "numeric"}:
        field = Field(name=name, type=_decimal(tokens))
    else:
        field = _leaf(name, word, tokens)
    while tokens.peek() == "[":
        tokens.take("[")
        tokens.take("]")
        field = Field(name=name, type="list", children=(replace(field, name="element"),))
    return field


def _leaf(name: str, word: str, tokens: _Tokens) -> Field:
    kind = _ALIASES.get(word, word)
    if kind == "varchar" and tokens.peek() == "(":
        _numbers(tokens)
    if kind not in LEAF_TYPES:
        msg = f"unknown type {word!r}"
        raise ValueError(msg)
    return Field(name=name, type=kind)


def _decimal(tokens: _Tokens) -> str:
    if tokens.peek() != "(":
        return _DEFAULT_DECIMAL
    digits, scale = (*_numbers(tokens), 0)[:2]
    if not (0 < digits <= _MOST_DIGITS and 0 <= scale <= digits):
        msg = f"a decimal has 1 to {_MOST_DIGITS} digits, and no more of them after the point"
        raise ValueError(msg)
    return f"decimal({digits},{scale})"


def _numbers(tokens: _Tokens) -> list[int]:
    tokens.take("(")
    found = [int(tokens.take())]
    while tokens.peek() == ",":
        tokens.take(",")
        found.append(int(tokens.take()))
    tokens.take(")")
    return found


def _items(tokens: _Tokens, names: tuple[str, ...]) -> tuple[Field, ...]:
    closing = _open(tokens)
    parts: list[Field] = []
    for name in names:
        if parts:
            tokens.take(",")
        parts.append(_type(name, tokens))
    tokens.take(closing)
    if len(parts) > 1:
        parts[0] = replace(parts[0], nullable=False)
    return tuple(parts)


def _members(tokens: _Tokens) -> tuple[Field, ...]:
    closing = _open(tokens)
    parts: list[Field] = []
    while not parts or tokens.peek() == ",":
        if parts:
            tokens.take(",")
        word = tokens.take()
        name = word[1:-1].replace('""', '"') if word.startswith('"') else word
        if tokens.peek() == ":":
            tokens.take(":")
        parts.append(_type(name, tokens))
    tokens.take(closing)
    return tuple(parts)


def _open(tokens: _Tokens) -> str:
    opening = tokens.take()
    if opening not in _OPENING:
        msg = f"expected <, found {opening!r}"
        raise ValueError(msg)
    return _OPENING[opening]
