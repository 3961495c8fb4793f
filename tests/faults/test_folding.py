"""Row groups of small commits are folded later: who dies there leaves nothing to repair."""

import signal
import subprocess
import sys
from contextlib import closing

import pytest
from tests.jobs import dialect_of

import mere
from mere.catalogs.segments import FILES

KILLED = """
import os, signal, sys
import mere
from mere.catalogs import recording

def die(*_, **more):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "before":
    recording.fold = die
else:
    put = recording.put
    recording.put = lambda *args, **more: (put(*args, **more), die())
with mere.connect(sys.argv[1]) as lake:
    lake.table("t").append([{"n": 999_999}])
"""


def lying(lake):
    """Count the rows that lie one by one, and those that were folded."""
    with closing(dialect_of(lake.url)) as dialect, dialect.reading() as link:
        tables = ("mere_row_group", "mere_segment")
        return tuple(link.ask(f"SELECT count(*) FROM {name}")[0][0] for name in tables)


@pytest.mark.parametrize("moment", ["before", "inside"])
def test_a_writer_that_is_killed_while_it_folds_has_committed_and_the_next_one_folds(
    tmp_path, moment
):
    with mere.connect(tmp_path / "x.db") as lake:
        table = lake.create_table("t", {"n": "int64"}, partition_by=["n"])
        table.append([{"n": n} for n in range(FILES - 1)])
        assert lying(lake) == (FILES - 1, 0)
    died = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "x.db"), moment], check=False
    )
    assert died.returncode == -signal.SIGKILL
    with mere.connect(tmp_path / "x.db") as lake:
        table = lake.table("t")
        assert lying(lake) == (FILES, 0)
        assert (table.count(), table.count("n = 999999")) == (FILES, 1)
        assert table.row_groups().num_rows == FILES
        assert lake.doctor().healthy
        table.append([{"n": -1}])
        apart, folded = lying(lake)
        assert apart < FILES
        assert folded > 0
        assert table.scan("n = 7").to_arrow().to_pylist() == [{"n": 7}]
        assert table.row_groups().num_rows == FILES + 1
