"""Keep one row of each key: find the others, then delete them where they lie."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from mere.arrow.positions import joined
from mere.errors import InvalidInputError, MereError, UnsupportedError
from mere.model.files import DataFile, FileSet
from mere.model.history import Head
from mere.model.layout import Layout, SortKey, parse_order
from mere.model.report import Report
from mere.model.work import Clause, Result, Sift, Write
from mere.ops import carry
from mere.ops.mutate.changing import Asked, ChangeOptions, change_rows
from mere.ops.mutate.keys import key_columns
from mere.plan import duplicates as plan
from mere.plan.mutate import Mutation, Picked, states
from mere.ports import Session
from mere.reading.sifting import bucket_key, sift, sifted_schema

_LATER = 1 << 61
_FIRST_TASKS = 16
_UNORDERED = frozenset({"interval", "timetz", "variant", "geometry"})


def deduplicate(
    session: Session,
    name: str,
    on: str | Sequence[str],
    *,
    order_by: str | Sequence[str] | None,
    keep: str,
    options: ChangeOptions,
) -> Report:
    """Keep one row of each key; see `Table.deduplicate`."""
    if keep not in ("first", "last"):
        msg = f"keep takes 'first' or 'last', got {keep!r}"
        raise InvalidInputError(msg)
    head = session.catalog.head(name)
    on = key_columns(head, on)
    last = keep == "last"
    _order(head, order_by, last=last)
    finder = _Finder(session, on, order_by, last)
    asked = Asked(operation="deduplicate", bind=finder.bind, told=finder.told)
    return change_rows(session, head, asked, options)


def _order(head: Head, order_by: str | Sequence[str] | None, *, last: bool) -> tuple[SortKey, ...]:
    """Read an order; a NULL is never what is kept, unless it is said where NULLs come."""
    texts = (order_by,) if isinstance(order_by, str) else tuple(order_by or ())
    keys = []
    for text in texts:
        key = parse_order(text, head.schema)
        column = next(f for f in head.schema if f.id == key.column)
        if column.children or column.type in _UNORDERED:
            msg = f"rows are not ordered by {column.name!r}, which is {column.spell()}"
            raise UnsupportedError(msg, hint="order by columns of numbers, texts or times")
        said = text not in head.schema and "NULLS" in text.upper().split()
        keys.append(key if said else replace(key, nulls_first=last))
    return tuple(keys)


@dataclass(slots=True)
class _Finder:
    """Finds the rows that go, on whatever head; what others left alone is not looked at again."""

    session: Session
    on: tuple[str, ...]
    order_by: str | Sequence[str] | None
    last: bool
    known: dict[frozenset[object], Sequence[Result]] = field(default_factory=dict)
    compared: str = ""

    def told(self) -> str:
        """Say how rows were compared."""
        return self.compared

    def bind(self, now: Head) -> Mutation:
        """Find the rows that go and say so."""
        bounds = [now.schema.field(name).id for name in self.on]
        found = self.session.catalog.files(now, bounds=bounds)
        results = self._found(now, _numbered(found))
        picked: dict[int, list[bytes]] = {}
        for result in results:
            for deletion in result.deletions:
                picked.setdefault(deletion.file_id, []).append(deletion.positions)
        return Mutation(
            clauses=(Clause(kind="delete"),),
            picked=Picked(
                positions={number: joined(*parts) for number, parts in picked.items()},
                row_ids=frozenset(n for result in results for n in result.row_ids),
            ),
        )

    def _found(self, now: Head, found: FileSet) -> list[Result]:
        groups = plan.meeting(now, found.files, self.on)
        if found.inlined is not None:
            groups = (found.files,)
        small = plan.together(group for group in groups if plan.fits(group))
        large = tuple(file for group in groups if not plan.fits(group) for file in group)
        self.compared = f"compared {sum(file.rows for file in found.files)} keys in {len(small)}"
        self.compared += " tasks" if len(small) != 1 else " task"
        task = Sift(
            schema=now.schema,
            snapshot=now.snapshot,
            on=self.on,
            order=_order(now, self.order_by, last=self.last),
            last=self.last,
        )
        before, self.known = self.known, {}
        results = self._once(task, small, found, before)
        if large:
            results += self._in_two_steps(now, task, large, found)
        return results

    def _once(
        self,
        task: Sift,
        groups: Sequence[Sequence[DataFile]],
        found: FileSet,
        before: dict[frozenset[object], Sequence[Result]],
    ) -> list[Result]:
        """Look at groups of files, each in one task, but for those that stand as they were."""
        new: list[Sift] = []
        keys: dict[int, frozenset[object]] = {}
        for number, files in enumerate(groups):
            inputs = plan.inputs_of(files)
            key: frozenset[object] = frozenset({task.schema, *states(inputs, task.snapshot)})
            if key in before and found.inlined is None:
                self.known[key] = before[key]
                continue
            keys[number] = key
            new.append(replace(task, inputs=inputs, inlined=found.inlined, number=number))
        for result in self._run(new):
            self.known[keys[result.number]] = [result]
        return [result for results in self.known.values() for result in results]

    def _in_two_steps(
        self, now: Head, task: Sift, files: Sequence[DataFile], found: FileSet
    ) -> list[Result]:
        """Deal the keys of many rows into buckets, and look at these one by one."""
        with self._staging(now, task) as write:
            buckets = plan.buckets_for(files)
            self.compared += f" and {buckets} buckets"
            task = replace(task, write=write, buckets=buckets)
            share = -(-len(files) // max(_FIRST_TASKS, self.session.runner.slots))
            dealt = [files[start : start + share] for start in range(0, len(files), share)]
            first = [
                replace(task, inputs=plan.inputs_of(part), number=number)
                for number, part in enumerate(dealt)
            ]
            first[0] = replace(first[0], inlined=found.inlined)
            staged: list[DataFile] = []
            try:
                results = []
                for result in self._run(first):
                    staged.extend(result.files)
                    results.append(replace(result, files=()))
                return results + list(self._run(plan.second(task, staged, number=0)))
            finally:
                with suppress(MereError, OSError):
                    self.session.store.delete([file.path for file in staged])

    @contextmanager
    def _staging(self, now: Head, task: Sift) -> Iterator[Write]:
        """Announce files that are deleted at the end; what a crash leaves is swept later."""
        with carry.announced(self.session, now) as intent:
            yield Write(
                schema=sifted_schema(task),
                layout=Layout(keys=(bucket_key(),), hive_folders=False, plain=now.layout.plain),
                folder=now.folder,
                intent=intent,
            )
            self.session.catalog.withdraw(intent)

    def _run(self, tasks: Sequence[Sift]) -> Iterator[Result]:
        session = self.session
        do = partial(sift, store=session.store, write=session.kernel.write)
        return session.runner.run(do, tasks)


def _numbered(found: FileSet) -> FileSet:
    """Give the rows that wait in a transaction ids for a while: they came after all others."""
    files, start = [], _LATER
    for file in found.files:
        waits = file.id < 0 and not file.has_row_ids and file.row_id_start is None
        files.append(replace(file, row_id_start=start) if waits else file)
        start += file.rows
    return replace(found, files=tuple(files))
