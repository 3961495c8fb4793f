"""Look how tables lie on their storage, and say what the rules call for; nothing is changed."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from mere.errors import MereError, TableNotFoundError
from mere.model.durations import seconds
from mere.model.health import Check, Condition
from mere.model.history import Head
from mere.model.names import join_name
from mere.model.policy import USUAL, Policy
from mere.ops.maintain.moving import MoveOptions
from mere.plan.clearing import expired
from mere.plan.health import Survey, checks, cleared, order_columns, versions
from mere.plan.upkeep import plan_upkeep
from mere.ports import Session


def rules_of(head: Head, policy: Policy) -> Policy:
    """Return the rules for a table: the policy's, then those of its options, then the usual."""
    own = Policy.from_options(dict(head.layout.options)).over(USUAL)
    return policy.of_table(head.namespace, head.name).over(own)


def rules_of_lake(session: Session, policy: Policy) -> Policy:
    """Return the rules for the lake itself."""
    own = Policy.from_options(session.catalog.options()).over(USUAL)
    return replace(policy, schemas={}, tables={}).over(own)


def survey(
    session: Session, name: str, policy: Policy, options: MoveOptions, *, whole: bool
) -> Survey:
    """Look at a table; `whole` also loads what only people want to know.

    Raises:
        TableNotFoundError: If there is none of that name.
    """
    catalog = session.catalog
    head = catalog.head(name)
    rules = rules_of(head, policy)
    found = catalog.files(head, bounds=order_columns(head, rules), groups=whole)
    lineage = catalog.lineage(head, found.files)
    plan = plan_upkeep(head, lineage, rules, memory_bytes=options.share(session))
    seen = Survey(head=head, files=found.files, lineage=lineage, rules=rules, plan=plan)
    if not whole:
        return seen
    grace = seconds(rules.delete_older_than or 0)
    return replace(
        seen,
        inlined=len(found.inlined.row_ids) if found.inlined else 0,
        leftovers=catalog.leftovers(head, grace_s=grace),
    )


def health(session: Session, name: str, policy: Policy) -> tuple[Check, ...]:
    """Judge one table; see `Table.health`."""
    return checks(survey(session, name, policy, MoveOptions(), whole=True))


def lake_health(session: Session, policy: Policy) -> tuple[Check, ...]:
    """Judge a lake and all of its tables; see `Lake.health`."""
    rules = rules_of_lake(session, policy)
    kept, going = len(session.catalog.snapshots()), len(may_expire(session, rules).going)
    left = session.catalog.leftovers(None, grace_s=seconds(rules.delete_older_than or 0))
    found = [versions(kept, going, rules), *cleared(left, rules, None)]
    for name in names(session):
        try:
            found += health(session, name, policy)
        except TableNotFoundError:  # dropped meanwhile
            continue
        except MereError as error:
            found.append(_unread(name, error))
    return tuple(found)


def _unread(name: str, error: MereError) -> Check:
    return Check(
        table=name,
        check="unread",
        value=None,
        unit="",
        verdict=Condition.NOTE,
        advice=f"could not be looked at: {error.message}",
    )


def names(session: Session) -> list[str]:
    """Return the tables of a lake, as calls name them."""
    return [join_name(*name) for name in session.catalog.tables()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """Which versions may go by the rules, and how many of the newest stay in any case.

    `waiting` tells of a step of a pipeline because of which old ones stay that it has not read.
    """

    going: tuple[int, ...]
    keep_last: int
    waiting: str = ""


def may_expire(session: Session, rules: Policy) -> Expiry:
    """Say which versions may go by the rules; none that a step has still to read."""
    catalog = session.catalog
    snapshots = catalog.snapshots()
    tagged = {tag.version for tag in catalog.tags()}
    before = datetime.now(UTC) - timedelta(seconds=seconds(rules.expire_older_than or 0))
    find = partial(expired, snapshots, tagged=tagged, before=before)
    last = rules.keep_last or 1
    behind = min(catalog.marks(), key=lambda mark: mark.reached, default=None)
    if behind is None:
        return Expiry(going=find(keep_last=last), keep_last=last)
    unread = sum(snapshot.id >= behind.reached for snapshot in snapshots)
    going = find(keep_last=max(last, unread))
    held = len(find(keep_last=last)) - len(going)
    told = f"{held:,} version(s) stay that the step {behind.step!r} has still to read"
    return Expiry(going=going, keep_last=max(last, unread), waiting=told if held else "")
