"""How tables are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mere.errors import InvalidInputError
from mere.model.names import join_name, plain_folder, split_name

PARTS = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("trades", ("main", "trades")),
        ("market.trades", ("market", "trades")),
        ('market."a.b"', ("market", "a.b")),
        ('"say ""hi"""', ("main", 'say "hi"')),
        ("größe", ("main", "größe")),
        ("with space", ("main", "with space")),
    ],
)
def test_names_are_split_at_dots_outside_quotes(text, parts):
    assert split_name(text) == parts


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a.b.c", 'a"b', '"a', "x\0y", "a" * 200])
def test_what_is_no_name_is_refused(text):
    with pytest.raises(InvalidInputError):
        split_name(text)


@given(namespace=PARTS, name=PARTS)
def test_a_joined_name_splits_into_its_parts(namespace, name):
    assert split_name(join_name(namespace, name)) == (namespace, name)


def test_a_folder_takes_a_plain_name_and_a_uuid_for_any_other():
    assert plain_folder("trades_2026", "u") == "trades_2026/"
    assert plain_folder("a/../b", "u") == "u/"
    assert plain_folder("größe", "u") == "u/"
