"""Let `python -m mere.cli` do what `mere` does."""

import sys

from mere.cli import main

if __name__ == "__main__":
    sys.exit(main())
