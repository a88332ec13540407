"""`cogency check-model`: the model that is checked, and the cost of checking it. The results of `cogency eval`."""

import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version

from agent.errors import SettingsError, StoreLocked
from agent.eval_runs import EvalRun
from agent.machine import CLOCK
from agent.messages import ModelCall, Usage
from agent.ports.model import Provider
from agent.providers.catalog import Endpoint, ToolsForm
from agent.spending import Money, cost
from agent.toolbox.registry import Registry
from bot.app.from_settings import open_models
from bot.app.settings import Settings
from bot.memory.feature import memory_tools
from bot.models.abilities import Ability, AbilityCheck, Seen, prefix_lines
from bot.models.check import PROBES
from bot.models.checked import ModelCheck, store_check
from bot.models.choice import KeyRings, ModelChoice, context_size, open_model
from bot.models.forms import MEASURED, UNCHECKED, Passed, store_passed
from bot.setup import texts as setup_texts
from bot.setup.operator_doctor import context_findings
from store.engine import open_eval_runs, open_preferences, open_spending, open_store


async def charge(settings: Settings, person: str, kind: str, calls: Sequence[ModelCall]) -> None:
    """Store the cost of an operator's own model calls. Works while the bot runs. Raises StoreError."""
    if not calls:
        return
    await create_database(settings)
    async with open_spending(settings.storage.url) as spending:
        await spending.charge(person, kind, calls, CLOCK.now())


async def store_run(settings: Settings, run: EvalRun) -> None:
    """Store the result of `cogency eval`. Works while the bot runs. Raises StoreError."""
    await create_database(settings)
    async with open_eval_runs(settings.storage.url) as runs:
        await runs.add(run)


async def create_database(settings: Settings) -> None:
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
    endpoint: Endpoint
    providers: Mapping[ToolsForm, Provider]
    tools: Registry
    sentence: str

    @property
    def name(self) -> str:
        return self.choice.name

    @property
    def lines(self) -> int:
        """The length of the prompt that is repeated to see a cache."""
        return prefix_lines(is_self_hosted=self.endpoint.is_self_hosted)

    def abilities(self, count: Callable[[ModelCall], Awaitable[None]]) -> AbilityCheck:
        """Return the check of what else the model can do. `count` receives each call."""
        provider = next(iter(self.providers.values()))
        return AbilityCheck(provider, CLOCK, count, self._context_size, self.lines)

    async def _context_size(self) -> int | None:
        """Return what the service says of the model's context. Clouds say nothing, and the rest is a table's word."""
        if self.endpoint.identity:
            return None
        return await context_size(self.endpoint, self.choice.model, self.choice.key)

    def found(self, calls: Sequence[ModelCall], passed: Passed, seen: Mapping[Ability, Seen]) -> ModelCheck:
        """Return what a check found with these calls."""
        used = sum((call.usage for call in calls), Usage())
        costs = [cost(call) for call in calls]
        known = [Money(each) for each in costs if each is not None]
        return ModelCheck(
            self.name,
            self.endpoint.address,
            CLOCK.now(),
            version("cogency-bot"),
            len(PROBES),
            self.endpoint.offers_forms(self.choice.model),
            passed,
            seen,
            len(calls),
            used.input_uncached + used.input_cached + used.input_written + used.output + used.reasoning,
            Money(sum(known)) if known and len(known) == len(calls) else None,
        )

    async def keep(self, settings: Settings, passed: Passed) -> Passed:
        """Store in which form how many probes were passed, and return all that is known of this model. Raises
        StoreError.
        """
        if not self.endpoint.offers_forms(self.choice.model):
            return UNCHECKED
        await create_database(settings)
        async with open_preferences(settings.storage.url) as preferences:
            return await store_passed(preferences, self.endpoint, self.choice.model, passed)

    async def keep_all(self, settings: Settings, check: ModelCheck) -> None:
        """Store what the whole check found. Raises StoreError."""
        await create_database(settings)
        async with open_preferences(settings.storage.url) as preferences:
            await store_check(preferences, check)


@asynccontextmanager
async def open_checking(settings: Settings, model: str = "") -> AsyncGenerator[Checking, None]:
    """Open the model to check, in both forms of tools if COGENCY_TOOLS_FORM leaves that open. `model`: named as in
    COGENCY_MODEL; "" for the configured one.

    Raises SettingsError where no model is configured: the rehearsal follows rules and needs no check.
    """
    if model:
        settings = replace(settings, models=replace(settings.models, model=model))
    async with AsyncExitStack() as stack:
        store = await open_store("sqlite://")
        stack.push_async_callback(store.close)
        models = await stack.enter_async_context(open_models(settings))
        endpoint = models.choice.endpoint
        if endpoint is None:
            raise SettingsError(setup_texts.NO_MODEL_TO_CHECK)
        context = await context_findings(settings, models.provider.name)
        lines = [models.sentence, *(f"{finding.what[:1].upper()}{finding.what[1:]}." for finding in context)]
        providers: dict[ToolsForm, Provider] = {}
        rings = KeyRings(CLOCK)  # so that a key that is refused is reported once
        for form in _forms_to_check(settings, models.choice):
            chosen = replace(settings.models, tools_form=form)
            opened = open_model(models.choice, chosen, clock=CLOCK, chance=random.random, rings=rings)
            providers[form] = opened
            stack.push_async_callback(opened.aclose)
        yield Checking(
            models.choice,
            endpoint,
            providers,
            Registry(memory_tools(store, store.memories, settings.tools.timeout_s)),
            "\n".join(lines),
        )


def _forms_to_check(settings: Settings, choice: ModelChoice) -> Sequence[ToolsForm]:
    if choice.endpoint is None or not choice.endpoint.offers_forms(choice.model):
        return (ToolsForm.TEXT,)
    return MEASURED if settings.models.tools_form is ToolsForm.AUTO else (settings.models.tools_form,)
