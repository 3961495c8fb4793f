"""A restore touches no more files than it must."""

from dataclasses import replace

from mere.model.files import DataFile, DeleteFile
from mere.plan.restore import hides, plan_restore

FILE = DataFile(path="a", bytes=10, rows=5, id=1, since=1)
DELETES = DeleteFile(path="d", bytes=1, rows=2, since=3, last=3)


def test_a_file_that_both_versions_show_whole_stays():
    files = plan_restore([FILE], [FILE], version=4)
    assert (files.ended, files.back, files.pairs) == ((), (), ())


def test_files_of_one_version_alone_end_or_come_back():
    later = replace(FILE, path="b", id=2)
    files = plan_restore([FILE], [later], version=4)
    assert (files.ended, files.back, files.pairs) == ((later,), (FILE,), ())


def test_a_file_that_lost_rows_or_is_listed_anew_is_looked_into():
    lost, anew = replace(FILE, deletes=DELETES), replace(FILE, id=9)
    for now in (lost, anew, replace(FILE, gone=(1,))):
        assert plan_restore([FILE], [now], version=4).pairs == ((FILE, now),)


def test_a_file_that_also_holds_later_rows_is_looked_into():
    merged = replace(FILE, last=6)
    assert plan_restore([merged], [merged], version=5).pairs == ((merged, merged),)
    assert plan_restore([merged], [merged], version=6).pairs == ()
    assert hides(merged, version=5)
    assert not hides(merged, version=6)
    assert hides(replace(FILE, deletes=DELETES), version=9)
