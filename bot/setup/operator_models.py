"""`cogency check-model`: the model that is checked, and the cost of checking it. The results of `cogency eval`."""

import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from agent.errors import SettingsError, StoreLocked
from agent.eval_runs import EvalRun
from agent.machine import CLOCK
from agent.messages import ModelCall
from agent.ports.model import Provider
from agent.providers.catalog import ToolsForm
from agent.toolbox.registry import Registry
from bot.app.from_settings import open_models
from bot.app.settings import Settings
from bot.memory.feature import memory_tools
from bot.models.choice import ModelChoice, open_model
from bot.models.forms import MEASURED, UNCHECKED, Passed, store_passed
from bot.setup import texts as setup_texts
from bot.setup.operator_doctor import context_findings
from store.engine import open_eval_runs, open_preferences, open_spending, open_store


async def charge(settings: Settings, person: str, kind: str, calls: Sequence[ModelCall]) -> None:
    """Store the cost of an operator's own model calls. Works while the bot runs. Raises StoreError."""
    if not calls:
        return
    await _create_database(settings)
    async with open_spending(settings.storage.url) as spending:
        await spending.charge(person, kind, calls, CLOCK.now())


async def store_run(settings: Settings, run: EvalRun) -> None:
    """Store the result of `cogency eval`. Works while the bot runs. Raises StoreError."""
    await _create_database(settings)
    async with open_eval_runs(settings.storage.url) as runs:
        await runs.add(run)


async def _create_database(settings: Settings) -> None:
    """Create the database if there is none. Raises StoreError."""
    try:
        store = await open_store(settings.storage.url)
    except StoreLocked:
        pass
    else:
        await store.close()


@dataclass(frozen=True, slots=True)
class Checking:
    """What `cogency check-model` asks. `providers`: the model in each form of tools to check; `sentence`: why it was
    chosen, and what is known of it.
    """

    choice: ModelChoice
    providers: Mapping[ToolsForm, Provider]
    tools: Registry
    sentence: str

    @property
    def name(self) -> str:
        return self.choice.name

    async def keep(self, settings: Settings, passed: Passed) -> Passed:
        """Store in which form how many probes were passed, and return all that is known of this model. Raises
        StoreError.
        """
        endpoint = self.choice.endpoint
        if endpoint is None or not endpoint.offers_forms(self.choice.model):
            return UNCHECKED
        await _create_database(settings)
        async with open_preferences(settings.storage.url) as preferences:
            return await store_passed(preferences, endpoint, self.choice.model, passed)


@asynccontextmanager
async def open_checking(settings: Settings) -> AsyncGenerator[Checking, None]:
    """Open the model to check, in both forms of tools if COGENCY_TOOLS_FORM leaves that open.

    Raises SettingsError where no model is configured: the rehearsal follows rules and needs no check.
    """
    async with AsyncExitStack() as stack:
        store = await open_store("sqlite://")
        stack.push_async_callback(store.close)
        models = await stack.enter_async_context(open_models(settings))
        if models.is_rehearsal:
            raise SettingsError(setup_texts.NO_MODEL_TO_CHECK)
        context = await context_findings(settings, models.provider.name)
        lines = [models.sentence, *(f"{finding.what[:1].upper()}{finding.what[1:]}." for finding in context)]
        providers: dict[ToolsForm, Provider] = {}
        for form in _forms_to_check(settings, models.choice):
            chosen = replace(settings.models, tools_form=form)
            providers[form] = opened = open_model(models.choice, chosen, clock=CLOCK, chance=random.random)
            stack.push_async_callback(opened.aclose)
        yield Checking(
            models.choice,
            providers,
            Registry(memory_tools(store, store.memories, settings.tools.timeout_s)),
            "\n".join(lines),
        )


def _forms_to_check(settings: Settings, choice: ModelChoice) -> Sequence[ToolsForm]:
    if choice.endpoint is None or not choice.endpoint.offers_forms(choice.model):
        return (ToolsForm.TEXT,)
    return MEASURED if settings.models.tools_form is ToolsForm.AUTO else (settings.models.tools_form,)
