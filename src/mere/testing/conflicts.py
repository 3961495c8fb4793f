"""What every catalog decides when two changes stand on the same version.

Each check runs against a fresh, empty lake, as those of `mere.testing.catalogs` do.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from mere.errors import AlreadyExistsError, CommitConflictError
from mere.model.history import (
    Change,
    CreateSchema,
    CreateTable,
    DropSchema,
    DropTable,
    Edit,
    EditFiles,
    RenameTable,
)
from mere.model.predicate import Expr, bind, col
from mere.model.schema import Field
from mere.ports import Catalog, ReplanNeeded
from mere.testing.lakes import (
    Lineup,
    adding,
    change,
    evolving,
    file_of,
    new_head,
    numbers_in,
    replacing,
    schema_of,
)

NEW = Field(name="new", type="int32")
Make = Callable[[Lineup], Edit]


def _append(lineup: Lineup) -> Edit:
    return adding(lineup.head, file_of(lineup.head, {"id": (100, 100)}))


def _replace_first(lineup: Lineup) -> Edit:
    return replacing(lineup.head, lineup.ids()[:1], file_of(lineup.head, {"id": (200, 200)}))


def _replace_last(lineup: Lineup) -> Edit:
    return replacing(lineup.head, lineup.ids()[-1:], file_of(lineup.head, {"id": (300, 300)}))


def _sought(lineup: Lineup, where: Expr) -> Edit:
    """Take the file of the first rows, which was found by a predicate."""
    edit = replacing(lineup.head, lineup.ids()[:1])
    return replace(edit, operation="mutate", sought=bind(where, lineup.head.schema))


def _change_others(lineup: Lineup) -> Edit:
    """Seek what no file of `_append` can hold."""
    return _sought(lineup, col("id") < 50)


def _change_among_others(lineup: Lineup) -> Edit:
    """Seek what a file of `_append` may hold."""
    return _sought(lineup, col("id") > 0)


def _add_column(lineup: Lineup) -> Edit:
    return evolving(lineup.head, *lineup.head.schema.fields, NEW)


def _add_required(lineup: Lineup) -> Edit:
    return evolving(lineup.head, *lineup.head.schema.fields, replace(NEW, nullable=False))


def _drop_column(lineup: Lineup) -> Edit:
    return evolving(lineup.head, lineup.head.schema.fields[0])


def _rename_column(lineup: Lineup) -> Edit:
    return evolving(lineup.head, lineup.renamed("id2"), lineup.head.schema.fields[1])


def _drop(lineup: Lineup) -> Edit:
    return DropTable(table_id=lineup.head.table_id)


def _rename(lineup: Lineup) -> Edit:
    return RenameTable(table_id=lineup.head.table_id, name="renamed")


@dataclass(frozen=True, slots=True)
class Meeting:
    """Theirs is committed first, then mine on the version before; what comes of mine."""

    theirs: Make
    mine: Make
    outcome: type[Exception] | None = None

    def __str__(self) -> str:
        """Name the meeting."""
        names = (make.__name__.strip("_") for make in (self.mine, self.theirs))
        return "-beside-".join(names)

    def check(self, catalog: Catalog) -> None:
        """Let the two meet; a refused change leaves everything as it was."""
        lineup = Lineup.of(catalog, 1, 2, 3)
        mine = self.mine(lineup)
        change(catalog, self.theirs(lineup))
        before = catalog.snapshot().id
        try:
            made = change(catalog, mine, base=lineup.head.snapshot)
        except (ReplanNeeded, CommitConflictError) as error:
            _same(type(error), self.outcome)
            _same(catalog.snapshot().id, before)
        else:
            _same(None, self.outcome)
            _same((made.snapshot, made.replayed), (before + 1, True))


MEETINGS = (
    Meeting(_append, _append),
    Meeting(_replace_first, _append),
    Meeting(_add_column, _append),
    Meeting(_rename_column, _append),
    Meeting(_rename, _append),
    Meeting(_drop_column, _append, ReplanNeeded),
    Meeting(_add_required, _append, ReplanNeeded),
    Meeting(_drop, _append, CommitConflictError),
    Meeting(_append, _replace_first, ReplanNeeded),
    Meeting(_append, _change_others),
    Meeting(_append, _change_among_others, ReplanNeeded),
    Meeting(_replace_last, _change_others, ReplanNeeded),
    Meeting(_replace_first, _replace_first, ReplanNeeded),
    Meeting(_replace_last, _replace_first, ReplanNeeded),
    Meeting(_add_column, _replace_first, ReplanNeeded),
    Meeting(_drop, _replace_first, CommitConflictError),
    Meeting(_append, _add_column),
    Meeting(_replace_first, _add_column),
    Meeting(_add_column, _rename_column, CommitConflictError),
    Meeting(_drop, _add_column, CommitConflictError),
    Meeting(_append, _rename),
    Meeting(_rename, _rename, CommitConflictError),
    Meeting(_append, _drop),
    Meeting(_add_column, _drop, CommitConflictError),
    Meeting(_drop, _drop, ReplanNeeded),
)


def another_table_never_conflicts(catalog: Catalog) -> None:
    """Whatever happens to other tables, a change follows."""
    ours, theirs = Lineup.of(catalog, 1, name="ours"), Lineup.of(catalog, 1, name="theirs")
    base = catalog.snapshot().id
    for make in (_append, _replace_first, _add_column, _rename, _drop):
        now = Lineup(catalog=catalog, head=replace(theirs.head, snapshot=catalog.snapshot().id))
        if make is _replace_first:
            now = replace(now, head=catalog.head("theirs"))
        change(catalog, make(now))
    for make in (_append, _add_column):
        _same(change(catalog, make(ours), base=base).replayed, expected=True)
    change(catalog, CreateSchema(name="s"), base=base)
    change(catalog, DropSchema(name="s"), base=base)


def a_row_change_follows_what_touched_no_file_of_it(catalog: Catalog) -> None:
    """A mere change of names elsewhere is no reason to plan again."""
    lineup = Lineup.of(catalog, 1, 2)
    base = catalog.snapshot().id
    change(catalog, RenameTable(table_id=lineup.head.table_id, name="u"))
    _same(change(catalog, _replace_first(lineup), base=base).replayed, expected=True)
    _same(numbers_in(catalog, catalog.head("u")), [2, 200])


def a_file_goes_only_once(catalog: Catalog) -> None:
    """A file that has gone, or never was there, cannot go again."""
    lineup = Lineup.of(catalog, 1, 2)
    for removes in ((99,), (lineup.ids()[0], 99)):
        edit = EditFiles(table_id=lineup.head.table_id, operation="overwrite", removes=removes)
        _refused(ReplanNeeded, partial(change, catalog, edit))
    _same(numbers_in(catalog, catalog.head("t")), [1, 2])


def a_definition_with_rows_is_planned_again(catalog: Catalog) -> None:
    """An append that brings columns does not fail because others brought some, too."""
    lineup = Lineup.of(catalog, 1)
    base = catalog.snapshot().id
    change(catalog, _add_column(lineup))
    both = Change(base=base, edits=(_add_column(lineup), _append(lineup)))
    _refused(ReplanNeeded, lambda: catalog.commit(both))


def a_name_taken_meanwhile_is_planned_again(catalog: Catalog) -> None:
    """Tables made, renamed and schemas made on the same version: verbs may be content with it."""
    lineup = Lineup.of(catalog, 1)
    base = catalog.snapshot().id
    made = CreateTable(head=new_head("new", schema_of({"id": "int64"})))
    change(catalog, made)
    change(catalog, CreateSchema(name="s"))
    taken = RenameTable(table_id=lineup.head.table_id, name="new")
    for edit in (made, taken, CreateSchema(name="s")):
        _refused(ReplanNeeded, partial(change, catalog, edit, base=base))
        _refused(AlreadyExistsError, partial(change, catalog, edit))


CONFLICT_CHECKS: tuple[Callable[[Catalog], None], ...] = (
    another_table_never_conflicts,
    a_row_change_follows_what_touched_no_file_of_it,
    a_file_goes_only_once,
    a_definition_with_rows_is_planned_again,
    a_name_taken_meanwhile_is_planned_again,
)


def _refused(kind: type[Exception], call: Callable[[], object]) -> None:
    try:
        call()
    except kind:
        return
    msg = f"expected {kind.__name__}, but the call succeeded"
    raise AssertionError(msg)


def _same(found: object, expected: object) -> None:
    if found != expected:
        msg = f"expected {expected!r:.800}, found {found!r:.800}"
        raise AssertionError(msg)
