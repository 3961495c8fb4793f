"""Which options there are, and how they are spelled."""

import pytest

from mere.errors import InvalidInputError
from mere.model.options import option_text


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("target_file_size", "10MB", "10000000"),
        ("target_file_size", "10MiB", "10485760"),
        ("target_file_size", 4096, "4096"),
        ("parquet_row_group_size", 1000, "1000"),
        ("parquet_compression", "ZSTD", "zstd"),
        ("hive_file_pattern", False, "false"),
        ("rewrite_delete_threshold", 0.5, "0.500000"),
        ("expire_older_than", "7 days", "7 days"),
    ],
)
def test_values_are_spelled_as_the_format_keeps_them(key, value, text):
    assert option_text(key, value) == text


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("file_size", 1, "unknown option 'file_size'"),
        ("target_file_size", "large", "takes a size, got 'large'"),
        ("target_file_size", 0, "takes a size, got 0"),
        ("parquet_compression", "zip", "takes a codec"),
        ("hive_file_pattern", "yes", "takes a flag"),
        ("rewrite_delete_threshold", 1.5, "takes a share"),
    ],
)
def test_what_is_no_option_is_refused(key, value, message):
    with pytest.raises(InvalidInputError, match=message):
        option_text(key, value)
