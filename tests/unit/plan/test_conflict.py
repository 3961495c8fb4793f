from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mere.model.schema import Field, Schema
from mere.plan.conflict import Deed, Kind, Verdict, accepts, judge, kinds_on, parse

WORKS = (Kind.APPEND, Kind.REWRITE, Kind.MUTATE, Kind.DEFINE)
HOUSE = {
    "append": ("replay", "replay", "replay", "replan"),
    "rewrite": ("replay", "trim", "trim", "replan"),
    "mutate": ("replan", "replan", "replan", "replan"),
    "define": ("replay", "replay", "replay", "refuse"),
}
"""What is decided in the worst case: rows do not fit, a file is shared, a new file may match."""


@pytest.mark.parametrize(("mine", "theirs"), list(product(WORKS, WORKS)))
def test_the_worst_case_is_decided_as_the_table_says(mine, theirs):
    assert judge(mine, [theirs]) == HOUSE[mine][WORKS.index(theirs)]


def test_rows_that_still_fit_follow_a_new_definition():
    assert judge(Kind.APPEND, [Kind.DEFINE], fits=True) is Verdict.REPLAY


@pytest.mark.parametrize("theirs", [Kind.REWRITE, Kind.MUTATE])
def test_maintenance_follows_when_no_file_is_shared(theirs):
    assert judge(Kind.REWRITE, [theirs], shared=False) is Verdict.REPLAY


@pytest.mark.parametrize(
    ("theirs", "shared", "may_match", "verdict"),
    [
        (Kind.APPEND, False, False, Verdict.REPLAY),
        (Kind.APPEND, True, False, Verdict.REPLAY),
        (Kind.APPEND, False, True, Verdict.REPLAN),
        (Kind.REWRITE, False, True, Verdict.REPLAY),
        (Kind.REWRITE, True, False, Verdict.REPLAN),
        (Kind.MUTATE, False, False, Verdict.REPLAY),
        (Kind.MUTATE, True, False, Verdict.REPLAN),
        (Kind.MUTATE, False, True, Verdict.REPLAN),
        (Kind.DEFINE, False, False, Verdict.REPLAN),
    ],
)
def test_a_row_change_follows_what_it_would_have_seen_alike(theirs, shared, may_match, verdict):
    assert judge(Kind.MUTATE, [theirs], shared=shared, may_match=may_match) is verdict


@pytest.mark.parametrize("mine", [*WORKS, Kind.DROP])
def test_nothing_follows_a_drop(mine):
    assert judge(mine, [Kind.DROP], fits=True, shared=False, may_match=False) is Verdict.REFUSE


def test_a_drop_follows_rows_but_no_definition():
    assert judge(Kind.DROP, [Kind.APPEND, Kind.MUTATE]) is Verdict.REPLAY
    assert judge(Kind.DROP, [Kind.DEFINE]) is Verdict.REFUSE


def test_of_many_commits_the_gravest_verdict_counts():
    assert judge(Kind.DEFINE, [Kind.APPEND, Kind.DEFINE, Kind.REWRITE]) is Verdict.REFUSE
    assert judge(Kind.REWRITE, [Kind.APPEND, Kind.MUTATE]) is Verdict.TRIM
    assert judge(Kind.APPEND, []) is Verdict.REPLAY


def test_the_text_of_a_commit_is_read():
    text = 'dropped_table:11,created_table:"main"."z",inserted_into_table:12, altered_table:3'
    assert [(deed.kind, deed.table_id, deed.name) for deed in parse(text)] == [
        (Kind.DROP, 11, None),
        (Kind.DEFINE, None, '"main"."z"'),
        (Kind.APPEND, 12, None),
        (Kind.DEFINE, 3, None),
    ]


@pytest.mark.parametrize("text", [None, "", "   "])
def test_no_text_is_no_deed(text):
    assert [deed for deed in parse(text) if deed.table_id is not None] == []


def test_quotes_commas_and_colons_in_names_do_not_confuse():
    deeds = parse('created_table:"a,b"."say ""hi"":1,dropped_table:7",deleted_from_table:5')
    assert [deed.word for deed in deeds] == ["created_table", "deleted_from_table"]
    assert not deeds[0].touches(7)
    assert deeds[1].touches(5)


@pytest.mark.parametrize("text", ["mere_x:1", "inserted_into_table:x", "???", 'created_table:"a'])
def test_what_is_not_known_may_be_about_any_table(text):
    assert kinds_on(parse(text), 42) == {Kind.DEFINE}


@given(
    st.lists(
        st.sampled_from(["inserted_into_table", "deleted_from_table", "merge_adjacent"]).flatmap(
            lambda word: st.integers(0, 9).map(lambda table: (word, table))
        )
    )
)
def test_deeds_touch_exactly_the_tables_that_they_name(entries):
    deeds = parse(",".join(f"{word}:{table}" for word, table in entries))
    assert [(deed.word, deed.table_id) for deed in deeds] == entries
    for table in range(10):
        assert bool(kinds_on(deeds, table)) == any(named == table for _, named in entries)


@given(st.text())
def test_any_text_can_be_read(text):
    assert all(isinstance(deed, Deed) for deed in parse(text))


def schema(*fields):
    return Schema(fields=fields)


ID = Field(name="id", type="int32", id=1)
NAME = Field(name="name", type="varchar", id=2)


@pytest.mark.parametrize(
    "now",
    [
        schema(ID, NAME),
        schema(NAME, ID),
        schema(ID, Field(name="renamed", type="varchar", id=2)),
        schema(Field(name="id", type="int64", id=1), NAME),
        schema(ID, NAME, Field(name="new", type="date", id=3)),
        schema(
            ID,
            NAME,
            Field(name="new", type="date", id=3, nullable=False, initial_default="2024-01-01"),
        ),
    ],
)
def test_rows_fit_a_definition_that_holds_all_they_have(now):
    assert accepts(now, schema(ID, NAME))


@pytest.mark.parametrize(
    "now",
    [
        schema(ID),
        schema(ID, Field(name="name", type="varchar", id=3)),
        schema(ID, Field(name="name", type="blob", id=2)),
        schema(Field(name="id", type="int16", id=1), NAME),
        schema(ID, NAME, Field(name="new", type="date", id=3, nullable=False)),
        schema(ID, Field(name="name", type="varchar", id=2, nullable=False)),
    ],
)
def test_rows_do_not_fit_a_definition_that_would_lose_or_lack_something(now):
    assert not accepts(now, schema(ID, NAME))


def struct(*children):
    return Field(name="s", type="struct", id=1, children=children)


def test_parts_of_a_struct_are_compared_as_columns_are():
    a, b = Field(name="a", type="int32", id=2), Field(name="b", type="int32", id=3)
    assert accepts(schema(struct(a, b)), schema(struct(a)))
    assert not accepts(schema(struct(b)), schema(struct(a)))
    assert not accepts(schema(Field(name="s", type="varchar", id=1)), schema(struct(a)))
