"""`cogency check-model`: what a model and its service can do."""

import asyncio
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from agent.errors import CogencyError
from agent.machine import CLOCK
from agent.messages import ModelCall
from agent.providers.catalog import ToolsForm
from bot.app.settings import Settings
from bot.chat.exit_codes import Exit
from bot.chat.output import complain, printable_json, write_out
from bot.setup import texts as setup_texts
from bot.setup.arguments import Do, Subcommand
from bot.setup.local_user import user_name

if TYPE_CHECKING:
    from bot.models.abilities import Ability, Seen
    from bot.models.check import ProbeVerdict
    from bot.setup.operator_models import Checking


async def _check_model(settings: Settings, *, model: str, yes: bool, as_json: bool) -> Exit:
    from bot.models import check, checked  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator_models import charge, open_checking  # noqa: PLC0415 -- a settings error is reported before it loads

    out = sys.stderr if as_json else sys.stdout
    async with open_checking(settings, model) as checking:
        forms = len(checking.providers)
        announcement = check.announcement(checking.name, checking.tools, CLOCK.now(), forms, checking.lines)
        write_out(out, f"{checking.sentence}\n{announcement}\n\n")
        if not (yes or _is_confirmed()):
            return Exit.ARGUMENTS
        run = _Run(settings, checking, as_json=as_json)
        try:
            await run.perform()
        except (asyncio.CancelledError, CogencyError):
            write_out(out, f"\n{run.stored}\n")
            raise
        finally:
            await charge(settings, f"terminal:{user_name()}", check.KIND, run.calls)
        found = checking.found(run.calls, run.passed, run.seen)
        await checking.keep_all(settings, found)
    if as_json:
        write_out(sys.stdout, f"{printable_json(checked.as_json(found), indent=2)}\n")
    else:
        compared = check.comparison(run.known, settings.models.tools_form)
        write_out(sys.stdout, "\n".join([checked.page(found), *([compared] if compared else []), ""]))
    return Exit.OK if any(map(check.is_usable, run.verdicts.values())) else Exit.FAILED


class _Run:
    """One check while it runs, and what it has found so far."""

    def __init__(self, settings: Settings, checking: "Checking", *, as_json: bool) -> None:
        self._settings = settings
        self._checking = checking
        self._out = sys.stderr if as_json else sys.stdout
        self.calls: list[ModelCall] = []
        self.seen: dict[Ability, Seen] = {}
        self.verdicts: dict[ToolsForm, list[ProbeVerdict]] = {}
        self.passed: dict[ToolsForm, int] = {}
        self.known: Mapping[ToolsForm, int] = {}

    async def perform(self) -> None:
        """Ask all questions. Raises ProviderError and StoreError."""
        from bot.models import checked  # noqa: PLC0415 -- a settings error is reported before it loads
        from bot.models import texts as models_texts  # noqa: PLC0415 -- a settings error is reported before it loads

        async for ability, seen in self._checking.abilities(self._count).run():
            self.seen[ability] = seen
            verdict = models_texts.VERDICTS[seen.verdict]
            self._tell(f"{models_texts.ABILITIES[ability]}: {verdict}. {checked.says(ability, seen)}")
        self._tell("")
        for form in self._checking.providers:
            await self._check_form(form)

    @property
    def stored(self) -> str:
        """The sentence on what is stored of a check that did not finish."""
        stored = ", ".join(form.value for form in self.passed)
        return setup_texts.CHECK_STOPPED.format(stored=stored) if stored else setup_texts.CHECK_NOT_STORED

    async def _check_form(self, form: ToolsForm) -> None:
        from bot.models import check  # noqa: PLC0415 -- a settings error is reported before it loads

        provider = self._checking.providers[form]
        if len(self._checking.providers) > 1:
            self._tell(setup_texts.CHECK_FORM.format(form=form.value))
        of_form = self.verdicts.setdefault(form, [])
        async for verdict in check.check_model(provider, self._checking.tools, CLOCK, self._count):
            of_form.append(verdict)
            self._tell(check.verdict_line(verdict))
        is_refused = form is ToolsForm.NATIVE and not provider.capabilities.native_calls
        if is_refused:
            self._tell(setup_texts.NATIVE_REFUSED)
            del self.verdicts[form]
        self._tell(f"\n{check.conclusion(self._checking.name, of_form)}\n")
        if not is_refused:
            passed = check.count_passed(of_form)
            # At once: the check of the next form may be interrupted, or its server go away.
            self.known = await self._checking.keep(self._settings, {form: passed})
            self.passed[form] = passed  # it is stored

    async def _count(self, call: ModelCall) -> None:
        self.calls.append(call)

    def _tell(self, line: str) -> None:
        write_out(self._out, f"{line}\n")


def _is_confirmed() -> bool:
    """Return whether the user wants to start."""
    if not sys.stdin.isatty():
        complain(f"cogency check-model: {setup_texts.CHECK_UNASKED}")
        return False
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio would wait for the answer
    try:
        is_confirmed = input(setup_texts.CHECK_STARTS).strip().lower() in {"y", "yes"}
    except EOFError:
        is_confirmed = False
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if not is_confirmed:
        complain(setup_texts.CHECK_REFUSED)
    return is_confirmed


COMMANDS: Final[Mapping[Subcommand, Do]] = {Subcommand.CHECK_MODEL: _check_model}
