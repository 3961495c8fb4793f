"""Which files of others are loaded, and in which commits."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mere.errors import InvalidInputError, SchemaMismatchError
from mere.model.loading import Form, Ingested, Loaded, Source, format_of
from mere.model.schema import Field, Schema
from mere.plan.loading import MOST_FILES, joined, pack, triage

sources = st.lists(
    st.builds(
        Source,
        path=st.text("ab/", min_size=1, max_size=4),
        bytes=st.integers(0, 100),
        mark=st.sampled_from(["1", "2"]),
        format=st.just("csv"),
    ),
    unique_by=lambda source: source.path,
)


@given(found=sources, most=st.integers(1, 150))
def test_every_file_is_in_one_run_in_order_and_runs_are_bounded(found, most):
    runs = pack(found, most_bytes=most)
    assert [source for run in runs for source in run] == found
    for run in runs:
        assert len(run) == 1 or sum(source.bytes for source in run) <= most


def test_a_run_holds_so_many_files_at_most():
    one = Source(path="a", bytes=0, mark="1", format="csv")
    assert [len(run) for run in pack([one] * (MOST_FILES + 1), most_bytes=1)] == [MOST_FILES, 1]


@given(found=sources, data=st.data())
def test_new_changed_and_loaded_files_are_told_apart(found, data):
    known = {
        source.path: Loaded(
            path=source.path,
            bytes=source.bytes + data.draw(st.integers(0, 1)),
            mark=data.draw(st.sampled_from(["1", "2"])),
            load="x",
            snapshot=1,
        )
        for source in found
        if data.draw(st.booleans())
    }
    left = triage(found, known, changed="report")
    again = triage(found, known, changed="load")
    assert {s.path for s in left.load} == {s.path for s in found} - known.keys()
    assert len(left.load) + len(left.changed) + left.skipped == len(found)
    assert {s.path for s in again.load} == {s.path for s in (*left.load, *left.changed)}
    assert [s.path for s in again.load] == sorted(s.path for s in again.load)
    assert {s.known for s in again.load} <= {None, "x"}
    if left.changed:
        with pytest.raises(InvalidInputError):
            triage(found, known, changed="error")


def schema(**columns):
    return Schema(fields=tuple(Field(name=name, type=kind) for name, kind in columns.items()))


def test_guessed_numbers_give_way_and_stored_ones_do_not():
    whole, broken = schema(a="int64"), schema(a="float64", b="date")
    assert joined(whole, broken, guessed=True) == broken
    assert joined(broken, whole, guessed=True) == broken
    with pytest.raises(SchemaMismatchError):
        joined(whole, broken, guessed=False)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("a/b.CSV", ("csv", None)),
        ("b.ndjson.gz", ("json", "gzip")),
        ("c.csv/b", (None, None)),
        ("b.pq", ("parquet", None)),
        (".gz", (None, "gzip")),
        ("b.txt.zst", (None, "zstd")),
    ],
)
def test_names_tell_formats(path, told):
    assert format_of(path) == told


def test_options_of_csv_are_read_from_text_too():
    form = Form.of({"delimiter": "\\t", "header": "no", "null": "NA", "skip_rows": "2"})
    assert form == Form(delimiter="\t", header=False, null=("NA",), skip_rows=2)


def test_what_was_loaded_is_told_in_words_and_as_a_mapping():
    done = Ingested(table="main.t", sources=("a",), bytes=1000, rows=3, versions=(7,), skipped=2)
    assert str(done) == (
        "loaded 1 file(s) of 1,000 bytes into main.t: 3 rows in 1 commit(s); "
        "2 had been loaded before"
    )
    assert replace(done, dry_run=True).as_dict()["dry_run"] is True
