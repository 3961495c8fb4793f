"""Files that stand alone: a table can have touched files written anew, and nothing else changes."""

import pytest

import mere
from mere.errors import InvalidInputError

COLUMNS = {"id": "int64", "part": "varchar", "v": "float64", "s": "varchar"}


@pytest.fixture(params=["pyarrow", "duckdb"])
def shop(request, tmp_path):
    """Open a fresh lake, once for each kernel."""
    with mere.connect(tmp_path / "shop.db", kernel=request.param) as lake:
        yield lake


def filled(lake, name, mode):
    table = lake.create_table(
        name, COLUMNS, partition_by=["part"], properties={"mere_write_mode": mode}
    )
    table.set_option("parquet_row_group_size", 2048)
    for start in (0, 5000):
        numbers = range(start, start + 5000)
        columns = {"id": numbers, "part": ["ab"[n % 2] for n in numbers]}
        table.append({**columns, "v": [n / 2 for n in numbers], "s": [f"s{n}" for n in numbers]})
    return table


CHANGES = (
    lambda t: t.delete("id % 1000 = 7"),
    lambda t: t.update({"v": "v + 1"}, where="id BETWEEN 4990 AND 5010"),
    lambda t: t.update({"part": mere.lit("c"), "s": "upper(s)"}, where="id < 5"),
    lambda t: t.upsert([{"id": 3, "v": None}, {"id": 8000, "v": 0.0}, {"id": -1}], on="id"),
    lambda t: t.append([{"id": 9999, "part": "a"}, {"id": 4995, "part": "b"}]),
    lambda t: t.deduplicate("id", keep="last"),
    lambda t: t.evolve().add_column("more", "int64", default=1).drop_column("s").commit(),
    lambda t: (
        t.merge([{"id": 10, "v": -1.0}, {"id": 12, "v": 0.0}], on="id")
        .when_matched_delete(when="source.v < 0")
        .when_matched_update({"v": "source.v", "more": "target.more + 1"})
        .run()
    ),
    lambda t: t.delete("id > 5000 AND part = 'a'"),
    lambda t: t.update({"v": "v"}, where="id IN (20, 6001)"),
    lambda t: t.delete("id % 2 = 1 AND id > 100"),
)


def told(table, since, until):
    found = table.changes(since, until).to_pylist()
    for row in found:
        row.pop("snapshot_id")
    return sorted(map(repr, found))


def test_versions_changes_and_row_ids_are_those_of_merge_on_read(shop):
    one = filled(shop, "one", "copy-on-write")
    other = filled(shop, "other", "merge-on-read")
    versions = []
    for change in CHANGES:
        first = change(one)
        second = change(other)
        if first is not None:
            assert first.rows_updated == second.rows_updated
            assert first.rows_deleted == second.rows_deleted
            assert first.rows_after == second.rows_after
        versions.append((one.version - 1, one.version))
    assert set(one.files()["deletes"].to_pylist()) == {0}
    assert max(other.files()["deletes"].to_pylist()) > 0
    for place, (mine, theirs) in enumerate(versions):
        now, then = one.scan(version=mine).to_arrow(), other.scan(version=theirs).to_arrow()
        assert sorted(map(repr, now.to_pylist())) == sorted(map(repr, then.to_pylist())), place
        assert told(one, mine, mine) == told(other, theirs, theirs), place
        assert told(one, mine, versions[-1][0]) == told(other, theirs, versions[-1][1]), place


def test_rows_that_were_not_touched_are_silent_and_stay_in_their_order(shop):
    table = filled(shop, "t", "copy-on-write")
    where = "part = 'a' AND id < 5000"
    before = table.scan(where=where).to_arrow()["id"].to_pylist()
    report = table.update({"v": "0"}, where="id = 100")
    assert report.plan.startswith("copy-on-write")
    assert (report.files_added, report.files_removed, report.rows_updated) == (1, 1, 1)
    assert table.scan(where=where).to_arrow()["id"].to_pylist() == before
    assert [row["change_type"] for row in table.changes(report.version).to_pylist()] == [
        "update_preimage",
        "update_postimage",
    ]


def test_a_restore_brings_back_rows_and_tells_of_them(shop):
    table = filled(shop, "t", "copy-on-write")
    start = table.version
    table.delete("id = 1")
    middle = table.version
    table.delete("id < 50")
    back = table.restore(version=middle)
    told = table.changes(back.version)["change_type"].to_pylist()
    assert (table.count(), told.count("insert"), told.count("delete")) == (9999, 49, 0)
    table.update({"v": "0"}, where="id = 100")
    assert len(table.changes(table.version)) == 2
    table.delete("true")
    whole = table.restore(version=start)
    assert (table.count(), len(table.changes(whole.version))) == (10_000, 10_000)
    assert set(table.changes(whole.version)["change_type"].to_pylist()) == {"insert"}


def test_a_dry_run_writes_nothing_and_files_that_go_are_not_opened(shop, tmp_path):
    table = filled(shop, "t", "copy-on-write")
    lying = sorted(tmp_path.rglob("*.parquet"))
    assert table.update({"v": "0"}, where="id = 7", dry_run=True).rows_updated == 1
    assert table.delete("id = 7", dry_run=True).rows_deleted == 1
    assert table.delete("part = 'a'").rows_deleted == 5000
    assert sorted(tmp_path.rglob("*.parquet")) == lying


def test_a_change_that_fails_leaves_no_copy_behind(shop, tmp_path):
    table = filled(shop, "t", "copy-on-write")
    table.evolve().add_check("small", "v < 10000").commit()
    lying = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(mere.SchemaMismatchError, match="small"):
        table.update({"v": "v + 9000"}, where="id > 3000")
    assert sorted(tmp_path.rglob("*.parquet")) == lying


def test_what_others_delete_from_a_copied_file_is_not_lost(shop, meanwhile):
    table = filled(shop, "t", "copy-on-write")
    meanwhile(
        lambda: table.delete("id = 11"),
        lambda: table.append([{"id": 3, "part": "z"}]),
    )
    report = table.update({"v": "-1"}, where="id IN (3, 11, 13)")
    assert (report.rows_updated, report.retries) == (3, 2)
    assert table.count("v = -1") == 3
    assert table.count() == 10_000


def test_the_mode_is_one_of_two(shop):
    table = filled(shop, "t", "merge-on-read")
    with pytest.raises(InvalidInputError, match="mere_write_mode"):
        table.set_option("mere_write_mode", "sometimes")
    table.delete("id = 1")
    table.set_option("mere_write_mode", "copy-on-write")
    table.delete("id = 3")
    assert sorted(table.files()["deletes"].to_pylist()) == [0, 0, 0, 0]
    assert table.count() == 9998
