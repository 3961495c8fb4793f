"""Carry an error of ours through Spark, which keeps nothing of an error but its text.

What comes back is read as names and texts, never unpickled: rows from anywhere end up in the texts
of Spark's own errors.
"""

import json
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64

from mere import errors
from mere.errors import MereError

_CARRIED = re.compile(r"\[mere:([A-Za-z0-9+/=]+)\]")


def spell(error: MereError) -> str:
    """Return a text to raise with, that shows the error and holds what `find` needs."""
    named = next(
        kind for kind in type(error).__mro__ if getattr(errors, kind.__name__, None) is kind
    )
    facts = {"error": named.__name__, "message": error.message, "hint": error.hint}
    packed = b64encode(json.dumps(facts).encode()).decode()
    return f"{named.__name__}: {error} [mere:{packed}]"


def find(text: str) -> MereError | None:
    """Return the error that a text holds, None when it holds none."""
    found = _CARRIED.search(text)
    if found is None:
        return None
    try:
        facts = json.loads(b64decode(found[1], validate=True))
        kind = getattr(errors, facts["error"])
    except (NotBase64, ValueError, TypeError, KeyError, AttributeError):
        return None
    if not (isinstance(kind, type) and issubclass(kind, MereError)):
        return None
    hint = facts.get("hint")
    return kind(str(facts.get("message")), hint=None if hint is None else str(hint))
