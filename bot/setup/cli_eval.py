"""`cogency eval`: an exam for the bot."""

import asyncio
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import SettingsError, StoreError
from agent.machine import CLOCK
from agent.path_errors import unwritable_reason
from bot.api.tokens import DailyBudget
from bot.app.settings import Settings
from bot.chat.exit_codes import Exit, exit_code
from bot.chat.output import complain, write_out
from bot.chat.texts.formatting import counted
from bot.evals import texts as eval_texts
from bot.settings.installation import typed_command
from bot.setup.arguments import Do, Subcommand
from bot.setup.local_user import user_name

if TYPE_CHECKING:
    from collections.abc import Generator

    from bot.evals.exam import Exam
    from bot.evals.running import Sitting

KIND = "eval"  # What the calls are for, on the operator's bill


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalOptions:
    """The options of the command, as the command line names them."""

    file: Path | None
    starter: bool
    write_starter: Path | None
    from_feedback: Path | None
    check: bool
    only: frozenset[str]
    models: Sequence[str] | None
    judge: str | None
    repeat: int | None
    parallel: int
    timeout_s: float
    budget: DailyBudget
    threshold: float | None
    html: Path | None
    junit: Path | None
    as_json: bool
    store_answers: bool


async def _eval(settings: Settings, **given: Any) -> Exit:  # noqa: ANN401 -- the fields of EvalOptions
    from bot.evals.report import stored_run  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.evals.starter import starter_text  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator_models import create_database, store_run  # noqa: PLC0415 -- a settings error is reported before it loads

    options = EvalOptions(**given)
    if (new := options.write_starter) is not None:
        return _write_new(new, starter_text(), eval_texts.STARTER_WRITTEN.format(file=new))
    if options.from_feedback is not None:
        return await _from_feedback(settings, options.from_feedback)
    if options.starter == (options.file is not None):
        complain(f"cogency eval: {eval_texts.FILE_OR_STARTER if options.starter else eval_texts.NEEDS_FILE}")
        return Exit.ARGUMENTS
    exam = _read(options.file, starter_text())
    if options.check:
        write_out(sys.stdout, f"{_checked(exam)}\n")
        return Exit.OK
    exam = _chosen(exam, options)
    await create_database(settings)  # a database that cannot be used is reported before anything is spent
    with _interrupts() as (interrupted, received):
        sitting, unstored = await _sit(settings, exam, options, interrupted)
    _write_reports(sitting, options)
    if unstored is not None:
        complain(f"cogency eval: {eval_texts.COST_NOT_STORED.format(reason=unstored)}")
        return exit_code(unstored)
    await store_run(settings, stored_run(sitting, CLOCK.now(), answers=options.store_answers))
    if signal.SIGTERM in received:
        return Exit.TERMINATED
    return _exit_of(sitting)


def _checked(exam: "Exam") -> str:
    checks = sum(len(question.checks) for question in exam.questions)
    return eval_texts.CHECKED.format(
        file=exam.name,
        questions=counted(len(exam.questions), "question", "questions"),
        checks=counted(checks, "check", "checks"),
    )


def _chosen(exam: "Exam", options: EvalOptions) -> "Exam":
    """Return the exam as the options change it. Raises SettingsError."""
    exam = _only(exam, options.only)
    return replace(
        exam,
        repeat=options.repeat or exam.repeat,
        threshold=exam.threshold if options.threshold is None else options.threshold,
        judge=_judge_of(exam, options.judge),
    )


async def _sit(
    settings: Settings, exam: "Exam", options: EvalOptions, interrupted: asyncio.Event
) -> "tuple[Sitting, StoreError | None]":
    """Ask all questions, and store the costs. Returns also why these could not be stored: what was paid for is reported
    all the same. Raises SettingsError and StoreError.
    """
    from bot.app.evaluation import open_eval_bots  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.evals.report import announcement, progress_line  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.evals.running import EvalBudget, Runner, RunResult, Sitting, planned  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator_models import charge  # noqa: PLC0415 -- a settings error is reported before it loads

    parallel, timeout_s, models = options.parallel, options.timeout_s, options.models or [""]
    out = sys.stderr if options.as_json else sys.stdout

    def tell(line: str) -> None:
        write_out(out, f"{line}\n")

    started, done = CLOCK.monotonic(), 0
    async with open_eval_bots(settings, models, exam.judge, parallel=parallel, timeout_s=timeout_s) as bots:
        judge_name = "" if bots.judge is None else bots.judge.name
        if options.models is None and bots.is_rehearsal and settings.models.model is None:
            tell(eval_texts.REHEARSAL_ASKED)
        tell(announcement(exam, bots.models, exam.repeat, judge_name))
        runs = planned(exam, bots.models, exam.repeat)

        def show(result: RunResult) -> None:
            nonlocal done
            done += 1
            tell(progress_line(result, done, len(runs), names_model=len(bots.models) > 1))

        limits = EvalBudget(options.budget.money, options.budget.tokens)
        runner = Runner(bots.ask, bots.judge, bots.spent, bots.unpriced, limits, parallel, show)
        unstored: StoreError | None = None
        try:
            results = await runner.run(runs, interrupted)
        finally:
            try:
                await charge(settings, f"terminal:{user_name()}", KIND, [*bots.paid_calls(), *runner.judge_calls])
            except StoreError as error:
                unstored = error
        stopped, sentence = runner.stopped
        sitting = Sitting(
            exam=exam,
            models=bots.models,
            repeat=exam.repeat,
            results=results,
            seconds=CLOCK.monotonic() - started,
            spent=bots.spent(),
            judged=runner.judged,
            judge=judge_name,
            stopped=stopped,
            sentence=sentence,
        )
        return sitting, unstored


def _write_reports(sitting: "Sitting", options: EvalOptions) -> None:
    """Write what was asked for, and the table or the JSON. Raises SettingsError."""
    from bot.evals import report  # noqa: PLC0415 -- a settings error is reported before it loads

    threshold, now = sitting.exam.threshold, CLOCK.now()
    if options.html is not None:
        _write(options.html, report.as_html(sitting, threshold, now))
    if options.junit is not None:
        _write(options.junit, report.as_junit(sitting))
    text = report.as_json(sitting, threshold, now) if options.as_json else f"\n{report.table(sitting, threshold)}"
    write_out(sys.stdout, f"{text}\n")


def _exit_of(sitting: "Sitting") -> Exit:
    from bot.evals.report import has_passed  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.evals.running import StopReason  # noqa: PLC0415 -- a settings error is reported before it loads

    if sitting.stopped is StopReason.INTERRUPTED:
        return Exit.INTERRUPTED
    return Exit.OK if has_passed(sitting, sitting.exam.threshold) else Exit.FAILED


@contextmanager
def _interrupts() -> "Generator[tuple[asyncio.Event, list[signal.Signals]]]":
    """Yield an event that the first Ctrl-C or SIGTERM sets, and the signals that came. A second one ends the command
    without a report.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    interrupted, received = asyncio.Event(), list[signal.Signals]()

    def stop(number: signal.Signals) -> None:
        received.append(number)
        interrupted.set()
        if len(received) > 1 and task is not None:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        yield interrupted, received
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _read(file: Path | None, starter: str) -> "Exam":
    """Read the file, or the built-in questions. Raises SettingsError."""
    from bot.app.evaluation import OWN_TOOLS  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.evals.exam_file import MAX_CHARS, read_exam  # noqa: PLC0415 -- a settings error is reported before it loads

    if file is None:
        return read_exam(starter, eval_texts.STARTER, OWN_TOOLS)
    try:
        with file.open("rb") as opened:
            content = opened.read(4 * MAX_CHARS + 1)
        text = content.decode()
    except FileNotFoundError:
        command = typed_command("eval --write-starter FILE.yaml")
        raise SettingsError(eval_texts.NO_FILE.format(file=file, starter=command)) from None
    except OSError as error:
        raise SettingsError(eval_texts.UNREADABLE.format(file=file, reason=error.strerror)) from None
    except UnicodeDecodeError:
        raise SettingsError(eval_texts.WRONG_ENCODING.format(file=file)) from None
    if len(text) > MAX_CHARS:
        raise SettingsError(eval_texts.TOO_LARGE.format(file=file, limit=MAX_CHARS // 1_000))
    return read_exam(text, file.name, OWN_TOOLS)


def _only(exam: "Exam", names: frozenset[str]) -> "Exam":
    """Return the exam with these questions and groups alone. Raises SettingsError."""
    if not names:
        return exam
    known = {question.name for question in exam.questions} | {question.group for question in exam.questions}
    if unknown := sorted(names - known):
        raise SettingsError(eval_texts.NO_QUESTION_NAMED.format(name=unknown[0], file=exam.name))
    chosen = tuple(question for question in exam.questions if {question.name, question.group} & names)
    return replace(exam, questions=chosen)


def _judge_of(exam: "Exam", judge: str | None) -> str:
    """Return the judge's name; "" if nothing is judged. Raises SettingsError if there is none."""
    judged = next((question for question in exam.questions if question.is_judged), None)
    name = judge or exam.judge
    if judged is not None and not name:
        raise SettingsError(eval_texts.NO_JUDGE.format(file=exam.name, question=judged.name))
    return name if judged is not None else ""


async def _from_feedback(settings: Settings, file: Path) -> Exit:
    """Write an exam of what people shared about answers. Raises SettingsError and StoreError."""
    from bot.evals.from_feedback import exam_of  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.feedback import shared  # noqa: PLC0415 -- a settings error is reported before it loads

    async with aclosing(shared(settings, None)) as pages:
        items = [item async for page in pages for item in page]
    text, questions, left_out = exam_of(items)
    if not questions:
        complain(f"cogency eval: {eval_texts.NO_FEEDBACK}")
        return Exit.ARGUMENTS
    sentence = eval_texts.FROM_FEEDBACK.format(questions=counted(questions, "question", "questions"), file=file)
    if left_out:
        sentence += eval_texts.LEFT_OUT.format(ratings=counted(left_out, "rating was", "ratings were"))
    return _write_new(file, text, sentence)


def _write_new(file: Path, text: str, sentence: str) -> Exit:
    """Write a file that only its owner can read, and that does not exist yet. Raises SettingsError."""
    try:
        file.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        complain(f"cogency eval: {eval_texts.FILE_EXISTS.format(file=file)}")
        return Exit.ARGUMENTS
    except OSError as error:
        raise SettingsError(eval_texts.NOT_WRITTEN.format(file=file, reason=unwritable_reason(error, file))) from None
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        file.unlink(missing_ok=True)  # else the next attempt would find a file
        raise SettingsError(eval_texts.NOT_WRITTEN.format(file=file, reason=unwritable_reason(error, file))) from None
    write_out(sys.stdout, f"{sentence}\n")
    return Exit.OK


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(eval_texts.NOT_WRITTEN.format(file=file, reason=unwritable_reason(error, file))) from None


COMMANDS: Mapping[Subcommand, Do] = {Subcommand.EVAL: _eval}
