"""Others commit between the look at a table and that at its files: no row is lost or doubled."""

from dataclasses import replace
from typing import Any

import pytest
from tests import jobs

import mere
from mere.lake import Lake


class _Late:
    """A catalog before whose first listing of files something else happens."""

    def __init__(self, behind: Any, before: Any) -> None:
        self.behind = behind
        self.before = before

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)

    def files(self, *asked: Any, **more: Any) -> Any:
        before, self.before = self.before, lambda: None
        before()
        return self.behind.files(*asked, **more)


def late(lake: mere.Lake, before: Any) -> mere.Table:
    session = lake._session  # noqa: SLF001  a part is swapped
    catalog: Any = _Late(session.catalog, before)
    return Lake(replace(session, catalog=catalog)).table("a")


@pytest.fixture
def lake(tmp_path):
    """Hand out a lake with a file of ten rows, of which one is deleted already."""
    with mere.connect(tmp_path / "lake.db") as lake:
        table = lake.create_table("a", jobs.COLUMNS)
        table.append(jobs.rows(*range(10)))
        table.delete("id = 0")
        yield lake


def delete(table: mere.Table) -> mere.Report:
    return table.delete("id IN (1, 2)")


def update(table: mere.Table) -> mere.Report:
    return table.update({"text": mere.lit("new")}, where="id IN (1, 2)")


def upsert(table: mere.Table) -> mere.Report:
    return table.merge(jobs.rows(1, 2), on="id").when_matched_update({"text": "'new'"}).run()


def deduplicate(table: mere.Table) -> mere.Report:
    return table.deduplicate("part", order_by="id")


@pytest.mark.parametrize("verb", [delete, update, upsert, deduplicate])
def test_a_row_that_went_meanwhile_stays_away_and_is_not_counted(lake, verb):
    report = verb(late(lake, lambda: lake.table("a").delete("id = 1")))
    left = {row["id"]: row["text"] for row in lake.table("a").scan().to_arrow().to_pylist()}
    assert lake.table("a").count() == len(left)
    if verb is deduplicate:
        assert sorted(left) == [2, 3]
        assert report.rows_deleted == 6
    else:
        assert report.rows_updated + report.rows_deleted == 1
        assert sorted(left) == [*([] if verb is delete else [2]), *range(3, 10)]


def test_rows_that_were_moved_meanwhile_are_changed_once(lake):
    def others() -> None:
        lake.table("a").append(jobs.rows(10, 11))
        lake.table("a").compact()

    report = late(lake, others).update({"text": mere.lit("new")}, where="id >= 9")
    assert report.rows_updated == 3
    rows = lake.table("a").scan("text = 'new'").to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == [9, 10, 11]
    assert lake.table("a").count() == 11
