"""Deal the files of a reading into a few parts that engines may read side by side."""

from collections.abc import Iterator
from dataclasses import replace

from mere.ports import Reading
from mere.readers.ahead import workers


def chunks(reading: Reading) -> Iterator[Reading]:
    """Yield readings of neighbouring files with about as many rows each, at least one.

    The last one has the rows without a file.
    """
    share = max(1, sum(file.rows for file in reading.files) // workers())
    part, rows = 0, 0
    for place, file in enumerate(reading.files):
        rows += file.rows
        if rows >= share:
            yield replace(reading, files=reading.files[part : place + 1], inlined=None)
            part, rows = place + 1, 0
    if part < len(reading.files) or not reading.files or reading.inlined is not None:
        yield replace(reading, files=reading.files[part:])
