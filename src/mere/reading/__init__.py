"""Read the files of a table as the table has them now: columns by id, rows by visibility."""

from typing import TYPE_CHECKING

from mere.later import later

if TYPE_CHECKING:
    from mere.reading import living as living
    from mere.reading import projecting as projecting
    from mere.reading import rows as rows

__getattr__ = later(__name__, modules=("living", "projecting", "rows"))
