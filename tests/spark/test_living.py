"""Deleted rows stay out of Spark, whether a set of bits tells them or a join."""

import pytest
from tests.spark.test_narrowing import files_read
from tests.spark.test_scan import ID, reading, rows, write_deletes

import mere
from mere.spark import living, read
from mere.spark.compiled import CompileFailedError

pytestmark = pytest.mark.spark


@pytest.fixture(params=["bits", "joins"])
def joined(request, monkeypatch):
    """Leave out rows in either way, and tell whether a join must show in the plan."""
    if request.param == "joins":
        monkeypatch.setattr(living, "MOST_DELETED", 0)
    return request.param == "joins"


@pytest.fixture
def table(tmp_path):
    """Return a table of four files of 3,000 rows each, in row groups of 1,000 rows."""
    with mere.connect(tmp_path / "shop.db") as lake:
        made = lake.create_table("t", {"id": "int64", "text": "varchar"})
        made.set_option("parquet_row_group_size", "1000")
        for part in range(4):
            ids = range(3000 * part, 3000 * part + 3000)
            made.append([{"id": i, "text": f"text {i}"} for i in ids])
        yield made


def plan(frame):
    return frame._jdf.queryExecution().optimizedPlan().toString()  # noqa: SLF001  as planned


def ids(frame):
    return sorted(row.id for row in frame.collect())


def expected(table, **at):
    return sorted(table.scan(**at).to_arrow()["id"].to_pylist())


def test_few_deleted_rows_of_some_files_stay_out(spark, table, joined):
    table.delete("id IN (0, 2999, 3000, 7777)")
    frame = table.scan().to_spark(spark)
    assert ("Join" in plan(frame)) is joined
    assert ids(frame) == sorted(set(range(12_000)) - {0, 2999, 3000, 7777})
    assert ids(frame.where("id BETWEEN 2990 AND 3005")) == [*range(2990, 2999), *range(3001, 3006)]


def test_of_a_file_that_is_nearly_empty_the_one_row_is_found(spark, table, joined):
    table.delete("id < 6000 AND id <> 4567")
    frame = table.scan().to_spark(spark)
    assert ("Join" in plan(frame)) is joined
    assert ids(frame) == [4567, *range(6000, 12_000)]
    assert [row.text for row in frame.where("id = 4567").collect()] == ["text 4567"]
    assert frame.where("id = 4566").collect() == []


def test_each_version_shows_what_was_deleted_by_then(spark, table, joined):
    versions = [table.delete(f"id % 10 = {digit}").version for digit in (1, 2, 3)]
    for gone, version in enumerate(versions, start=1):
        frame = table.scan(version=version).to_spark(spark)
        assert ("Join" in plan(frame)) is joined
        found = ids(frame)
        assert found == expected(table, version=version)
        assert len(found) == 12_000 - gone * 1200


def test_rows_of_merged_files_are_deleted_and_seen_as_of_each_version(spark, table, joined):
    old = table.append([{"id": 20_000, "text": None}]).version
    table.append([{"id": 20_001, "text": None}])
    table.compact()
    new = table.delete("id % 4 = 0").version
    for version in (old, new):
        frame = table.scan(version=version).to_spark(spark)
        assert ids(frame) == expected(table, version=version)
    assert ("Join" in plan(frame)) is joined
    assert 20_001 not in ids(table.scan(version=old).to_spark(spark))


def test_filters_of_spark_leave_out_files_that_have_deletions(spark, table, joined):
    table.delete("id % 2 = 0")
    frame = table.scan().to_spark(spark).where("id >= 9000").select("text")
    assert ("Join" in plan(frame)) is joined
    assert files_read(frame) == (5 if joined else 1), "a join reads all four delete files"
    assert len(frame.collect()) == 1500


def test_equal_scans_without_deleted_rows_are_recognised_as_equal(spark, table):
    table.delete("id = 5")
    one, other = (table.scan().to_spark(spark) for _ in range(2))
    assert one.sameSemantics(other)
    table.delete("id = 6")
    assert not one.sameSemantics(table.scan().to_spark(spark))
    assert one.where("id < 10").join(other.where("id < 10"), "id").count() == 9


def test_a_position_that_its_file_does_not_have_deletes_no_row_of_another(spark, write, tmp_path):
    wrong = write_deletes(tmp_path, "wrong.parquet", [1, 3])
    first = write("SELECT range AS id FROM range(3)", "id: 1", "a.parquet", deletes=wrong)
    second = write("SELECT 3 + range AS id FROM range(3)", "id: 1", "b.parquet", deletes=wrong)
    found = read(reading(tmp_path, [first, second], ID, snapshot=9), spark=spark)
    assert rows(found) == [(0,), (2,), (3,), (5,)]


def test_a_spark_that_does_not_take_the_class_joins(spark, table, monkeypatch):
    def refuse(_spark, name):
        raise CompileFailedError(name)

    table.delete("id < 2995")
    monkeypatch.setattr(living, "load_class", refuse)
    frame = table.scan().to_spark(spark)
    assert "Join" in plan(frame)
    assert ids(frame) == list(range(2995, 12_000))
