"""Which versions may expire, and which files may go."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mere.errors import InvalidInputError
from mere.model.clearing import Announcement, Cleared, Doomed, Scheduled
from mere.model.durations import seconds
from mere.model.files import StoredFile
from mere.model.history import Snapshot
from mere.plan.clearing import Known, expired, sweep

NOW = datetime(2026, 11, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
WRITER = "0123456789abcdef"


def snapshots(count):
    return [Snapshot(id=n, at=NOW - HOUR * (count - n), schema_version=0) for n in range(count)]


@given(
    count=st.integers(1, 20),
    keep=st.integers(1, 25),
    tagged=st.sets(st.integers(0, 20)),
    hours=st.integers(0, 25),
)
def test_the_newest_the_young_the_tagged_and_the_last_stay(count, keep, tagged, hours):
    before = NOW - HOUR * hours
    gone = expired(snapshots(count), tagged=tagged, before=before, keep_last=keep)
    assert count - 1 not in gone
    assert not tagged & set(gone)
    assert set(gone) <= set(range(max(count - keep, 0)))
    expected = {n for n in range(count - keep) if NOW - HOUR * (count - n) < before}
    assert set(gone) == expected - tagged


def file(path, age=5):
    return StoredFile(path=path, bytes=7, modified=NOW - HOUR * age)


def swept(*files, dead=(), state="open", waits=None, listed=(), names=()):
    writer = Announcement(id=WRITER, at=NOW - HOUR, host="h", pid=1, state=state)
    scheduled = {} if waits is None else {files[0].path: waits}
    known = Known(
        listed=frozenset(listed),
        names=frozenset(names),
        scheduled=scheduled,
        writers={WRITER: writer},
    )
    return sweep(files, known, dead=dead, before=NOW - HOUR * 2)


OURS = f"t/0190-{WRITER}.parquet"


def test_what_is_listed_stays_whatever_else_is_true_of_it():
    assert swept(file(OURS), dead={WRITER}, listed=[OURS]).files == ()
    assert swept(file(OURS), dead={WRITER}, names=[OURS[2:]]).files == ()


def test_files_of_a_dead_writer_go_however_young_they_are():
    result = swept(file(OURS, age=0), dead={WRITER})
    assert result.files == (Doomed(path=OURS, bytes=7, reason="crashed"),)
    assert result.revoked == (WRITER,)


def test_files_of_a_living_writer_stay_however_old_they_are():
    result = swept(file(OURS, age=1000))
    assert (result.files, result.revoked, result.waiting) == ((), (), 1)


def test_files_of_a_revoked_writer_go():
    assert [f.reason for f in swept(file(OURS, age=0), state="revoked").files] == ["crashed"]


@pytest.mark.parametrize(("age", "goes"), [(3, True), (1, False)])
def test_files_that_nobody_knows_go_when_they_are_old(age, goes):
    result = swept(file("t/x.parquet", age))
    assert [f.reason for f in result.files] == ["unlisted"] * goes
    assert result.waiting == (not goes)


def test_what_is_no_parquet_file_stays():
    assert swept(file("t/lake.db"), file("t/x.parquet.tmp"), file("t/y.PARQUET")).files == ()


@pytest.mark.parametrize(("age", "goes"), [(3, True), (1, False)])
def test_expired_files_go_when_their_grace_is_over(age, goes):
    waits = Scheduled(id=1, path=OURS, since=NOW - HOUR * age)
    result = swept(file(OURS), waits=waits, dead={WRITER})
    assert [f.reason for f in result.files] == ["expired"] * goes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 days", 604800),
        ("1 day", 86400),
        ("1h 30min", 5400),
        ("90 s", 90),
        ("2 weeks", 1209600),
        (0, 0),
        (1.5, 1.5),
        (timedelta(hours=1), 3600),
    ],
)
def test_lengths_of_time_are_read(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "wrong", ["", "soon", "7", "7 fortnights", -1, "1 day ago", True, "-1 day"]
)
def test_what_is_no_length_of_time_is_refused(wrong):
    with pytest.raises(InvalidInputError, match="length of time"):
        seconds(wrong)


def test_what_was_cleared_adds_up():
    cleared = Cleared(
        operation="vacuum",
        dry_run=True,
        files=(
            Doomed(path="a", bytes=1, reason="expired"),
            Doomed(path="b", bytes=2, reason="crashed"),
        ),
    )
    assert (cleared.bytes, cleared.paths) == (3, ("a", "b"))
    assert cleared.as_dict()["bytes"] == 3
    assert "would clear" in str(cleared)
