"""Open a table and read one partition in a fresh process, noting the time on the way.

Imported before the measured library, so it imports next to nothing itself.
"""

import sys
import time


def main(name: str, root: str, product: str) -> None:
    """Print when the imports were done and when the rows were there, by clock and by CPU."""
    from benchmarks import systems  # noqa: PLC0415  part of what is measured

    kind = systems.load(name)
    imported, used = time.monotonic(), time.process_time()
    system = kind(root)
    system.open()
    rows = system.read(product)
    done, spent = time.monotonic(), time.process_time()
    from benchmarks import meter  # noqa: PLC0415  after what is measured

    found = [rows.num_rows, sum(rows["trade_id"].to_pylist())]
    print(imported, done, used, spent, meter.peak_bytes(), *found)


if __name__ == "__main__":
    main(*sys.argv[1:])
