"""Look for damage: what the catalog says against itself and against the files."""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from mere.errors import MereError
from mere.model.diagnosis import Diagnosis, Finding, ListedFile
from mere.model.files import StoredFile
from mere.ports import Audit, Session
from mere.reading.soundness import check_file
from mere.telling import telling

_FOOTERS_A_CORE = 8
"""How many footers are asked for at once: reading them is waiting, mostly."""


def doctor(session: Session, *, deep: bool) -> Diagnosis:
    """Check a lake; see `Lake.doctor`.

    Files come and go meanwhile: those that are stored are listed before those that the catalog
    knows, and a file that seems damaged counts only while it is still listed.
    """
    audit = session.catalog.audit()
    stored = session.store.list()
    findings = [*audit.findings(), *_stray(session, audit, stored)]
    seen = Diagnosis(deep=deep)
    suspects = audit.suspects()
    with telling("doctor", "files") as told:
        for file, found in _checked(session, audit, suspects, deep=deep):
            findings += found
            seen = replace(
                seen,
                files=seen.files + 1,
                bytes=seen.bytes + (file.bytes or 0),
                undigested=seen.undigested + (file.digest is None),
            )
            told(seen.files, 0)
    return replace(seen, findings=tuple(_standing(audit, findings)))


def _stray(session: Session, audit: Audit, stored: Iterator[StoredFile]) -> Iterator[Finding]:
    """Yield unlisted files that are still there."""
    for finding in audit.unlisted(stored):
        if finding.path is not None and _exists(session, finding.path):
            yield finding


def _exists(session: Session, path: str) -> bool:
    try:
        session.store.size(path)
    except MereError:
        return False
    return True


def _checked(
    session: Session, audit: Audit, suspects: frozenset[int], *, deep: bool
) -> Iterator[tuple[ListedFile, tuple[Finding, ...]]]:
    """Check files side by side, a bounded number ahead, and yield them in their order."""
    cores = os.cpu_count() or 1
    threads = cores if deep else cores * _FOOTERS_A_CORE
    check = partial(check_file, store=session.store, deep=deep)
    ahead: deque[tuple[ListedFile, Future[tuple[Finding, ...]]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for file in _listed(audit):
            ahead.append((file, pool.submit(check, file, own_row_ids=file.id in suspects)))
            if len(ahead) > 2 * threads:
                first, future = ahead.popleft()
                yield first, future.result()
        for first, future in ahead:
            yield first, future.result()


def _listed(audit: Audit) -> Iterator[ListedFile]:
    after = -1
    while page := audit.files(after):
        yield from page
        after = page[-1].id


def _standing(audit: Audit, findings: list[Finding]) -> Iterator[Finding]:
    """Leave out what was said of files that others have replaced meanwhile."""
    asked = sorted({finding.file for finding in findings if finding.file is not None})
    still = audit.still_listed(asked)
    return (f for f in findings if f.file is None or f.file in still)
