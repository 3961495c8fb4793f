"""Which files new files replace."""

import pytest

from mere.errors import InvalidInputError, UnsupportedError
from mere.model.files import Bounds, DataFile, FileSet
from mere.model.history import Head
from mere.model.layout import Layout, PartitionKey
from mere.model.predicate import bind, col
from mere.model.schema import from_mapping, number
from mere.plan.overwrite import check_partitions, plan_overwrite

SCHEMA = number(from_mapping({"p": "varchar", "x": "int64"}))
HEAD = Head(
    snapshot=1,
    schema_version=1,
    table_id=1,
    uuid="u",
    namespace="main",
    name="t",
    folder="main/t/",
    schema=SCHEMA,
    layout=Layout(id=5, keys=(PartitionKey(column=1),)),
)
WHERE = bind(col("x") < 10, SCHEMA)


def file(number_, p, low=0, high=9, partition_id=5):
    bounds = {
        1: Bounds(minimum=p, maximum=p, nulls=0, values=3),
        2: Bounds(minimum=low, maximum=high, nulls=0, values=3),
    }
    return DataFile(
        path=f"{number_}.parquet",
        bytes=100,
        rows=3,
        id=number_,
        partition_id=partition_id,
        partition=(p,),
        bounds=bounds,
    )


def found(*files, certain=()):
    return FileSet(
        files=files,
        total_files=len(files),
        total_rows=0,
        total_bytes=0,
        certain=frozenset(certain),
    )


def test_everything_goes_unless_said_otherwise():
    gone = plan_overwrite(HEAD, found(file(1, "a"), file(2, "b")), adds=())
    assert (len(gone.files), gone.rows, gone.bytes) == (2, 6, 200)


def test_only_partitions_that_come_go():
    files = found(file(1, "a"), file(2, "b"), file(3, "b"))
    gone = plan_overwrite(HEAD, files, adds=(file(9, "b"),), partitions="dynamic")
    assert [f.id for f in gone.files] == [2, 3]


def test_files_under_other_partitions_cannot_be_told_apart():
    files = found(file(1, "a", partition_id=4))
    with pytest.raises(UnsupportedError, match=r"1\.parquet"):
        plan_overwrite(HEAD, files, adds=(file(9, "a"),), partitions="dynamic")


@pytest.mark.parametrize(("partitions", "where"), [("static", None), ("dynamic", WHERE)])
def test_ways_that_make_no_sense_are_refused(partitions, where):
    with pytest.raises(InvalidInputError, match="partitions takes 'dynamic'"):
        check_partitions(HEAD, partitions, where=where)
