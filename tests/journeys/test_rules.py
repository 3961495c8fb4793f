"""What a table demands of its rows holds on every way in, and so does what a lake demands."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mere
from mere.errors import InvalidInputError, SchemaMismatchError

COLUMNS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("v", pa.int64()), ("s", pa.string())]
)
NULL = {"id": pa.array([None], pa.int64()), "v": [1]}
LARGE = {"id": [7], "v": [100]}
WAYS = {
    "append NULL": lambda t, _: t.append(NULL),
    "append too large": lambda t, _: t.append(LARGE),
    "append without the column": lambda t, _: t.append({"v": [1]}),
    "overwrite NULL": lambda t, _: t.overwrite(NULL),
    "overwrite too large": lambda t, _: t.overwrite(LARGE),
    "overwrite some": lambda t, _: t.overwrite({"id": [1], "v": [100]}, where="id = 1"),
    "update to NULL": lambda t, _: t.update(set={"id": "NULL"}),
    "update to NULL in places": lambda t, _: t.update(set={"id": "CASE WHEN v > 5 THEN id END"}),
    "update too large": lambda t, _: t.update(set={"v": "v + 95"}),
    "upsert what is there": lambda t, _: t.upsert({"id": [1], "v": [100]}, on="id"),
    "upsert what is new": lambda t, _: t.upsert(LARGE, on="id"),
    "upsert NULL": lambda t, _: t.upsert(NULL, on="id"),
    "merge what is there": lambda t, _: (
        t.merge({"id": [1], "v": [100]}, "id").when_matched_update().run()
    ),
    "merge what is new": lambda t, _: t.merge(LARGE, "id").when_not_matched_insert().run(),
    "merge without the column": lambda t, _: (
        t.merge({"v": [20]}, "v").when_not_matched_insert().run()
    ),
    "ingest": lambda t, place: place[0].ingest(place[1], t.name),
    "adopt": lambda t, place: place[0].adopt(place[1], t.name),
}


@pytest.fixture(params=["pyarrow", "duckdb"])
def lake(request, tmp_path):
    return mere.connect(tmp_path / "l.db", kernel=request.param)


def table(lake):
    made = lake.create_table("t", COLUMNS)
    made.append({"id": [1, 2], "v": [5, 6], "s": ["a", "b"]})
    made.evolve().set_default("s", "x").add_check("small", "v < 100").commit()
    return made


def test_not_null_and_checks_hold_on_every_way_in(lake, tmp_path):
    t, file = table(lake), tmp_path / "in" / "f.parquet"
    file.parent.mkdir()
    pq.write_table(pa.table(LARGE), file)
    before, version = t.scan().to_arrow(), t.version
    for way, change in WAYS.items():
        with pytest.raises(InvalidInputError, match=r"NOT NULL|'small'") as refused:
            change(t, (lake, file.parent))
        assert refused.value.code, way
    with pytest.raises(SchemaMismatchError), lake.transaction() as tx:
        tx.table("t").append(LARGE)
    assert (t.version, t.scan().to_arrow()) == (version, before)


def test_defaults_fill_what_does_not_come_on_every_way_in(lake):
    t = table(lake)
    t.append({"id": [3], "v": [1]})
    t.upsert({"id": [4], "v": [1]}, on="id")
    t.merge({"id": [5], "v": [2]}, "id").when_not_matched_insert().run()
    t.append({"id": [6], "v": pa.array([None], pa.int64()), "s": pa.array([None], pa.string())})
    found = {row["id"]: row["s"] for row in t.scan().to_arrow().to_pylist()}
    assert found == {1: "a", 2: "b", 3: "x", 4: "x", 5: "x", 6: None}


def test_a_lake_can_demand_that_every_change_says_what_it_is(tmp_path, oracle):
    with mere.connect(tmp_path / "l.db") as lake:
        t = lake.create_table("t", {"id": "int64"})
        t.append({"id": [1]})
        t.append({"id": [2]})
        lake.set_option("require_commit_message", value=True)
        for change in (
            lambda: t.append({"id": [3]}),
            lambda: t.delete("id = 1"),
            lambda: lake.create_table("u", {"id": "int64"}),
            lambda: t.evolve().add_column("x", "int64").commit(),
        ):
            with pytest.raises(InvalidInputError, match="require_commit_message"):
                change()
        t.append({"id": [3]}, message="three")
        with lake.transaction("one goes") as tx:
            tx.table("t").delete("id = 1")
        t.compact()
        assert sorted(t.scan().to_arrow().column("id").to_pylist()) == [2, 3]
    assert oracle(f"sqlite:{tmp_path / 'l.db'}").sql("SELECT count(*) FROM t").fetchone() == (2,)
