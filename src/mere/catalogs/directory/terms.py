"""Say what a folder cannot tell of itself."""

from dataclasses import dataclass

from mere.arrow.paths import is_data
from mere.errors import InvalidInputError
from mere.model.layout import Layout
from mere.model.options import option_text
from mere.model.schema import Schema
from mere.ports import Store

PATIENCE_S = 60.0
"""How long others wait for a maintainer that does nothing, and of which nobody can tell more."""
CODEC = "parquet_compression"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for a folder while it is open.

    `schema` and `partition_by` are those of a folder without files. `compression` is the codec of
    all that is written; None: zstd for new rows, and files that are merged keep theirs. `prefix`
    is how the names of new files begin; None: by what is done. With `backup`, files are copied
    there before they go.
    """

    schema: Schema | None = None
    partition_by: tuple[str, ...] = ()
    compression: str | None = None
    prefix: str | None = None
    backup: Store | None = None
    patience_s: float = PATIENCE_S

    def __post_init__(self) -> None:
        """Refuse names that readers would not see, and codecs that nobody knows.

        Raises:
            InvalidInputError: If one is given.
        """
        prefix = self.prefix
        if prefix is not None and not (is_data(f"{prefix}.parquet") and "/" not in prefix):
            msg = f"prefix is how names of files begin, not with '.' or '_'; got {prefix!r}"
            raise InvalidInputError(msg)
        if self.compression is not None:
            option_text(CODEC, self.compression)

    def layout(self) -> Layout:
        """Return how files are written, whatever their partitions."""
        plain = Layout(plain=True, copy_on_write=True)
        if self.compression is None:
            return plain
        codec = option_text(CODEC, self.compression)
        return Layout(plain=True, copy_on_write=True, compression=codec, options=((CODEC, codec),))
