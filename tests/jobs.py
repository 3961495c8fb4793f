"""What processes do that may die or meet others: verbs of the public surface, on a lake by URL."""

import os
import random
import resource
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tests import crippled

import mere
import mere.errors
from mere.catalogs import duckdb, postgres, sql, sqlite
from mere.catalogs.directory import DirectoryCatalog, Terms
from mere.datasets import folder
from mere.kernels.duckdb import DuckdbKernel
from mere.kernels.pyarrow import PyarrowKernel
from mere.lake import Lake
from mere.model.report import Report
from mere.plan import steps
from mere.ports import Kernel, Session
from mere.runners.local import LocalRunner
from mere.stores import open_store
from mere.table import Table
from mere.testing.apart import ApartRunner
from mere.testing.faults import Faulty

SILENT = frozenset({"close", "flush", "readable", "seekable", "tell", "writable"})
COLUMNS = {"id": "int64", "part": "int64", "text": "varchar"}
KERNELS: dict[str, Callable[[], Kernel]] = {"pyarrow": PyarrowKernel, "duckdb": DuckdbKernel}


@dataclass(slots=True, kw_only=True)
class Fuse:
    """Calls, counted while `armed` and not `silent`; what happens before or after one of them."""

    at: int | None = None
    when: str = "before"
    act: Callable[[], object] | None = None
    armed: bool = True
    silent: frozenset[str] = SILENT
    calls: list[str] = field(default_factory=list)

    def through(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call, and act where it was asked for."""
        if not self.armed or name in self.silent:
            return call()
        self.calls.append(name)
        here = len(self.calls) == self.at
        if here and self.when == "before":
            self.burn()
        result = call()
        if here and self.when == "after":
            self.burn()
        return result

    def burn(self) -> None:
        """Act."""
        if self.act is not None:
            self.act()


def killed() -> None:
    """Die at once: nothing is cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed_within(seconds: float) -> None:
    """Go on, and die wherever this process is some moments later."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, seconds))  # noqa: S311


def rows(*ids: int, text: str = "x") -> pa.Table:
    """Return rows with these ids, in two partitions."""
    parts = [number % 2 for number in ids]
    return pa.table({"id": list(ids), "part": parts, "text": [text] * len(ids)})


def dialect_of(url: str, *, wait_s: float = 60.0) -> Any:
    """Return the dialect of the catalog at a URL."""
    kind, _, path = url.partition("://")
    if kind == "sqlite":
        return sqlite.SqliteDialect(Path(path), read_only=False, wait_s=wait_s)
    if kind == "duckdb":
        return duckdb.DuckdbDialect(Path(path), wait_s=wait_s)
    return postgres.PostgresDialect(url, schema="public", read_only=False, wait_s=wait_s)


def numbered_lake(
    url: str, fuse: Fuse, *, kernel: str = "pyarrow", deep: bool = True, without: str = ""
) -> Lake:
    """Open a lake whose store and catalog are numbered; `deep` numbers each statement, too.

    `without` takes out a guard: see `tests.crippled`.
    """
    fuse.armed = False
    watch: Any = fuse
    dialect: Any = dialect_of(url)
    if without in crippled.LINKS:
        dialect = crippled.Altered(dialect, crippled.LINKS[without])
    spoken = Faulty(dialect, watch) if deep else dialect
    catalog: Any = sql.opened(spoken, data_path=None, new_data_path=None, create=False)
    store: Any = open_store(catalog.data_path)
    if without in crippled.STORES:
        store = crippled.STORES[without](store)
    fuse.armed = True
    return Lake(
        Session(
            catalog=cast("Any", Faulty(catalog, watch)),
            store=cast("Any", Faulty(store, watch)),
            kernel=KERNELS[kernel](),
            runner=LocalRunner(workers=1),
        )
    )


def append(lake: Lake) -> None:
    """Add two rows, in two partitions."""
    lake.table("a").append(rows(11, 12))


def overwrite(lake: Lake) -> None:
    """Replace the odd rows by one, by the partition that they lie in."""
    lake.table("a").overwrite(rows(21), partitions="dynamic")


def replace(lake: Lake) -> None:
    """Replace the rows of one partition by a predicate."""
    lake.table("a").overwrite(rows(31), where="part = 1")


def transaction(lake: Lake) -> None:
    """Add to two tables and replace in one of them, in one commit."""
    with lake.transaction() as both:
        both.table("a").append(rows(41))
        both.table("b").append(rows(42))
        both.table("a").overwrite(rows(43, 45), partitions="dynamic")


def delete(lake: Lake) -> None:
    """Take some rows out of one file for the second time, out of another for the first."""
    lake.table("a").delete("id IN (1, 2, 105)")


def update(lake: Lake) -> None:
    """Change rows of several files; some of them move to the other partition."""
    lake.table("a").update({"text": "upper(text)", "part": "0"}, where="id IN (2, 3, 107, 108)")


def upsert(lake: Lake) -> None:
    """Change rows of several files, and add some."""
    lake.table("a").upsert(rows(1, 2, 107, 200, 201, text="new"), on="id")


def merge(lake: Lake) -> None:
    """Change rows, take some away, among them every row of a file, and add one."""
    source = rows(2, 3, 4, 200, text="merged")
    (
        lake.table("a")
        .merge(source, on="id")
        .when_matched_delete(when="source.part = 0")
        .when_matched_update()
        .when_not_matched_insert()
        .when_not_matched_by_source_delete(when="id > 106")
        .run()
    )


def begin_copies(url: str) -> None:
    """Do as `begin_again`, in a table of which touched files are written anew."""
    with mere.connect(url) as lake:
        lake.table("a").set_option("mere_write_mode", "copy-on-write")
    begin_again(url)


def begin_again(url: str) -> None:
    """Give the lake a file of which some rows are gone, for changes that go into it again."""
    with mere.connect(url) as lake:
        lake.table("a").append(rows(101, 103, 105, 107, 109, 102, 104, 106, 108))
        lake.table("a").delete("id IN (101, 103)")


def vacuum(lake: Lake) -> None:
    """Delete what nobody can reach, without a time of grace."""
    lake.vacuum(0)


def expire(lake: Lake) -> None:
    """Let all versions go but the newest."""
    lake.expire(0)


def compact(lake: Lake) -> None:
    """Make few files of the many in one table."""
    lake.table("a").compact()


def cluster(lake: Lake) -> None:
    """Order the rows of one table."""
    lake.table("a").cluster(["text", "id"])


def shuffle(lake: Lake) -> None:
    """Order the rows of one table in two steps, as on a cluster; nothing else is done here."""
    steps.STEP_BYTES = 1
    runner = ApartRunner(slots=2, copies=False)
    report = lake.on(runner).table("a").cluster(["text", "id"], target_mb=0.001)
    assert "two steps" in str(report.plan)


def repartition(lake: Lake) -> None:
    """Bring the rows of one table into other partitions."""
    lake.table("a").repartition(["part", "bucket(2, id)"])


def longer(batch: pa.Table) -> pa.Table:
    """Add how long a text is."""
    return batch.append_column("length", pc.utf8_length(batch["text"]))


def reshape(lake: Lake) -> None:
    """Send the rows of one table through a function into other partitions."""
    lake.table("a").repartition(["part", "length"], transform=longer)


def reshape_into(lake: Lake) -> None:
    """Send the rows of one table through a function into a new one."""
    lake.table("a").repartition(["length"], transform=longer, into="new")


CHANGES = (
    *(append, overwrite, replace, transaction, vacuum, expire),
    *(delete, update, upsert, merge, compact, cluster, shuffle, repartition, reshape, reshape_into),
)


def maintain(lake: Lake) -> None:
    """Keep all tables in shape, and let everything go that is not the newest version."""
    rules = {"min_files": 2, "expire_older_than": 0, "delete_older_than": 0}
    lake.maintain({**rules, "tables": {"b": {"cluster_by": ["id"]}}}).require()


VERBS = {verb.__name__: verb for verb in (*CHANGES, maintain)}


def count_calls(url: str, *, verb: str, silent: Sequence[str] = (), **more: Any) -> list[str]:
    """Do a verb whole, and return the names of its calls but the silent ones."""
    fuse = Fuse(silent=SILENT.union(silent))
    VERBS[verb](numbered_lake(url, fuse, **more))
    return fuse.calls


def die_at(
    url: str, *, verb: str, at: int, when: str, silent: Sequence[str] = (), **more: Any
) -> None:
    """Do a verb, and die before or after one of its calls."""
    fuse = Fuse(at=at, when=when, act=killed, silent=SILENT.union(silent))
    VERBS[verb](numbered_lake(url, fuse, **more))


def numbered_folder(path: str, fuse: Fuse, *, patience_s: float = 60.0) -> Table:
    """Open a plain folder whose every call to its store is numbered."""
    store: Any = Faulty(open_store(path), cast("Any", fuse))
    catalog = DirectoryCatalog(store, Terms(patience_s=patience_s))
    kernel = PyarrowKernel(threads=1)
    session = Session(catalog=catalog, store=store, kernel=kernel, runner=LocalRunner(workers=1))
    return Table(session, store.url)


FOLDER_VERBS: dict[str, Callable[[Table], object]] = {
    "append": lambda table: table.append(rows(7, 8, 9)),
    "one file": lambda table: table.append(rows(8)),
    "upsert": lambda table: table.upsert(rows(2, 3, 9, text="new"), on="id"),
    "compact": lambda table: table.compact(),
    "repartition": lambda table: table.repartition("text"),
    "overwrite": lambda table: table.overwrite(rows(40, 41, text="o")),
}


def change_folder(
    path: str,
    *,
    verb: str,
    at: int | None = None,
    when: str = "before",
    environment: dict[str, str] | None = None,
) -> list[str]:
    """Change a plain folder and say by which calls, or die at one of them."""
    os.environ.update(environment or {})
    silent = SILENT | {"read", "open", "resolve", "rows", "write"}
    fuse = Fuse(at=at, when=when, act=killed, silent=silent)
    FOLDER_VERBS[verb](numbered_folder(path, fuse))
    return fuse.calls


def keep_folder(path: str, *, verb: str, times: int) -> list[str]:
    """Do a verb on a plain folder again and again; say how each time ended."""
    table = folder(path)
    ends = []
    for n in range(times):
        try:
            if verb == "compact":
                ends.append(f"{table.compact().compacted_file_count} files")
            else:
                ids = range(n % 3, 1000, 100)
                done = table.upsert(rows(*ids, text=f"{verb} {n}"), on="id")
                ends.append(f"{done.rows_updated + done.rows_inserted} rows")
        except mere.errors.CommitConflictError:
            ends.append("conflict")
    return ends


def drop_files(path: str, *, first: int, times: int) -> list[int]:
    """Drop files into a folder as a program does that knows nothing of us."""
    for n in range(first, first + times):
        hidden = Path(path) / f".part={n % 2}.{n}"
        pq.write_table(rows(n), hidden)
        (Path(path) / f"part={n % 2}").mkdir(exist_ok=True)
        hidden.rename(Path(path) / f"part={n % 2}" / f"dropped-{n}.parquet")
    return list(range(first, first + times))


def load(
    url: str,
    *,
    src: str,
    at: int | None = None,
    when: str = "before",
    silent: Sequence[str] = (),
    **more: Any,
) -> list[str]:
    """Load the files of a folder in some commits; die at one of the calls, or return them all."""
    act = None if at is None else killed
    fuse = Fuse(at=at, when=when, act=act, silent=SILENT.union(silent))
    size = max(path.stat().st_size for path in Path(src).iterdir())
    lake = numbered_lake(url, fuse, **more)
    lake.ingest(src, "a", batch_mb=1.5 * size / (1 << 20))
    return fuse.calls


def load_at_once(url: str, *, src: str, batch_mb: float, partition_by: str) -> list[Any]:
    """Load the files of a folder; return what was loaded, and what others had loaded."""
    with mere.connect(url) as lake:
        done = lake.ingest(src, "new", batch_mb=batch_mb, partition_by=[partition_by])
        return [done.rows, len(done.sources), done.skipped]


def die_inside(url: str, *, verb: str, at: int, seconds: float) -> None:
    """Do a verb, and die some moments after one of its calls began, or wherever it is by then."""
    fuse = Fuse(at=at, act=partial(killed_within, seconds))
    VERBS[verb](numbered_lake(url, fuse))
    killed()


def die_writing(url: str, *, kernel: str, seconds: float, number: int) -> None:
    """Append many rows, and die some moments after it began."""
    lake = mere.connect(url, kernel=kernel)
    numbers = range(number, number + 200_000)
    data = rows(*numbers, text="some words that take their room")
    killed_within(seconds)
    lake.table("a").append(data)
    killed()


class AllBut:
    """All names but one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __contains__(self, name: object) -> bool:
        return name != self.name


def die_sending(url: str, *, environment: dict[str, str]) -> None:
    """Append more than one part to an object storage, and die before the last one is sent."""
    os.environ |= environment
    many = np.random.default_rng(1).integers(1 << 60, size=1_500_000)
    data = pa.table({"id": many, "part": many % 1, "text": pa.array(many).cast(pa.string())})
    silent = cast("frozenset[str]", AllBut("leave writer"))
    lake = numbered_lake(url, Fuse(at=1, act=killed, silent=silent), deep=False)
    lake.table("a").append(data)


def append_often(
    url: str, *, first: int, times: int, table: str = "a", seconds: float = 0
) -> list[int]:
    """Append one row after the other; return the versions that they made."""
    with mere.connect(url) as lake:
        found = lake.table(table)
        numbers = _often(times, seconds)
        return [int(found.append(rows(first + n)).version or 0) for n in numbers]


def upsert_often(
    url: str, *, ids: Sequence[int], times: int, seconds: float = 0
) -> tuple[int, int]:
    """Give the same rows a new text again and again; return how often, and how often in vain.

    Beside many who append all the time a change may give up, as it says: then it is called again.
    """
    done = refused = 0
    with mere.connect(url) as lake:
        table = lake.table("a")
        for _ in _often(times, seconds):
            before = done
            while done == before:
                try:
                    table.upsert(rows(*ids, text=str(done)), on="id")
                    done += 1
                except mere.errors.CommitConflictError:
                    refused += 1
    return done, refused


def compact_often(url: str, *, times: int, seconds: float = 0) -> list[int]:
    """Merge small files again and again, until some were; return how many each call merged."""
    with mere.connect(url) as lake:
        table = lake.table("a")
        merged = [table.compact().compacted_file_count for _ in _often(times, seconds)]
        while not any(merged):  # writers may be first every time
            merged.append(table.compact().compacted_file_count)
        return merged


def _often(times: int, seconds: float) -> Iterator[int]:
    """Count so many times, and on until so many seconds are over."""
    end = time.monotonic() + seconds
    number = 0
    while number < times or time.monotonic() < end:
        yield number
        number += 1


def peak_of(url: str, *, verb: str, **arguments: Any) -> int:
    """Do a verb on a table that lies ready; return how many bytes Arrow held at most."""
    with mere.connect(url) as lake:
        getattr(lake.on(workers=1).table("wide"), verb)(**arguments)
    return int(pa.default_memory_pool().max_memory())


def append_with_token(url: str, *, number: int, token: str) -> list[Any]:
    """Append one row under a token; return the version and how many rows were inserted."""
    with mere.connect(url) as lake:
        report = lake.table("a").append(rows(number), token=token)
        return [report.version, report.rows_inserted]


def overwrite_often(url: str, *, part: int, times: int) -> list[int]:
    """Replace one partition by ten rows of one text, again and again."""
    with mere.connect(url) as lake:
        versions = []
        for n in range(times):
            data = rows(*range(part, part + 20, 2), text=f"round {n}")
            report = lake.table("a").overwrite(data, partitions="dynamic")
            versions.append(int(report.version or 0))
        return versions


def change_often(
    url: str, *, worker: int, times: int, keys: int, seconds: float = 0.0, kernel: str = "pyarrow"
) -> list[list[Any]]:
    """Upsert, count up and delete the same keys as others, so many times and for so many seconds.

    Return for each call that came to an end: its version, what it was, its keys, its text, and the
    rows that were inserted, updated and deleted. A call that gave up must have done nothing.
    """
    choose = random.Random(worker)  # noqa: S311  nothing is secret
    done: list[list[Any]] = []
    end = time.monotonic() + seconds
    calls = 0
    with mere.connect(url, kernel=kernel) as lake:
        table = lake.table("a")
        while calls < times or time.monotonic() < end:
            calls += 1
            kind = choose.choice(["upsert", "upsert", "count", "delete"])
            ids = sorted(choose.sample(range(keys), choose.randint(1, keys // 4)))
            text = f"{worker}.{calls}"
            try:
                report = _CHANGES[kind](table, ids, text)
            except mere.errors.CommitConflictError:
                continue
            told = (report.rows_inserted, report.rows_updated, report.rows_deleted)
            done.append([report.version, kind, ids, text, *told])
    return done


def _upserted(table: Table, ids: list[int], text: str) -> Report:
    return table.upsert(pa.table({"id": ids, "text": [text] * len(ids)}), on="id")


def _counted(table: Table, ids: list[int], text: str) -> Report:
    merge = table.merge(rows(*ids, text=text), on="id")
    return merge.when_matched_update({"part": "coalesce(target.part, 0) + 1"}).run()


def _deleted(table: Table, ids: list[int], _: str) -> Report:
    return table.delete({"id": ids[:2]})


_CHANGES: dict[str, Callable[[Table, list[int], str], Report]] = {
    "upsert": _upserted,
    "count": _counted,
    "delete": _deleted,
}


def watch(url: str, *, times: int) -> list[list[Any]]:
    """Read again and again; return what was seen that no commit ever showed."""
    odd: list[list[Any]] = []
    with mere.connect(url) as lake:
        last = -1
        for _ in range(times):
            scan = lake.table("a").scan()
            seen = scan.to_arrow().to_pylist()
            version = lake.table("a").version
            texts = {part: {r["text"] for r in seen if r["part"] == part} for part in (0, 1)}
            for part in (0, 1):
                count = sum(row["part"] == part for row in seen)
                if len(texts[part]) != 1 or count != 10:
                    odd.append([version, part, count, sorted(texts[part])])
            if version < last:
                odd.append([version, last])
            last = version
    return odd


@dataclass(slots=True, kw_only=True)
class _Watch(Fuse):
    """Calls, and what is done when the commit begins and when its transaction ends."""

    begins: Callable[[], None]
    ends: Callable[[], None]

    def through(self, name: str, call: Callable[[], Any]) -> Any:
        if name == "commit":
            self.begins()
        elif name == "leave writing" and "commit" in self.calls:
            self.ends()
        return Fuse.through(self, name, call)


def noting_flushes(
    url: str, *, verb: str, without: str = "", overtaken: bool = False
) -> dict[str, Any]:
    """Do a verb, and return what was flushed when the transaction of its commit ended.

    Of a file this is how many bytes, of a folder which names. When `overtaken`, another table
    changes as the commit begins.
    """
    flushed: dict[str, Any] = {}
    flush = os.fsync

    def noting(handle: Any) -> None:
        flush(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        whole = [f.name for f in path.iterdir()] if path.is_dir() else path.stat().st_size
        flushed[str(path)] = whole

    def begins() -> None:
        if overtaken:
            append_often(url, first=90, times=1, table="b")

    def ends() -> None:
        os.fsync = flush

    watch = _Watch(begins=begins, ends=ends)
    lake = numbered_lake(url, watch, without=without)
    os.fsync = cast("Any", noting)
    VERBS[verb](lake)
    return flushed


def announce_over_a_fork(url: str) -> list[Any]:
    """Announce, fork, announce there too and close; return both announcements and what is left."""
    catalog = sql.opened(dialect_of(url), data_path=None, new_data_path=None, create=False)
    mine = catalog.announce(1)
    heard, told = os.pipe()
    child = os.fork()
    if not child:
        catalog.withdraw(mine)
        theirs = catalog.announce(1)
        catalog.withdraw(theirs)
        catalog.close()
        os.write(told, theirs.encode())
        os._exit(0)
    os.waitpid(child, 0)
    catalog.withdraw(mine)
    with closing(dialect_of(url)) as dialect, dialect.reading() as link:
        left = [row[0] for row in link.ask("SELECT intent_id FROM mere_intent")]
    return [mine, os.read(heard, 100).decode(), left]


def begin_from_nothing(url: str, *, data_path: str, number: int) -> int:
    """Make the lake and its table unless somebody has, and append one row."""
    with mere.connect(url, data_path=data_path) as lake:
        lake.create_schema("made", if_exists="ok")
        table = lake.create_table("a", COLUMNS, partition_by=["part"], if_exists="ok")
        return int(table.append(rows(number)).version or 0)


def die_making(url: str, *, data_path: str, seconds: float) -> None:
    """Make a lake and a table, and die some moments after it began."""
    killed_within(seconds)
    begin_from_nothing(url, data_path=data_path, number=1)
    killed()


def append_with_little_room(url: str, *, room: int) -> str:
    """Append while no file may grow beyond some bytes; return what came of it."""
    lake = numbered_lake(url, Fuse())
    lake._session.catalog.announce(1)  # noqa: SLF001  else nothing but this would be tried
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    try:
        lake.table("a").append(rows(11, 12))
    except mere.errors.MereError as error:
        return type(error).__name__
    return "done"
