"""Define what a lake holds: schemas and tables come, are renamed and go."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from uuid import uuid4

from mere.errors import AlreadyExistsError, InvalidInputError, NotFoundError, TableNotFoundError
from mere.model.history import (
    Change,
    CreateSchema,
    CreateTable,
    DropSchema,
    DropTable,
    Edit,
    Head,
    RenameTable,
)
from mere.model.layout import Layout, parse_key, parse_order
from mere.model.names import check_name, join_name, plain_folder, split_name
from mere.model.options import option_text
from mere.model.schema import Schema, number
from mere.ops import carry
from mere.ports import Session


def create_table(
    session: Session,
    name: str,
    schema: Schema,
    *,
    partition_by: Sequence[str] = (),
    sort_by: Sequence[str] = (),
    properties: Mapping[str, object] | None = None,
    if_exists: str = "error",
) -> str:
    """Make an empty table; see `Lake.create_table`. Return its full name."""
    carry.require_writable(session)
    if if_exists not in ("error", "ok", "replace"):
        msg = f"if_exists takes 'error', 'ok' or 'replace', got {if_exists!r}"
        raise InvalidInputError(msg)
    namespace, table = split_name(name)
    if not schema.fields:
        msg = f"table {name!r} needs at least one column"
        raise InvalidInputError(msg)
    numbered = number(schema)
    layout = _layout(numbered, partition_by, sort_by, properties or {})
    made: list[str] = []

    def plan() -> Change:
        base = session.catalog.snapshot().id
        known = _find(session, name)
        if known is not None and if_exists == "error":
            msg = f"table {known.full_name!r} exists"
            raise AlreadyExistsError(msg, hint='if_exists="ok" keeps it, "replace" replaces it')
        if known is not None and if_exists == "ok":
            made.append(known.full_name)
            return Change(base=base, edits=())
        _require_namespace(session, namespace)
        head = _new_head(base, namespace, table, schema=numbered, layout=layout)
        made.append(head.full_name)
        edit = CreateTable(head=head, replace=known is not None)
        return Change(base=base, edits=(edit,))

    _commit_or_look_again(session, plan, there=lambda: _find(session, name) is not None)
    return made[-1]


def new_table(
    session: Session,
    name: str,
    schema: Schema,
    *,
    partition_by: Sequence[str] = (),
    sort_by: Sequence[str] = (),
) -> CreateTable:
    """Return the edit that makes a table, for a commit that brings its first rows along.

    Raises:
        NotFoundError: If there is no such schema.
        InvalidInputError: If nothing can be made of the columns or keys.
    """
    carry.require_writable(session)
    namespace, table = split_name(name)
    numbered = number(schema)
    layout = _layout(numbered, partition_by, sort_by, {})
    _require_namespace(session, namespace)
    base = session.catalog.snapshot().id
    return CreateTable(head=_new_head(base, namespace, table, schema=numbered, layout=layout))


def _commit_or_look_again(
    session: Session, plan: Callable[[], Change], *, there: Callable[[], bool]
) -> None:
    """Commit; when somebody made the same between the look and the commit, plan with it there."""
    try:
        carry.commit(session, plan)
    except AlreadyExistsError:
        if not there():
            raise
        carry.commit(session, plan)


def _find(session: Session, name: str) -> Head | None:
    try:
        return session.catalog.head(name)
    except TableNotFoundError:
        return None


def _require_namespace(session: Session, namespace: str) -> None:
    known = session.catalog.namespaces()
    if namespace not in known:
        msg = f"no schema {namespace!r}; there is: {', '.join(known)}"
        raise NotFoundError(msg, hint=f"lake.create_schema({namespace!r}) makes it")


def _new_head(base: int, namespace: str, name: str, *, schema: Schema, layout: Layout) -> Head:
    identity = uuid4()
    uuid = str(identity)
    return Head(
        snapshot=base,
        schema_version=0,
        table_id=-(identity.int >> 72),
        uuid=uuid,
        namespace=namespace,
        name=name,
        folder=plain_folder(namespace, uuid) + plain_folder(name, uuid),
        schema=schema,
        layout=layout,
        next_column_id=1 + max(field.id for field, _ in schema.walk()),
        stable=True,
    )


def _layout(
    schema: Schema,
    partition_by: Iterable[str],
    sort_by: Iterable[str],
    properties: Mapping[str, object],
) -> Layout:
    if isinstance(partition_by, str):
        partition_by = (partition_by,)
    if isinstance(sort_by, str):
        sort_by = (sort_by,)
    keys = tuple(parse_key(text, schema) for text in partition_by)
    if len(set(keys)) != len(keys):
        msg = f"partition_by names a key twice: {', '.join(partition_by)}"
        raise InvalidInputError(msg)
    options = tuple((key, option_text(key, value)) for key, value in properties.items())
    return Layout(
        keys=keys, order=tuple(parse_order(text, schema) for text in sort_by), options=options
    )


def drop_table(session: Session, name: str, *, missing_ok: bool = False) -> None:
    """Drop a table; its files stay for older snapshots."""

    def edits() -> tuple[Edit, ...]:
        head = _find(session, name) if missing_ok else session.catalog.head(name)
        return () if head is None else (DropTable(table_id=head.table_id),)

    _commit(session, edits)


def rename_table(session: Session, name: str, to: str) -> str:
    """Give a table another name in the same schema; return its new full name."""
    namespace, table = split_name(to)
    named: list[str] = []

    def edits() -> tuple[Edit, ...]:
        head = session.catalog.head(name)
        if "." in to and namespace != head.namespace:
            msg = f"{head.full_name} cannot move to the schema {namespace!r}"
            raise InvalidInputError(msg, hint="a rename keeps the schema")
        if (head.namespace, table) in session.catalog.tables():
            msg = f"table {table!r} exists in schema {head.namespace!r}"
            raise AlreadyExistsError(msg)
        named.append(join_name(head.namespace, table))
        return (RenameTable(table_id=head.table_id, name=table),)

    _commit(session, edits)
    return named[-1]


def create_schema(session: Session, name: str, *, if_exists: str = "error") -> None:
    """Make a schema, a room for tables."""
    check_name(name)

    def edits() -> tuple[Edit, ...]:
        if name not in session.catalog.namespaces():
            return (CreateSchema(name=name),)
        if if_exists != "ok":
            msg = f"schema {name!r} exists"
            raise AlreadyExistsError(msg, hint='if_exists="ok" keeps it')
        return ()

    there = partial(_has_namespace, session, name)
    _commit_or_look_again(session, _planned(session, edits), there=there)


def _has_namespace(session: Session, name: str) -> bool:
    return name in session.catalog.namespaces()


def drop_schema(
    session: Session, name: str, *, missing_ok: bool = False, cascade: bool = False
) -> None:
    """Drop a schema; with `cascade` its tables too."""

    def edits() -> tuple[Edit, ...]:
        known = session.catalog.namespaces()
        if name not in known:
            if missing_ok:
                return ()
            msg = f"no schema {name!r}; there is: {', '.join(known)}"
            raise NotFoundError(msg)
        inside = [full for full in session.catalog.tables() if full[0] == name]
        if inside and not cascade:
            msg = f"schema {name!r} holds {len(inside)} table(s), such as {inside[0][1]!r}"
            raise InvalidInputError(msg, hint="drop them first, or pass cascade=True")
        heads = (session.catalog.head(join_name(*full)) for full in inside)
        return (*(DropTable(table_id=h.table_id) for h in heads), DropSchema(name=name))

    _commit(session, edits)


def _commit(session: Session, edits: Callable[[], tuple[Edit, ...]]) -> None:
    carry.commit(session, _planned(session, edits))


def _planned(session: Session, edits: Callable[[], tuple[Edit, ...]]) -> Callable[[], Change]:
    carry.require_writable(session)

    def plan() -> Change:
        base = session.catalog.snapshot().id
        return Change(base=base, edits=edits())

    return plan


def set_option(
    session: Session,
    key: str,
    value: object,
    *,
    table: str | None = None,
    schema: str | None = None,
) -> None:
    """Set an option where it is to hold; None removes it.

    Raises:
        InvalidInputError: If the option is unknown, its value is none, or two places are named.
    """
    carry.require_writable(session)
    if table is not None and schema is not None:
        msg = f"option {key!r} is set for a table or for a schema, got both"
        raise InvalidInputError(msg)
    text = None if value is None else option_text(key, value)
    session.catalog.set_option(key, text, table=table, schema=schema)
