"""What a verb reports."""

import pickle

import pytest

from mere.model.report import Report

REPORT = Report(operation="append", table="main.t", version=3, after_file_count=2, rows_after=1200)


def test_a_report_is_a_mapping_of_its_canonical_names():
    assert REPORT["after_file_count"] == REPORT.after_file_count == 2
    assert dict(REPORT) == REPORT.as_dict()
    canonical = {
        *("before_file_count", "after_file_count", "before_total_bytes", "after_total_bytes"),
        *("compacted_file_count", "rewritten_bytes", "compression_codec", "dry_run"),
    }
    assert canonical <= set(REPORT)


def test_older_names_are_read_as_aliases():
    assert REPORT["files_after"] == REPORT.files_after == 2
    assert REPORT["bytes_before"] == REPORT.bytes_before == 0
    assert "files_after" not in set(REPORT)


def test_what_does_not_apply_is_left_out():
    assert "zorder_columns" not in dict(REPORT)
    with pytest.raises(KeyError, match="rows_eaten"):
        REPORT["rows_eaten"]


def test_a_printed_report_leaves_out_zeros():
    text = str(REPORT)
    assert text.startswith("append of main.t done at version 3")
    assert "1,200" in text
    assert "rows_deleted" not in text


def test_a_report_travels():
    assert pickle.loads(pickle.dumps(REPORT)) == REPORT  # noqa: S301  our own bytes
