"""What expires and is swept here is what the reference does: both read all that is left."""

from pathlib import Path

import pytest
from tests import jobs

import mere
from mere.errors import InvalidInputError, NotFoundError, SnapshotNotFoundError
from mere.model.history import At, Change, DropTable
from mere.ports import ReplanNeeded


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def place(request, tmp_path):
    """Return (URL for mere, name for DuckDB) of a fresh lake on each catalog."""
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/x.db", f"sqlite:{tmp_path / 'x.db'}"
    if request.param == "duckdb":
        return f"duckdb://{tmp_path}/x.ducklake", str(tmp_path / "x.ducklake")
    url = request.getfixturevalue("pg_url")
    return url, f"postgres:{url}"


@pytest.fixture
def lake(place, tmp_path):
    """Open a lake with a history: appends, overwrites, a dropped table, a dropped schema."""
    with mere.connect(place[0], data_path=tmp_path / "files") as opened:
        table = opened.create_table("a", jobs.COLUMNS, partition_by=["part"])
        table.append(jobs.rows(1, 2, 3, 4))
        table.overwrite(jobs.rows(5), partitions="dynamic")
        opened.create_schema("s")
        opened.create_table("s.gone", jobs.COLUMNS, sort_by=["id"]).append(jobs.rows(9))
        opened.drop_table("s.gone")
        opened.drop_schema("s")
        table.overwrite(jobs.rows(7, 8))
        table.append(jobs.rows(10))
        yield opened


QUERY = "SELECT id, part, text FROM a{} ORDER BY id"


def versions(lake):
    return lake.snapshots()["version"].to_pylist()


def seen_here(lake):
    found = {}
    for version in versions(lake):
        if ("main", "a") in lake._session.catalog.tables(At(version=version)):  # noqa: SLF001
            rows = lake.table("a").scan(version=version).to_arrow().to_pylist()
            found[version] = sorted((r["id"], r["part"], r["text"]) for r in rows)
    return found


def seen_there(oracle, name, known):
    con = oracle(name)
    found = {v: con.execute(QUERY.format(f" AT (VERSION => {v})")).fetchall() for v in known}
    con.close()
    return found


def files(lake):
    return sorted(p.name for p in Path(lake.data_path).rglob("*.parquet"))


def test_every_version_that_stays_reads_as_before_here_and_there(lake, place, oracle):
    before = seen_here(lake)
    lake.tag("first", version=2)
    done = lake.expire(0, keep_last=2)
    assert versions(lake) == [2, *list(before)[-2:]]
    left = seen_here(lake)
    assert left == {version: before[version] for version in left}
    lake.close()
    assert seen_there(oracle, place[1], left) == left
    assert done.files
    swept = lake.vacuum(0)
    assert set(swept.paths) == set(done.paths)
    assert seen_here(lake) == left
    lake.close()
    assert seen_there(oracle, place[1], left) == left


def test_the_reference_cleans_up_what_expired_here(lake, place, oracle):
    done = lake.expire(0)
    left, count = seen_here(lake), len(files(lake))
    lake.close()
    con = oracle(place[1])
    con.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    orphans = con.execute(
        "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)"
    ).fetchall()
    con.close()
    assert orphans == []
    assert len(files(lake)) == count - len(done.files)
    assert seen_here(lake) == left
    assert seen_there(oracle, place[1], left) == left


def test_what_expired_there_is_swept_here_and_the_same_rows_stay(lake, place, oracle):
    twin = lake.expire(0, dry_run=True)
    lake.close()
    con = oracle(place[1])
    con.execute("CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 DAY)")
    con.close()
    assert versions(lake) == [max(twin.versions) + 1]
    left = seen_here(lake)
    swept = lake.vacuum(0)
    assert set(swept.paths) == set(twin.paths)
    assert seen_here(lake) == left
    lake.close()
    assert seen_there(oracle, place[1], left) == left


def test_deletes_made_there_expire_here(lake, place, oracle):
    lake.close()
    con = oracle(place[1])
    con.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    con.execute("DELETE FROM a WHERE id = 7")
    con.execute("INSERT INTO a VALUES (20, 0, 'y')")
    con.execute("DELETE FROM a")
    con.execute("INSERT INTO a VALUES (21, 1, 'z')")
    con.close()
    lake.expire(0)
    left = seen_here(lake)
    assert left == {versions(lake)[0]: [(21, 1, "z")]}
    lake.vacuum(0)
    assert len(files(lake)) == 1
    lake.close()
    assert seen_there(oracle, place[1], left) == left


def test_a_dry_run_changes_nothing_and_says_what_would_go(lake):
    before, there = versions(lake), files(lake)
    would = lake.expire(0, dry_run=True)
    assert would.dry_run
    assert versions(lake) == before
    done = lake.expire(0)
    assert (would.versions, set(would.paths)) == (done.versions, set(done.paths))
    listed = lake.vacuum(0, dry_run=True)
    assert files(lake) == there
    assert lake.vacuum(0).paths == listed.paths
    assert listed.bytes > 0


def test_a_scan_is_not_pulled_from_under_a_reader_within_the_grace_time(lake):
    scan = lake.table("a").scan(version=2)
    lake.expire(0)
    assert lake.vacuum("1 hour").files == ()
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]
    assert lake.vacuum(0).files


def test_a_file_that_is_listed_stays_although_another_client_scheduled_it(lake):
    catalog = lake._session.catalog  # noqa: SLF001
    left = seen_here(lake)
    path = lake.table("a").files()["path"][0].as_py()
    old = "2020-01-01 00:00:00+00"
    with catalog._dialect.writing() as link:  # noqa: SLF001
        spelled = [path, "./" + path, path.replace("/", "//", 1)]
        rows = [(1000 + n, text, True, old) for n, text in enumerate(spelled)]
        rows.append((2000, lake.data_path + path, False, old))
        link.insert("ducklake_files_scheduled_for_deletion", rows)
    assert lake.vacuum(0).files == ()
    assert seen_here(lake) == left


def test_versions_that_expired_are_named_as_missing(lake):
    lake.tag("kept", version=2)
    lake.expire(0)
    assert lake.table("a").count(tag="kept") == 4
    with pytest.raises(SnapshotNotFoundError, match="no snapshot version 3"):
        lake.table("a").scan(version=3)
    lake.untag("kept")
    assert lake.expire(0).versions == (2,)
    with pytest.raises(NotFoundError, match="no tag 'kept'"):
        lake.untag("kept")


@pytest.mark.usefixtures("lake")
def test_a_reader_of_a_lake_cannot_clear_it(place):
    with mere.connect(place[0], read_only=True) as reader:
        for act in (reader.expire, reader.vacuum, lambda: reader.tag("x")):
            with pytest.raises(InvalidInputError, match="read_only"):
                act()


def test_a_change_planned_on_a_version_that_expired_is_planned_again(lake):
    catalog = lake._session.catalog  # noqa: SLF001
    head = catalog.head("a")
    lake.table("a").overwrite(jobs.rows(40))
    lake.table("a").append(jobs.rows(41))
    lake.expire(0)
    with pytest.raises(ReplanNeeded):
        catalog.commit(Change(base=head.snapshot, edits=(DropTable(table_id=head.table_id),)))
