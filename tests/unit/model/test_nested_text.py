import pytest

from mere.model.nested_text import read_nested
from mere.model.schema import Field

NUMBER = Field(name="n", type="int64")
TEXT = Field(name="s", type="varchar")
ITEMS = Field(name="l", type="list", children=(TEXT,))
PAIRS = Field(name="m", type="map", children=(TEXT, NUMBER))
BOTH = Field(name="b", type="struct", children=(TEXT, ITEMS, NUMBER))


def test_items_are_quoted_only_where_they_must_be():
    text = "[a, 'b, c', '', NULL, 'NULL', '\"', 'it\\'s', a\\b, \\x00]"
    expected = ["a", "b, c", "", None, "NULL", '"', "it's", "a\\b", "\\x00"]
    assert read_nested(text, ITEMS, literal=True) == expected


def test_parts_of_a_struct_outside_of_lists_are_literals():
    text = "{'a': 'it''s a\\', 'l': ['it\\'s'], 'n': CAST('5' AS DECIMAL(3, 0))}"
    assert read_nested(text, BOTH, literal=True) == ["it's a\\", ["it's"], "5"]


def test_pairs_of_a_map_keep_their_order():
    text = "{b=1, 'a=b'=NULL, ''=3}"
    assert read_nested(text, PAIRS, literal=True) == [("b", "1"), ("a=b", None), ("", "3")]


def test_nothing_is_a_value_too():
    assert read_nested("[]", ITEMS, literal=True) == []
    assert read_nested("{}", PAIRS, literal=False) == []
    assert read_nested("NULL", BOTH, literal=False) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a", "','"),
        ("['a", "a closing quote"),
        ("[a] b", "the end, found|the end at"),
        ("x", r"'\['"),
    ],
)
def test_a_text_that_breaks_off_says_where(text, said):
    with pytest.raises(ValueError, match=said):
        read_nested(text, ITEMS, literal=False)
