r"""Read lists, structs and maps from the text that the format keeps them as inside a catalog.

Two spellings meet in one text. Inside a list or a map, a text is quoted only when it must be, and
then with backslashes: `[a, 'b, c', 'it\'s', NULL]`, `{k=1}`. Parts of a struct that lies in no
list are SQL literals, always quoted, with quotes doubled, some with a cast around them:
`{'a': 'it''s', 'b': CAST('2026-01-01' AS DATE)}`. A database with nested types of its own prints
the first spelling everywhere; `literal` says which one a text begins with.
"""

import re
from typing import Any, NoReturn, TypeAlias

from mere.model.schema import Field

Nested: TypeAlias = Any
"""None, the text of a leaf, a list of items, a list of pairs, or the parts of a struct in order."""

_CAST = re.compile(r"CAST\s*\(\s*(?=')", re.IGNORECASE)
_AS = re.compile(r"\s*AS\s+[\w ]+(?:\([\d, ]*\))?\s*\)", re.IGNORECASE)
_BLANK = " \t\n\v\f\r"
_NULL = re.compile(rf"NULL(?=[{_BLANK}]*(?:[,\]}}=]|$))", re.IGNORECASE)
_SPACE = re.compile(f"[{_BLANK}]*")
_QUOTE, _ESCAPE = "'", "\\"


def read_nested(text: str, field: Field, *, literal: bool) -> Nested:
    """Return the parts of a nested value, each leaf as its text.

    Raises:
        ValueError: If the text is no value of the field; the message says where it goes wrong.
    """
    reader = _Reader(text)
    value = reader.value(field, "", literal=literal)
    reader.skip()
    if reader.at < len(text):
        reader.refuse(expected="the end")
    return value


class _Reader:
    """A place in a text, and what begins there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def refuse(self, *, expected: str) -> NoReturn:
        found = self.text[self.at : self.at + 20] or "the end"
        msg = f"expected {expected} at character {self.at}, found {found!r}"
        raise ValueError(msg)

    def skip(self) -> None:
        self.at = self._matched(_SPACE)

    def _matched(self, pattern: re.Pattern[str]) -> int:
        """Return where a match of the pattern ends; -1 when nothing matches here."""
        match = pattern.match(self.text, self.at)
        return match.end() if match else -1

    def take(self, sign: str) -> None:
        self.skip()
        if not self.text.startswith(sign, self.at):
            self.refuse(expected=repr(sign))
        self.at += len(sign)

    def ends(self, sign: str) -> bool:
        """Take a closing sign when it comes next."""
        self.skip()
        found = self.text.startswith(sign, self.at)
        self.at += found
        return found

    def value(self, field: Field, stops: str, *, literal: bool) -> Nested:
        self.skip()
        null = self._matched(_NULL)
        if null >= 0:
            self.at = null
            return None
        if field.type == "list":
            return self._list(field.children[0])
        if field.type == "map":
            return self._map(*field.children)
        if field.type == "struct":
            return self._struct(field.children, literal=literal)
        return self._leaf(stops, literal=literal)

    def _list(self, item: Field) -> list[Nested]:
        self.take("[")
        found: list[Nested] = []
        while not self.ends("]"):
            if found:
                self.take(",")
            found.append(self.value(item, ",]", literal=False))
        return found

    def _map(self, key: Field, item: Field) -> list[tuple[Nested, Nested]]:
        self.take("{")
        found: list[tuple[Nested, Nested]] = []
        while not self.ends("}"):
            if found:
                self.take(",")
            name = self.value(key, "=", literal=False)
            self.take("=")
            found.append((name, self.value(item, ",}", literal=False)))
        return found

    def _struct(self, children: tuple[Field, ...], *, literal: bool) -> list[Nested]:
        self.take("{")
        found: list[Nested] = []
        for child in children:
            if found:
                self.take(",")
            self.skip()
            self._leaf(":", literal=literal)  # the name: the order is the table's
            self.take(":")
            found.append(self.value(child, ",}", literal=literal))
        self.take("}")
        return found

    def _leaf(self, stops: str, *, literal: bool) -> str:
        cast = self._matched(_CAST) if literal else -1
        if cast >= 0:
            self.at = cast
            text = self._quoted(literal=True)
            after = self._matched(_AS)
            if after < 0:
                self.refuse(expected="AS and a type")
            self.at = after
            return text
        if self.text.startswith(_QUOTE, self.at):
            return self._quoted(literal=literal)
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in stops:
            self.at += 1
        return self.text[start : self.at].rstrip(_BLANK)

    def _quoted(self, *, literal: bool) -> str:
        self.at += 1
        found: list[str] = []
        while self.at < len(self.text):
            sign = self.text[self.at]
            doubled = sign == _QUOTE and self.text.startswith(_QUOTE, self.at + 1)
            if sign == _QUOTE and not doubled:
                self.at += 1
                return "".join(found)
            if doubled or (sign == _ESCAPE and not literal):
                self.at += 1
            found.append(self.text[self.at : self.at + 1])
            self.at += 1
        return self.refuse(expected="a closing quote")
