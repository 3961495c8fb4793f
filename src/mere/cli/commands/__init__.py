"""All commands, in the order in which `mere --help` tells of them."""

from mere.cli.command import Command
from mere.cli.commands.adopting import ADOPT
from mere.cli.commands.changing import DEDUPLICATE, DELETE, RESTORE, UPDATE, UPSERT
from mere.cli.commands.demo import DEMO
from mere.cli.commands.doctoring import DOCTOR
from mere.cli.commands.keeping import EXPIRE, INIT, TAG, VACUUM
from mere.cli.commands.loading import INGEST
from mere.cli.commands.looking import HISTORY, SHOW, SQL, TABLES
from mere.cli.commands.maintaining import HEALTH, MAINTAIN
from mere.cli.commands.shaping import CLUSTER, COMPACT, REPARTITION

COMMANDS: tuple[Command, ...] = (
    *(DEMO, INIT),
    *(TABLES, SHOW, SQL, HISTORY),
    *(INGEST, ADOPT),
    *(DELETE, UPDATE, UPSERT, DEDUPLICATE, RESTORE),
    *(HEALTH, MAINTAIN, COMPACT, CLUSTER, REPARTITION),
    *(TAG, EXPIRE, VACUUM, DOCTOR),
)
