"""Folders of Parquet as others write them, here and on S3, for each kernel and for Spark."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet
import pytest

WAYS = {
    "pyarrow": ("pyarrow", False, False),
    "duckdb": ("duckdb", False, False),
    "s3": ("pyarrow", True, False),
    "duckdb on s3": ("duckdb", True, False),
    "spark": ("pyarrow", False, True),
}


@dataclass(frozen=True)
class Ground:
    """A place to make folders in, and who works on them."""

    root: str
    kernel: str
    engine: Any
    files: Any = field(repr=False)

    @property
    def how(self) -> dict[str, Any]:
        """Return what the classes are given."""
        return {"kernel": self.kernel, "engine": self.engine}

    def path(self, name: str) -> str:
        """Return the path of a folder, as a user writes it."""
        return f"{self.root}/{name}"

    def _inside(self, path: str) -> str:
        return path.removeprefix("s3://")

    def write(self, name: str, rows: pa.Table, by: Sequence[str] = (), *, files: int = 3) -> str:
        """Write rows as several files of each partition, which hold their columns as well."""
        parts: dict[tuple[str, ...], pa.Table] = {(): rows}
        for column in by:
            parts = {
                (*key, f"{column}={value}"): part.filter(ds.field(column) == value)
                for key, part in parts.items()
                for value in part[column].unique().to_pylist()
            }
        for key, part in parts.items():
            size = -(-len(part) // files)
            for number, start in enumerate(range(0, len(part), size)):
                path = "/".join([name, *key, f"f{number}.parquet"])
                self.put(path, part.slice(start, size))
        return self.path(name)

    def put(self, name: str, rows: pa.Table, **options: Any) -> None:
        """Write one file."""
        path = self._inside(self.path(name))
        if isinstance(self.files, pa.fs.LocalFileSystem):
            self.files.create_dir(path.rpartition("/")[0])
        pa.parquet.write_table(rows, path, filesystem=self.files, **options)

    def names(self, path: str) -> list[str]:
        """Return the data files of a folder, by their names from there."""
        inside = self._inside(path)
        selector = pa.fs.FileSelector(inside, recursive=True, allow_not_found=True)
        found = (info.path for info in self.files.get_file_info(selector) if info.is_file)
        names = (name.removeprefix(f"{inside}/") for name in found)
        return sorted(name for name in names if name.endswith(".parquet"))

    def rows(self, path: str, *columns: str) -> list[tuple[Any, ...]]:
        """Return the rows that pyarrow finds in the data files alone, in order."""
        inside = self._inside(path)
        names = [f"{inside}/{name}" for name in self.names(path)]
        schemas = [pa.parquet.read_schema(name, filesystem=self.files) for name in names]
        schema = pa.unify_schemas(schemas, promote_options="permissive")
        table = ds.dataset(names, schema=schema, filesystem=self.files).to_table()
        chosen = table.select(list(columns)) if columns else table
        return sorted((tuple(row.values()) for row in chosen.to_pylist()), key=repr)


@pytest.fixture(params=WAYS)
def ground(request, tmp_path):
    """Hand out a place: both kernels, here and on S3, and Spark."""
    kernel, on_s3, on_spark = WAYS[request.param]
    files: Any = pa.fs.LocalFileSystem()
    root = str(tmp_path)
    if on_s3:
        s3 = request.getfixturevalue("s3")
        files = pa.fs.S3FileSystem(
            access_key=s3.key,
            secret_key=s3.secret,
            endpoint_override=s3.endpoint,
            region=s3.region,
        )
        root = f"s3://{s3.bucket}/data"
    engine = request.getfixturevalue("spark") if on_spark else "local"
    return Ground(root, kernel, engine, files)


@pytest.fixture
def here(tmp_path):
    """Hand out a place on this machine."""
    return Ground(str(tmp_path), "pyarrow", "local", pa.fs.LocalFileSystem())
