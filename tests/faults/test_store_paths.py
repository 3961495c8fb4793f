"""No path leaves the root, and no two paths meet, whatever they are made of."""

import os
import re
import string
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from mere.errors import InvalidInputError, StorageError
from mere.stores import from_obstore, open_store
from mere.stores.paths import checked

NASTY = st.sampled_from(
    (
        *("..", ".", "", "...", "~", "%2e%2e", "%2F", "..%2f", "C:", "a", "b", "CON", "-", " "),
        *("a b", "..\\", "\\", "\x00", "\n", "\u2024\u2024", "\uff0e\uff0e", "é", "e\u0301"),
        *("\ud800", "x" * 255, "x" * 256, "file:", "s3:", "a?b", "a#b", "a*", "[a]", "{b}"),
        *("$HOME", "`id`", "'", '"'),
    )
)
SEGMENTS = NASTY | st.text(max_size=20) | st.text(string.ascii_letters + "./\\:%", max_size=12)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=6).map("/".join)


def everything(folder):
    return {
        str((Path(where) / name).relative_to(folder))
        for where, _, names in os.walk(folder)
        for name in names
    }


@given(path=PATHS)
def test_a_path_is_refused_or_stays_below_the_root(path):
    with TemporaryDirectory() as name:
        outside = Path(name)
        (outside / "secret").write_bytes(b"secret")
        store = open_store(str(outside / "root"))
        try:
            store.put(path, b"mine")
        except InvalidInputError:
            assert everything(outside) == {"secret"}
            assert not (outside / "root").exists()
            return
        assert everything(outside) == {"secret", f"root/{path}"}
        assert [file.path for file in store.list()] == [path]
        assert store.read(path) == b"mine"
        assert (outside / "root" / path).read_bytes() == b"mine"


@given(paths=st.lists(PATHS, min_size=2, max_size=8, unique=True))
def test_different_paths_never_meet(paths):
    store = from_obstore(MemoryStore(), "mem://x")
    kept = {}
    for number, path in enumerate(paths):
        try:
            store.put(path, str(number).encode())
        except InvalidInputError:
            continue
        kept[path] = str(number).encode()
    assert {file.path: store.read(file.path) for file in store.list()} == kept


@given(path=PATHS)
def test_what_is_accepted_is_what_a_plain_reading_of_the_rules_accepts(path):
    segments = path.split("/")
    good = (
        not re.match("[A-Za-z]:/", path)
        and not any(segment in {"", ".", ".."} for segment in segments)
        and not any(ord(letter) < 32 or letter in "\\\x7f" for letter in path)
        and not any(0xD800 <= ord(letter) <= 0xDFFF for letter in path)
        and all(len(segment.encode("utf-8", "replace")) <= 255 for segment in segments)
        and len(path.encode("utf-8", "replace")) <= 1024
    )
    try:
        accepted = checked(path) == path
    except InvalidInputError:
        accepted = False
    assert accepted == good


@pytest.fixture
def place(tmp_path):
    """Lay out a root with links in all directions, beside a folder that is none of its business."""
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (root / "inside").mkdir(parents=True)
    (root / "inside" / "file").write_bytes(b"inside")
    (root / "folder-out").symlink_to(outside)
    (root / "file-out").symlink_to(outside / "secret")
    (root / "up").symlink_to("..")
    (root / "chain").symlink_to(root / "folder-out")
    (root / "dangling").symlink_to(outside / "new")
    (root / "to-root").symlink_to(".")
    (root / "within").symlink_to("inside")
    return tmp_path


WAYS_OUT = ["folder-out/x", "folder-out/secret", "file-out", "up/outside/secret", "up/x"]
WAYS_OUT += ["chain/secret", "chain/x", "dangling", "within/../../outside/x", "to-root/up/x"]


@pytest.mark.parametrize("path", WAYS_OUT)
def test_a_link_that_leads_out_is_refused_by_every_call(place, path):
    store = open_store(str(place / "root"))
    calls = (
        lambda: store.put(path, b"x"),
        lambda: store.writer(path).__enter__(),
        lambda: store.delete([path]),
        lambda: store.read(path),
        lambda: store.read_ranges(path, [(0, 1)]),
        lambda: store.open(path),
        lambda: store.size(path),
    )
    for call in calls:
        with pytest.raises(InvalidInputError):
            call()
    assert everything(place / "outside") == {"secret"}
    assert (place / "outside" / "secret").read_bytes() == b"secret"


def test_without_the_guard_a_link_would_lead_out(place):
    assert (place / "root" / "folder-out" / "secret").read_bytes() == b"secret"


def test_links_inside_the_root_and_a_root_that_is_a_link_are_fine(place):
    store = open_store(str(place / "root"))
    assert store.read("within/file") == b"inside"
    store.put("within/new", b"new")
    assert store.read("inside/new") == b"new"
    (place / "alias").symlink_to("root")
    alias = open_store(str(place / "alias"))
    alias.put("inside/third", b"third")
    assert alias.url == f"{place}/alias/"
    assert store.read("inside/third") == b"third"


def test_a_listing_follows_no_link(place):
    store = open_store(str(place / "root"))
    assert [file.path for file in store.list()] == ["inside/file"]
    with pytest.raises(InvalidInputError):
        list(store.list("folder-out"))


def test_opening_and_reading_make_no_root(tmp_path):
    store = open_store(str(tmp_path / "not" / "yet"))
    assert list(store.list()) == []
    store.delete(["never"])
    with pytest.raises(StorageError):
        store.read("a")
    assert not (tmp_path / "not").exists()
    store.put("a/b", b"now")
    assert (tmp_path / "not" / "yet" / "a" / "b").read_bytes() == b"now"


def test_a_root_that_must_exist_is_not_made(tmp_path):
    store = open_store(str(tmp_path / "gone"), create=False)
    with pytest.raises(StorageError, match="does not exist"):
        store.put("a", b"x")
    assert list(tmp_path.iterdir()) == []


def test_files_elsewhere_are_read_by_their_absolute_names_only(tmp_path, s3):
    near = open_store(str(tmp_path / "root"))
    (tmp_path / "own file").write_bytes(b"adopted")
    far = open_store(f"{s3.url}/deep/lake")
    open_store(s3.url).put("adopted", b"from the bucket")
    assert far.read(f"{s3.url}/adopted", 5) == b"the bucket"
    assert near.read(f"{s3.url}/adopted", 5) == b"the bucket"
    assert near.size(f"{s3.url}/adopted") == far.size(f"{s3.url}/adopted") == 15
    for name in (str(tmp_path / "own file"), (tmp_path / "own file").as_uri()):
        assert near.read(name) == far.read(name) == b"adopted"
        assert near.read_ranges(name, [(1, 2)]) == far.read_ranges(name, [(1, 2)]) == [b"do"]
        with near.open(name) as one, far.open(name) as two:
            assert one.read() == two.read() == b"adopted"
        for store in (near, far):
            with pytest.raises(InvalidInputError):
                store.put(name, b"x")
            with pytest.raises(InvalidInputError):
                store.delete([name])
    assert (tmp_path / "own file").read_bytes() == b"adopted"
