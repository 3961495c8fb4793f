"""Texts that repeat go from file to file as dictionaries, and nothing else is different for it."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mere
from mere.errors import StorageError
from mere.kernels.pyarrow import PyarrowKernel
from mere.model.files import DataFile
from mere.stores.local import LocalStore


def words(count, start=0, kinds=7):
    return [None if n % 11 == 0 else f"word {(n + start) % kinds:03}" for n in range(count)]


def footers(lake, table):
    for path in table.files()["path"].to_pylist():
        with lake._session.store.open(path) as source:  # noqa: SLF001  the bytes themselves
            yield pq.read_metadata(source)


def encodings(lake, table, name):
    found = []
    for footer in footers(lake, table):
        group = footer.row_group(0)
        chunks = (group.column(place) for place in range(footer.num_columns))
        found += [c.encodings for c in chunks if c.path_in_schema == name]
    return found


def bounds_of(file: DataFile):
    return {k: (b.minimum, b.maximum, b.nulls, b.values) for k, b in file.bounds.items()}


@pytest.fixture
def changed(tmp_path):
    """Make a lake whose files hold a text under two names, as a dictionary, plainly, or not."""
    with mere.connect(tmp_path / "x.db", kernel="pyarrow") as lake:
        table = lake.create_table("t", {"i": "int64", "s": "varchar"})
        table.append(pa.table({"i": range(1000), "s": words(1000)}))
        table.append(pa.table({"i": [5000, 5001], "s": ["plain", None]}))
        table.append(pa.table({"i": range(9000, 9900), "s": [f"own {n}" for n in range(900)]}))
        table.delete("s = 'word 004'")
        table.evolve().rename_column("s", "t").add_column("s", "varchar", default="old").commit()
        table.append(pa.table({"i": range(2000, 3000), "t": words(1000, 3), "s": words(1000, 5)}))
        table.evolve().rename_column("t", "u").commit()
        table.append(pa.table({"i": range(3000, 4000), "u": words(1000, 2), "s": words(1000, 1)}))
        swap = table.evolve().rename_column("s", "x").rename_column("i", "s")
        swap.rename_column("x", "i").commit()
        table.append(pa.table({"s": range(4000, 4900), "u": words(900, 2), "i": words(900, 1)}))
        yield lake


@pytest.mark.parametrize("expired", [False, True])
def test_texts_of_any_file_are_merged_as_they_are(changed, expired):
    if expired:
        changed.expire(0)
    table, files = changed.table("t"), len(changed.table("t").files())
    before = table.scan().to_arrow().sort_by("s")
    report = table.compact()
    assert (report.files_added < files, report.files_added) == (True, 1 if expired else 2)
    assert table.scan().to_arrow().sort_by("s") == before
    assert changed.doctor(deep=True).healthy
    found = [encodings(changed, table, name) for name in ("i", "s", "u")]
    assert "RLE_DICTIONARY" in str(found)


def test_bounds_and_rows_are_those_of_the_other_kernel(tmp_path):
    told = []
    for kernel in ("pyarrow", "duckdb"):
        with mere.connect(tmp_path / f"{kernel}.db") as lake:
            columns = {"i": "int64", "s": "varchar", "f": "float64", "n": "varchar"}
            table = lake.create_table("t", columns)
            for n in range(4):
                s = words(700, n, kinds=5 + n)
                full = [word or "word 001" for word in s]
                rows = {"i": range(700), "s": s, "f": np.arange(700) / 7, "n": full}
                table.append(pa.table(rows))
            table.delete("s = 'word 000'")
            lake.expire(0)
            report = lake.on(kernel=kernel).table("t").compact()
            (file,) = report.files
            told.append((bounds_of(file), file.rows, table.scan().to_arrow().to_pylist()))
            assert file.bounds[2].minimum == "word 001"  # not what only deleted rows held
            assert file.bounds[4].minimum == "word 001"
    assert told[0] == told[1]


def test_a_dictionary_as_long_as_the_column_is_given_up(tmp_path):
    with mere.connect(tmp_path / "x.db", kernel="pyarrow") as lake:
        table = lake.create_table("t", {"s": "varchar", "r": "varchar"})
        for n in range(3):
            own = [f"{n} of {row // 3}" for row in range(900)]
            table.append(pa.table({"s": own, "r": words(900, n)}))
        assert all("RLE_DICTIONARY" in found for found in encodings(lake, table, "s"))
        table.append(pa.table({"s": [f"own {row}" for row in range(9000)], "r": words(9000)}))
        rows = table.scan().to_arrow()
        table.compact()
        assert encodings(lake, table, "r")[0][-1] == "RLE_DICTIONARY"
        assert "RLE_DICTIONARY" not in encodings(lake, table, "s")[0]
        assert table.scan().to_arrow() == rows


def test_row_groups_are_filled_in_order_and_cut_where_memory_ends(tmp_path):
    with mere.connect(tmp_path / "x.db", kernel="pyarrow") as lake:
        table = lake.create_table("t", {"i": "int64", "s": "varchar"})
        table.set_option("parquet_row_group_size", 1000)
        for n in range(5):
            table.append(pa.table({"i": range(700 * n, 700 * n + 700), "s": words(700, n)}))
        table.compact()
        assert table.row_groups()["rows"].to_pylist() == [1000, 1000, 1000, 500]
        assert table.scan().to_arrow()["i"].to_pylist() == list(range(3500))
        wide = lake.create_table("wide", {"i": "int64", "s": "varchar"})
        for n in range(4):
            texts = [f"{n}-{row}-" + "x" * 500 for row in range(1000)]
            wide.append(pa.table({"i": range(1000 * n, 1000 * n + 1000), "s": texts}))
        lake.on(workers=1).table("wide").compact(memory_mb=1)
        assert len(wide.row_groups()) > 4
        assert wide.scan().to_arrow()["i"].to_pylist() == list(range(4000))


class Full(LocalStore):
    """A store in which no file can be finished."""

    def writer(self, path):
        del path
        msg = "no room is left"
        raise StorageError(msg)


def test_a_store_that_is_full_changes_nothing(tmp_path):
    with mere.connect(tmp_path / "x.db", kernel=PyarrowKernel(threads=2)) as lake:
        table = lake.create_table("t", {"s": "varchar"})
        for n in range(3):
            table.append(pa.table({"s": words(500, n)}))
        version = lake.version
        session = lake._session  # noqa: SLF001  one of its roles is exchanged
        object.__setattr__(session, "store", Full(session.store.url))
        with pytest.raises(StorageError, match="no room"):
            table.compact()
        assert lake.version == version
