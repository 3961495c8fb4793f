"""What was read lately is at hand again, and memory stays bounded."""

from mere.reading.remembering import Recent


def test_what_was_asked_for_longest_ago_is_forgotten_first():
    recent: Recent[bytes] = Recent(10, len)
    recent.put("a", b"12345")
    recent.put("b", b"12345")
    assert recent.get("a") == b"12345"
    recent.put("c", b"1")
    assert [recent.get(name) for name in "abc"] == [b"12345", None, b"1"]


def test_a_value_takes_the_place_of_the_one_before_it():
    recent: Recent[bytes] = Recent(10, len)
    recent.put("a", b"123456")
    recent.put("a", b"1234")
    recent.put("b", b"123456")
    assert [recent.get(name) for name in "ab"] == [b"1234", b"123456"]


def test_what_is_too_large_is_handed_back_and_not_kept():
    recent: Recent[bytes] = Recent(3, len)
    recent.put("a", b"123")
    assert recent.put("b", b"1234") == b"1234"
    assert [recent.get(name) for name in "ab"] == [b"123", None]
