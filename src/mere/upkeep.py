"""The verbs that keep tables and lakes in shape: methods of `Table` and `Lake`, from here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mere import listing, ops, plan, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from mere.model.report import Report
    from mere.ops.maintain.outcome import Maintenance
    from mere.ops.maintain.policies import Given
    from mere.ports import Session


class Opened(Protocol):
    """What a lake is made of."""

    _session: Session


class Named(Opened, Protocol):
    """What a table is made of."""

    name: str


def compact(
    self: Named,
    *,
    target_mb: float | None = 128,
    target_rows: int | None = None,
    min_files: int = 2,
    max_file_mb: float | None = None,
    where: Any = None,
    mode: str = "auto",
    dry_run: bool = False,
    memory_mb: int | None = None,
    message: str | None = None,
) -> Report:
    """Merge small files into few of about the target size; no version shows other rows than before.

    Time travel and `changes` stay as they were, and a second call finds nothing to do. Files of
    different partitions never become one, nor do files from before and after columns changed while
    versions from before are kept. Rows keep their order and files their codec, unless an option of
    the table says which one. Deleted rows stay with the file as long as a version that is kept
    shows them; when none does they are dropped, also from a large file of which they are a good
    part. Others may write meanwhile: what they touch is left as it is.

    Args:
        target_mb: How large files shall become; what is near it is left alone. None: no limit.
        target_rows: How many rows files shall have at most; no file is split for it.
        min_files: With fewer small files in a partition nothing is done there.
        max_file_mb: Only files below this size are merged; None: three quarters of the target.
        where: Only files that can hold a matching row: name partition columns.
        mode: `"rewrite"` encodes rows anew; `"auto"` takes the best way that there is.
        dry_run: Only say what would be done.
        memory_mb: How much is held in memory at a time; on Spark, by each task.
        message: What the history says of it.

    Raises:
        InvalidInputError: If a size cannot be meant; nothing was read.
        NoFilesError: If no file matches.

    Example:
        >>> trades.compact(target_mb=128).after_file_count
        1
    """
    options = ops.maintain.MoveOptions(dry_run=dry_run, memory_mb=memory_mb, message=message)
    sizes = plan.rewrite.Sizes(
        target_mb=target_mb, target_rows=target_rows, min_files=min_files, max_file_mb=max_file_mb
    )
    return ops.maintain.compact(
        self._session, self.name, sizes=sizes, where=where, mode=mode, options=options
    )


def cluster(
    self: Named,
    by: str | Sequence[str],
    *,
    order: str = "linear",
    target_mb: float | None = 128,
    target_rows: int | None = None,
    where: Any = None,
    full: bool = False,
    dry_run: bool = False,
    memory_mb: int | None = None,
    message: str | None = None,
) -> Report:
    """Order rows within and across the files of each partition; no version shows other rows.

    So filters on the columns leave out most files. `linear` orders by one column after the other;
    `zorder` and `hilbert` follow a curve through the ranks of their values, so that a filter on any
    of the columns leaves out files. NULLs come last. Files that were put into this order before are
    left alone, unless `full`: so new rows are ordered among themselves. What memory does not hold
    is sorted in a temporary folder.

    Args:
        by: The columns; with `linear` the first counts most.
        order: `"linear"`, `"zorder"` or `"hilbert"`.
        target_mb: How large files become, about; None: no limit.
        target_rows: How many rows they have at most; None: no limit.
        where: Only files that can hold a matching row: name partition columns.
        full: Also order anew what is in order already, together with the rest.
        dry_run: Only say what would be done.
        memory_mb: How much is held in memory at a time; on Spark, by each task.
        message: What the history says of it.

    Raises:
        UnknownColumnError: If a column does not exist; nothing was read.
        InvalidInputError: If something that was asked cannot be meant; nothing was read.
        NoFilesError: If no file matches.

    Example:
        >>> trades.cluster(["product_id", "ts"], order="zorder").overlap_after
        0.4
    """
    options = ops.maintain.MoveOptions(dry_run=dry_run, memory_mb=memory_mb, message=message)
    names = (by,) if isinstance(by, str) else tuple(by)
    wanted = plan.cluster.Clustering(
        by=names, order=order, target_mb=target_mb, target_rows=target_rows, full=full
    )
    return ops.maintain.cluster(
        self._session, self.name, wanted=wanted, where=where, options=options
    )


def repartition(
    self: Named,
    by: str | Sequence[str],
    *,
    transform: Callable[[Any], Any] | None = None,
    into: str | None = None,
    target_mb: float = 128,
    where: Any = None,
    allow_row_change: bool = False,
    dry_run: bool = False,
    memory_mb: int | None = None,
    message: str | None = None,
) -> Report:
    """Give the table other partitions and bring its rows there, in one commit.

    No version shows other rows than before: old ones read the same rows from the new files. Rows of
    one partition keep their order. When others change rows meanwhile, what they touched is done
    again before the commit. A dry run guesses from a sample how many partitions there will be.

    With `transform`, rows become what a function makes of them, batch by batch and in their order:
    an update of every row, which `changes` tells, while older versions stay as they are. It is
    given what its first parameter is annotated with: a frame of polars (also without annotation),
    of pandas, or a table or batch of pyarrow; on Spark the whole as a Spark DataFrame. It returns
    any of them, with all columns of the table; new ones are added to it, and keys may name them. It
    is called for a sample first, so it must not do anything else.

    Args:
        by: The keys, as `create_table` takes them: `["region", "month(ts)", "bucket(16, user)"]`;
            `[]` for none.
        transform: The function that rows go through.
        into: The name of a new table, made in the same commit, that takes the rows; this one stays
            as it is. Its columns are those that the function returns.
        target_mb: How large files become at most, about.
        where: Only files that can hold a matching row; the others stay in the partitions they
            have, and are read alike. Neither with `transform` nor with `into`.
        allow_row_change: Whether the function may leave out rows or make more. Then, and on Spark,
            the old rows count as deleted and the new ones as inserted.
        dry_run: Only say what would be done: partitions, files, bytes.
        memory_mb: How much is held in memory at a time; on Spark, by each task.
        message: What the history says of it.

    Raises:
        UnknownColumnError: If a key names no column; nothing was read, or of a function's only a
            sample.
        InvalidInputError: If a key cannot be meant, there would be far too many partitions, or the
            function returned more or fewer rows; nothing was committed.
        SchemaMismatchError: If the function left out a column, or a value does not fit.
        TaskError: If the function failed.
        AlreadyExistsError: If the new table exists.
        NoFilesError: If no file matches.

    Example:
        >>> trades.repartition(["product_id", "month(ts)"], dry_run=True).partitions
        24
    """
    options = ops.maintain.MoveOptions(dry_run=dry_run, memory_mb=memory_mb, message=message)
    keys = (by,) if isinstance(by, str) else tuple(by)
    wanted = ops.maintain.Partitioning(by=keys, target_mb=target_mb, where=where, into=into)
    if transform is None and into is None:
        return ops.maintain.repartition(self._session, self.name, wanted=wanted, options=options)
    way = registry.passage(self._session, transform, loose=allow_row_change)
    return ops.maintain.reshape(self._session, self.name, way, wanted=wanted, options=options)


def health(self: Named, *, policy: Given = None) -> pa.Table:
    """Say how the table lies on its storage, and what would help; from the catalog alone.

    One row for each check: `value` with its `unit`; `verdict`, which is `good`, `note` for what
    costs something and may be meant, or `act` for what `Lake.maintain` would do; and as `advice`
    the very call that helps, with the bytes that it would read and write.

    Args:
        policy: The rules to judge by, as `Lake.maintain` takes them; None: the lake's own.

    Example:
        >>> trades.health().select(["check", "value", "verdict"]).to_pylist()[2]
        {'check': 'small_files', 'value': 2.0, 'verdict': 'good'}
    """
    found = ops.maintain.health(self._session, self.name, ops.maintain.policy_of(policy))
    return listing.health_table(found, lake=False)


def lake_health(self: Opened, *, policy: Given = None) -> pa.Table:
    """Say how the lake and each of its tables lie on the storage, and what would help.

    The rows are those of `Table.health`, with the table that each is about; the first are about
    the lake as a whole.

    Args:
        policy: The rules to judge by, as `maintain` takes them; None: the lake's own.
    """
    found = ops.maintain.lake_health(self._session, ops.maintain.policy_of(policy))
    return listing.health_table(found, lake=True)


def maintain(
    self: Opened, policy: Given = None, *, dry_run: bool = False, memory_mb: int | None = None
) -> Maintenance:
    """Keep all tables in shape by the lake's rules, what is worth most first.

    Old versions go; small files are merged, or put in order where there is one; deleted rows that
    no version shows are dropped; files that nobody can reach are deleted. Each piece is a commit of
    its own, which no version notices. When one fails the others are done all the same, and the
    result says so. A second run finds nothing to do. Versions that a step of a pipeline has still
    to read stay.

    Args:
        policy: A `mere.Policy`, a mapping, or the path of a TOML file; what it leaves open is said
            by the options in the catalog.
        dry_run: Only say what would be done.
        memory_mb: How much is held in memory at a time; on Spark, by each task.

    Raises:
        InvalidInputError: If a rule cannot be meant, or the lake is open for reading only.

    Example:
        >>> lake.maintain({"budget_minutes": 30, "tables": {"trades": {"cluster_by": ["ts"]}}}).ok
        True
    """
    rules = ops.maintain.policy_of(policy)
    return ops.maintain.maintain(self._session, rules, dry_run=dry_run, memory_mb=memory_mb)
