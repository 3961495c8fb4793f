"""Do rewrites: each as one task, or in two steps where one task would be too large."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from mere.errors import MereError, TaskError
from mere.model.files import DataFile
from mere.model.work import Result, Rewrite
from mere.plan.steps import Steps, first_tasks, in_steps, second_tasks
from mere.ports import Session
from mere.reading.forms import Forms
from mere.reading.surveying import Survey, ordering_columns


def steps_for(session: Session, tasks: Sequence[Rewrite]) -> tuple[Steps, ...]:
    """Choose the tasks that the runner of a lake does in two steps."""
    runner = session.runner
    return in_steps(tasks, slots=runner.slots, together=runner.together)


def rewritten(session: Session, tasks: Sequence[Rewrite]) -> list[Result]:
    """Do the tasks, and return what came of each, in their order.

    Raises:
        TaskError: If a task did not write every row.
    """
    chosen = steps_for(session, tasks)
    if not chosen:
        return _done(session, tasks)
    large = {steps.task.number for steps in chosen}
    small = [task for task in tasks if task.number not in large]
    dealings = [_Dealing.of(session, steps) for steps in chosen]
    with _staged(session) as staged:
        first = _done(session, [*small, *(task for one in dealings for task in one.first)])
        results = {task.number: result for task, result in zip(small, first, strict=False)}
        dealt = _parted(first[len(small) :], [len(one.first) for one in dealings])
        staged.extend(file for many in dealt for result in many for file in result.files)
        then = [one.second(many) for one, many in zip(dealings, dealt, strict=True)]
        second = _done(session, [task for many in then for task in many])
        made = _parted(second, [len(many) for many in then])
    for one, before, after in zip(dealings, dealt, made, strict=True):
        results[one.steps.task.number] = _summed(one.steps.task, before, after)
    return [results[task.number] for task in tasks]


def _done(session: Session, tasks: Sequence[Rewrite]) -> list[Result]:
    """Do tasks, whatever their numbers, and demand that each did what it had to."""
    do = partial(session.kernel.rewrite, store=session.store)
    counted = [replace(task, number=number) for number, task in enumerate(tasks)]
    found = {result.number: result for result in session.runner.run(do, counted)}
    results = [replace(found[n], number=task.number) for n, task in enumerate(tasks)]
    for task, result in zip(tasks, results, strict=True):
        _check(task, result)
    return results


def _check(task: Rewrite, result: Result) -> None:
    """Demand that every row of the inputs was written, or is of no use to any version.

    Raises:
        TaskError: If not.
    """
    listed = sum(trace.file.rows for trace in task.inputs)
    if (result.rows_in, result.rows_out + result.dropped) != (listed, listed):
        msg = f"a task read {result.rows_in} of {listed} rows and wrote {result.rows_out}"
        msg += f", leaving out {result.dropped} that no version shows"
        raise TaskError(msg, hint="nothing was committed")


def _parted(results: Sequence[Result], counts: Sequence[int]) -> list[list[Result]]:
    rest = iter(results)
    return [[next(rest) for _ in range(count)] for count in counts]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dealing:
    """One rewrite in two steps, and what its tasks must agree on."""

    steps: Steps
    first: tuple[Rewrite, ...]
    sample: bytes
    codec: str

    @classmethod
    def of(cls, session: Session, steps: Steps) -> "_Dealing":
        """Look at some rows, to know where to cut."""
        task = steps.task
        survey = Survey.of(task.inputs, ordering_columns(task), session.store, Forms())
        curved = task.sorting is not None and task.sorting.curve != "linear"
        sample = survey.sample(task.sorting.columns) if task.sorting and curved else b""
        cuts = survey.cuts(task, steps.quantiles, [len(share) for share in steps.shares])
        return cls(
            steps=steps,
            first=first_tasks(steps, cuts, sample),
            sample=sample,
            codec=survey.codec if task.keep_codec else "",
        )

    def second(self, dealt: Sequence[Result]) -> tuple[Rewrite, ...]:
        """Make the tasks for what was dealt out."""
        files = [result.files for result in dealt]
        return second_tasks(self.steps, files, self.sample, self.codec)


@contextmanager
def _staged(session: Session) -> Iterator[list[DataFile]]:
    """Hold the files between the steps; delete them in the end, what stays is swept later."""
    files: list[DataFile] = []
    try:
        yield files
    finally:
        paths = [file.path for file in files]
        paths += [file.deletes.path for file in files if file.deletes]
        if paths:
            with suppress(MereError, OSError):
                session.store.delete(paths)


def _summed(task: Rewrite, dealt: Sequence[Result], made: Sequence[Result]) -> Result:
    """Sum up what came of both steps: rows as they were first read, files as they were last made.

    Raises:
        TaskError: If rows were lost between the steps.
    """
    found = Result(
        files=tuple(file for result in made for file in result.files),
        rows_in=sum(result.rows_in for result in dealt),
        rows_out=sum(result.rows_out for result in made),
        bytes_read=sum(result.bytes_read for result in (*dealt, *made)),
        encoded_bytes=sum(result.encoded_bytes for result in (*dealt, *made)),
        dropped=sum(result.dropped for result in (*dealt, *made)),
        codec=next((result.codec for result in made), ""),
        number=task.number,
    )
    _check(task, found)
    return found
