"""Say when the files of a lake are brought into shape and cleared away: rules, wide and narrow."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from mere.errors import InvalidInputError
from mere.model.durations import seconds
from mere.model.layout import MIB
from mere.model.names import join_name, split_name
from mere.model.options import ORDERS

_OF_THE_LAKE = (
    *("expire", "expire_older_than", "keep_last", "vacuum", "delete_older_than"),
    *("budget_mb", "budget_minutes"),
)
_NARROWER = ("schemas", "tables")
_FLAGS = ("compact", "expire", "vacuum")
_AGES = ("expire_older_than", "delete_older_than")
_LEAST = {"keep_last": 1, "min_files": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When `maintain` compacts, clusters, expires and vacuums. None leaves it to the next wider.

    The narrowest rule holds: that of a table before that of its schema before the lake's. What a
    policy leaves open is said by the options in the catalog, and then by what is usual.

    Attributes:
        compact: Whether files are written anew at all: merged, put in order, cleared of deleted
            rows. Usually so.
        target_mb: How large files shall become; usually 128.
        min_files: How many small files a partition may have before they are merged; usually 4.
        max_deleted: From which share of deleted rows on, that no version shows, a file is written
            anew; usually 0.3.
        cluster_by: The columns by which rows are kept in order; `()` for none. Usually none, but
            for a table with an order of which `sort_on_insert` is false.
        cluster_order: `"linear"`, `"zorder"` or `"hilbert"`.
        max_overlap: With how many others of its partition a file may share values of these columns,
            on average, before new rows are ordered together with all; without it they never are.
        expire: Whether old versions go; usually so.
        expire_older_than: The least age of versions that go; usually `"7 days"`.
        keep_last: How many of the newest versions stay, whatever their age; usually 1.
        vacuum: Whether files are deleted that nobody can reach; usually so.
        delete_older_than: How long such files stay; usually `"1 day"`.
        budget_mb: How much one run may read and write; without it there is no limit.
        budget_minutes: After how long a run begins nothing new; without it there is no limit.
        schemas: Rules for the tables of one schema, by its name.
        tables: Rules for one table, by its name.
    """

    compact: bool | None = None
    target_mb: float | None = None
    min_files: int | None = None
    max_deleted: float | None = None
    cluster_by: tuple[str, ...] | None = None
    cluster_order: str | None = None
    max_overlap: float | None = None
    expire: bool | None = None
    expire_older_than: str | float | timedelta | None = None
    keep_last: int | None = None
    vacuum: bool | None = None
    delete_older_than: str | float | timedelta | None = None
    budget_mb: float | None = None
    budget_minutes: float | None = None
    schemas: Mapping[str, "Policy"] = field(default_factory=dict, hash=False)
    tables: Mapping[str, "Policy"] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse what cannot be meant; mappings become policies.

        Raises:
            InvalidInputError: Naming the rule.
        """
        if isinstance(self.cluster_by, str):
            object.__setattr__(self, "cluster_by", (self.cluster_by,))
        for name, value in self._rules():
            _check(name, value)
        if isinstance(self.cluster_by, list):
            object.__setattr__(self, "cluster_by", tuple(self.cluster_by))
        for place in _NARROWER:
            object.__setattr__(self, place, _narrow(place, getattr(self, place)))

    def _rules(self) -> Iterator[tuple[str, Any]]:
        """Yield the rules that are given, narrower ones aside."""
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name not in _NARROWER and value is not None:
                yield each.name, value

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Policy":
        """Read a policy from a mapping; the names are those of its attributes.

        Raises:
            InvalidInputError: If a name is unknown, or a value cannot be meant.
        """
        if not isinstance(given, Mapping):
            msg = f"a policy is a mapping from names to values, got {given!r}"
            raise InvalidInputError(msg)
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                close = get_close_matches(str(name), known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
                msg = f"a policy has no rule {name!r}"
                raise InvalidInputError(msg, hint=hint)
        return cls(**given)

    @classmethod
    def from_toml(cls, text: str) -> "Policy":
        """Read a policy from the text of a TOML file.

        Raises:
            InvalidInputError: If it is no TOML, a name is unknown, or a value cannot be meant.
        """
        try:
            return cls.of(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            msg = f"the policy is no TOML: {error}"
            raise InvalidInputError(msg) from error

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> "Policy":
        """Read the rules that options of a lake, a schema or a table hold.

        Raises:
            InvalidInputError: If another client has written what cannot be meant.
        """
        there = {key: both for key, both in _OPTIONS.items() if key in options}
        try:
            return cls(**{name: read(options[key]) for key, (name, read) in there.items()})
        except ValueError as error:
            told = ", ".join(f"{key}={options[key]!r}" for key in there)
            msg = f"one of these options cannot be read: {told}: {error}"
            raise InvalidInputError(msg) from error

    def over(self, wider: "Policy") -> "Policy":
        """Return these rules, and where they say nothing, wider ones."""
        more: dict[str, Any] = dict(self._rules())
        for name in _NARROWER:
            more[name] = {**getattr(wider, name), **getattr(self, name)}
        return replace(wider, **more)

    def of_table(self, namespace: str, name: str) -> "Policy":
        """Return the rules for one table."""
        own = self.tables.get(join_name(namespace, name), Policy())
        lake = replace(self, schemas={}, tables={})
        return own.over(self.schemas.get(namespace, Policy()).over(lake))


def _narrow(place: str, given: Any) -> dict[str, Policy]:
    """Return the rules of schemas or tables; names of tables are kept whole."""
    if not isinstance(given, Mapping):
        msg = f"{place!r} of a policy is a mapping from names to rules, got {given!r}"
        raise InvalidInputError(msg)
    found: dict[str, Policy] = {}
    for name, said in given.items():
        rules = said if isinstance(said, Policy) else Policy.of(said)
        wide = [
            each for each in (*_OF_THE_LAKE, *_NARROWER) if getattr(rules, each) not in (None, {})
        ]
        if wide:
            msg = f"{', '.join(wide)} is a rule of the whole lake, not of {name!r} alone"
            raise InvalidInputError(msg)
        found[join_name(*split_name(name)) if place == "tables" else name] = rules
    return found


def _check(name: str, value: Any) -> None:
    if name in _AGES:
        seconds(value)
    elif name == "cluster_by":
        _check_columns(value)
    elif name == "cluster_order":
        _demand(name, value, "one of " + ", ".join(ORDERS), fits=value in ORDERS)
    elif name in _FLAGS:
        _demand(name, value, "true or false", fits=isinstance(value, bool))
    elif name in _LEAST:
        whole = isinstance(value, int) and not isinstance(value, bool)
        least = _LEAST[name]
        _demand(name, value, f"a whole number from {least} on", fits=whole and value >= least)
    else:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        share = name == "max_deleted"
        fits = number and (0 <= value <= 1 if share else value > 0)
        _demand(name, value, "a share from 0 to 1" if share else "a number above 0", fits=fits)


def _check_columns(value: Any) -> None:
    texts = isinstance(value, tuple | list) and all(isinstance(each, str) for each in value)
    _demand("cluster_by", value, "a list of columns", fits=texts)


def _demand(name: str, value: Any, wanted: str, *, fits: bool) -> None:
    if not fits:
        msg = f"{name} takes {wanted}, got {value!r}"
        raise InvalidInputError(msg)


def _flag(text: str) -> bool:
    return text != "false"


def _columns(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_OPTIONS: Mapping[str, tuple[str, Any]] = {
    "auto_compact": ("compact", _flag),
    "target_file_size": ("target_mb", lambda text: int(text) / MIB),
    "rewrite_delete_threshold": ("max_deleted", float),
    "mere_min_files": ("min_files", int),
    "mere_cluster_by": ("cluster_by", _columns),
    "mere_cluster_order": ("cluster_order", str),
    "mere_max_overlap": ("max_overlap", float),
    "mere_expire": ("expire", _flag),
    "expire_older_than": ("expire_older_than", str),
    "mere_keep_last": ("keep_last", int),
    "mere_vacuum": ("vacuum", _flag),
    "delete_older_than": ("delete_older_than", str),
    "mere_budget_mb": ("budget_mb", float),
    "mere_budget_minutes": ("budget_minutes", float),
}
"""Which options say which rules, and how their texts are read."""

USUAL = Policy(
    compact=True,
    target_mb=128,
    min_files=4,
    max_deleted=0.3,
    cluster_order="linear",
    expire=True,
    expire_older_than="7 days",
    keep_last=1,
    vacuum=True,
    delete_older_than="1 day",
)
"""What holds where nobody says anything."""
