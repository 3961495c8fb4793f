"""Tell whether what others brought meanwhile may be among what a change was about."""

from datetime import UTC, datetime

from mere.catalogs.draft import Draft
from mere.catalogs.files import Reading, telling_keys
from mere.catalogs.heads import described
from mere.catalogs.stats import needed
from mere.model.history import EditFiles, Snapshot
from mere.model.layout import Layout
from mere.plan.prune import prune

_FILES = "inserted_into_table"


def may_match(draft: Draft, edit: EditFiles) -> bool:
    """Tell whether a file that came since the base can hold a row that was sought.

    Where others did more than bring files, it is taken for granted.
    """
    link, table = draft.link, edit.table_id
    if edit.sought is None or any(d.word != _FILES for d in draft.theirs if d.touches(table)):
        return True
    now = Snapshot(id=draft.snapshot, at=datetime.now(UTC), schema_version=draft.schema_version)
    head = described(link, draft.table(table), now, draft.data_path)
    came = [row[0] for row in link.rows("files_since", table=table, base=draft.base)]
    reading = Reading(link=link, head=head, data_path=draft.data_path, own=())
    files = reading.files(came, needed(head.schema, edit.sought))
    layouts = {id_: Layout(id=id_, keys=keys) for id_, keys in telling_keys(link, head).items()}
    return bool(prune(files, edit.sought, head.schema, layouts).files)
