"""Lakes are opened, made, recognised or refused; what is secret stays so."""

import pickle
import sqlite3
from contextlib import closing

import pytest

from mere.catalogs import duckdb, postgres, sqlite
from mere.errors import CatalogError, InvalidInputError, NotFoundError, UnsupportedError
from mere.testing.lakes import append, create, numbers_in


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def lake(request, tmp_path):
    """Return a function that opens one lake, again and again."""
    if request.param == "postgres":
        url, module = request.getfixturevalue("pg_url"), postgres
    else:
        url, module = str(tmp_path / "lake"), {"sqlite": sqlite, "duckdb": duckdb}[request.param]
    opened = []

    def opening(*, data_path=f"{tmp_path}/files", **options):
        opened.append(module.open_catalog(url, data_path=data_path, **options))
        return opened[-1]

    yield opening
    for catalog in opened:
        catalog.close()


def metadata(catalog, key, value):
    """Write into the lake's own metadata, as another client might have."""
    with catalog._dialect.writing() as link:  # noqa: SLF001  below the catalog
        link.run("drop_lake_option", key=key)
        link.insert("ducklake_metadata", [(key, value, None, None)])


def test_a_lake_remembers_where_its_data_lies(lake, tmp_path):
    assert lake().data_path == f"{tmp_path}/files/"
    assert lake(data_path=None).data_path == f"{tmp_path}/files/"
    assert lake(data_path=f"{tmp_path}/x/../files/").data_path == f"{tmp_path}/files/"
    with pytest.raises(InvalidInputError, match="keeps its data in"):
        lake(data_path=f"{tmp_path}/elsewhere")


def test_nothing_is_made_when_nothing_may_be_made(lake):
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(NotFoundError):
            lake(**options)
    lake()
    assert lake(create=False).snapshot().id == 0


def test_what_is_opened_for_reading_is_only_read(lake):
    create(lake(), "t")
    reader = lake(read_only=True)
    assert reader.tables() == (("main", "t"),)
    for change in (
        lambda: append(reader, "t", 1),
        lambda: reader.announce(1),
        lambda: reader.set_option("target_file_size", "1"),
    ):
        with pytest.raises(InvalidInputError, match="reading only"):
            change()


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [("version", "0.3", "0.3"), ("version", "1.1", "1.1"), ("encrypted", "true", "encrypted")],
)
def test_what_this_version_cannot_handle_is_named(lake, key, value, word):
    metadata(lake(), key, value)
    with pytest.raises(UnsupportedError, match=word):
        lake()


def test_a_lake_of_others_is_read_as_it_is_and_completed_by_the_first_write(lake):
    catalog = lake()
    create(catalog, "t")
    append(catalog, "t", 1)
    with catalog._dialect.writing() as link:  # noqa: SLF001  below the catalog
        for table in ("mere_commit", "mere_intent", "mere_row_group"):
            link.ask(f"DROP TABLE {table}")
    reader = lake(read_only=True)
    head = reader.head("t")
    assert numbers_in(reader, head) == [1]
    assert len(reader.files(head, groups=True).files) == 1
    assert reader.committed("x") is None
    writer = lake()
    append(writer, "t", 2, token="x", intents=(writer.announce(1),))
    assert (numbers_in(writer, writer.head("t")), writer.committed("x")) == ([1, 2], 3)


@pytest.mark.parametrize("lake", ["sqlite", "postgres"], indirect=True)
def test_a_lake_without_our_indexes_answers_alike_and_gets_them_with_a_missing_table(lake):
    catalog = lake()
    create(catalog, "t")
    append(catalog, "t", 1)
    indexes = ("mere_data_file_id", "mere_column")
    with catalog._dialect.writing() as link:  # noqa: SLF001  below the catalog
        for index in indexes:
            link.ask(f"DROP INDEX {index}")
    writer = lake()
    append(writer, "t", 2)
    assert numbers_in(writer, writer.head("t")) == [1, 2]
    with writer._dialect.writing() as link:  # noqa: SLF001  below the catalog
        link.ask("DROP TABLE mere_commit")
    other = lake()
    append(other, "t", 3)
    assert numbers_in(other, other.head("t")) == [1, 2, 3]
    with other._dialect.writing() as link:  # noqa: SLF001  below the catalog
        for index in indexes:
            link.ask(f"DROP INDEX {index}")  # they are there again


def test_a_catalog_is_opened_again_from_its_url_and_not_from_a_pickle(lake):
    catalog = lake()
    assert catalog.url in repr(catalog)
    with pytest.raises(InvalidInputError, match="cannot be pickled"):
        pickle.dumps(catalog)


def test_a_root_with_a_secret_in_it_is_refused(lake):
    for root in ("s3://key:secret@bucket/x", "s3://bucket/x?secret=y"):
        with pytest.raises(InvalidInputError, match="credentials") as caught:
            lake(data_path=root)
        assert "key:secret" not in str(caught.value)


def test_a_password_is_in_no_error_and_no_text(tmp_path):
    secret = "hunter2"  # noqa: S105  what must not show up
    urls = (
        f"postgresql://me:{secret}@127.0.0.1:1/db",
        f"postgresql://127.0.0.1:1/db?user=me&password={secret}",
        f"postgresql://me:{secret}@127.0.0.1:1/db?nonsense={secret}",
        f"postgresql://me:{secret}@[bad/db",
    )
    for url in urls:
        with pytest.raises((CatalogError, InvalidInputError)) as caught:
            postgres.open_catalog(url, data_path=str(tmp_path))
        error: BaseException | None = caught.value
        while error is not None:
            assert secret not in f"{error!r} {error}"
            error = error.__cause__ or error.__context__


def test_a_new_postgres_lake_must_be_told_where_its_data_goes(pg_url):
    with pytest.raises(InvalidInputError, match="where its data goes"):
        postgres.open_catalog(pg_url)


def test_lakes_in_two_schemas_of_one_database_are_two_lakes(pg_url, tmp_path):
    one, two = (
        postgres.open_catalog(pg_url, data_path=str(tmp_path / name), schema=name)
        for name in ("one", 'odd "name"')
    )
    create(one, "t")
    assert (one.tables(), two.tables()) == ((("main", "t"),), ())
    one.close()
    two.close()


@pytest.mark.parametrize("module", [sqlite, duckdb])
def test_a_file_of_another_kind_is_refused_at_once(module, tmp_path):
    (tmp_path / "lake").write_bytes(b"neither of the two, but long enough to look like something")
    with pytest.raises(CatalogError):
        module.open_catalog(tmp_path / "lake")
    assert (tmp_path / "lake").read_bytes().startswith(b"neither")


def test_a_lake_moves_into_a_database_that_holds_other_tables(tmp_path):
    with closing(sqlite3.connect(tmp_path / "shop.db")) as other:
        other.execute("CREATE TABLE customer (id)")
    catalog = sqlite.open_catalog(tmp_path / "shop.db")
    create(catalog, "t")
    assert catalog.data_path == f"{tmp_path}/shop.db.files/"


def test_a_file_that_someone_set_to_wal_stays_so(tmp_path):
    catalog = sqlite.open_catalog(tmp_path / "lake.db")
    create(catalog, "t")
    with closing(sqlite3.connect(tmp_path / "lake.db")) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        other.execute("PRAGMA journal_mode = WAL")
    append(catalog, "t", 1)
    with closing(sqlite3.connect(tmp_path / "lake.db")) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert numbers_in(catalog, catalog.head("t")) == [1]
