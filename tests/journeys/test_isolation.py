"""Whoever is first: what comes of two changes is what one after the other would have made."""

import pytest

import mere
from mere.errors import CommitConflictError, InvalidInputError

COLUMNS = {"id": "int64", "v": "int64", "s": "varchar"}
NEW = [{"id": 2, "v": 20, "s": "mine"}, {"id": 7, "v": 70, "s": "mine"}]
MINE = {
    "append": lambda t: t.append(NEW),
    "overwrite": lambda t: t.overwrite(NEW),
    "overwrite where": lambda t: t.overwrite(NEW, where="id IN (2, 7)"),
    "delete": lambda t: t.delete("v >= 2"),
    "update": lambda t: t.update({"v": "v + 100"}, where="id > 1"),
    "upsert": lambda t: t.upsert(NEW, on="id"),
    "merge": lambda t: (
        t.merge(NEW, on="id").when_matched_delete().when_not_matched_by_source_delete().run()
    ),
    "deduplicate": lambda t: t.deduplicate("id", keep="last"),
    "compact": lambda t: t.compact(),
}
THEIRS = {
    "append": lambda t: t.append([{"id": 2, "v": 2, "s": "theirs"}, {"id": 9, "v": 9}]),
    "overwrite": lambda t: t.overwrite([{"id": 7, "v": 7, "s": "theirs"}]),
    "delete": lambda t: t.delete("id = 2"),
    "update": lambda t: t.update({"v": "v + 1", "s": mere.lit("theirs")}, where="id = 1"),
    "upsert": lambda t: t.upsert([{"id": 7, "v": 1}, {"id": 3, "v": 1}], on="id"),
    "compact": lambda t: t.compact(),
    "evolve": lambda t: t.evolve().add_column("more", "int64", default=5).commit(),
}


def filled(lake, name):
    table = lake.create_table(name, COLUMNS)
    table.append([{"id": n, "v": n, "s": "old"} for n in range(4)])
    table.append([{"id": n, "v": n, "s": "old"} for n in range(2, 6)])
    return table


def rows(table):
    return sorted(map(repr, table.scan().to_arrow().to_pylist()))


@pytest.mark.parametrize(
    ("mine", "mode"),
    [
        *((mine, "merge-on-read") for mine in MINE),
        *((mine, "copy-on-write") for mine in ("overwrite where", "update", "upsert")),
    ],
)
def test_every_change_after_every_other_is_as_if_it_had_waited(lake, meanwhile, mine, mode):
    lake.set_option("mere_write_mode", mode)
    pairs = [(filled(lake, f"raced{n}"), filled(lake, f"serial{n}")) for n in range(len(THEIRS))]
    for (raced, serial), (name, theirs) in zip(pairs, THEIRS.items(), strict=True):
        theirs(serial)
        MINE[mine](serial)
        meanwhile(lambda raced=raced, theirs=theirs: theirs(raced))
        MINE[mine](raced)
        assert rows(raced) == rows(serial), (mine, name)


def test_changes_of_other_tables_never_matter(lake, meanwhile):
    one, other = filled(lake, "one"), filled(lake, "other")
    meanwhile(lambda: other.delete("true"), lambda: other.append(NEW))
    assert one.delete("id = 1").retries == 0
    assert one.upsert(NEW, on="id").retries == 0


def skewed(lake, isolation, others=None):
    """Move a sum from one table to another, while others change what was read."""
    one, other = filled(lake, "one"), filled(lake, "other")
    with lake.transaction(isolation=isolation) as tx:
        count = tx.table("one").count("id > 0")
        tx.table("other").append([{"id": count, "v": 0, "s": "sum"}])
        (others or (lambda t: t.delete("id = 1")))(one)
    return other


def test_a_transaction_reads_one_version_whatever_others_do(lake):
    assert skewed(lake, "snapshot").count("id = 7 AND s = 'sum'") == 1


def test_a_serializable_transaction_refuses_when_what_it_read_has_changed(lake):
    with pytest.raises(CommitConflictError, match="since it began"):
        skewed(lake, "serializable")
    assert lake.table("other").count("s = 'sum'") == 0


def test_a_serializable_transaction_minds_only_rows_that_it_read(lake):
    assert skewed(lake, "serializable", lambda t: t.compact()).count("s = 'sum'") == 1
    lake.drop_table("one")
    lake.drop_table("other")
    assert skewed(lake, "serializable", lambda _: filled(lake, "third")).count("s = 'sum'") == 1
    table = lake.table("third")
    with lake.transaction(isolation="serializable") as tx:
        tx.table("third").append(NEW)
        tx.table("one").count(version=table.version - 1)
        table.append(NEW)
        lake.table("one").append(NEW)
    assert table.count() == 12
    with (
        pytest.raises(InvalidInputError, match="isolation takes one of"),
        lake.transaction(isolation="chaos"),
    ):
        pass
