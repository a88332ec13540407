"""What `cogency check-model` found of a model: stored with its date, and shown in a terminal, as JSON and to operators.

It is stored among the bot's own preferences, under the server's address and the model. The newest check of a model
replaces the one before. What a check did not try is shown as not tried, whatever an earlier one found.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from agent.messages import Json
from agent.ports.preferences import Preferences
from agent.providers.catalog import ToolsForm
from agent.providers.wire import as_count, as_object, as_text, parse_json
from agent.spending import Money
from bot.chat.texts.formatting import counted, money, shortened
from bot.models import texts as models_texts
from bot.models.abilities import NOT_TRIED, Ability, Seen, Verdict
from bot.models.forms import MEASURED, OWNER, Passed, better_form

PREFIX: Final = "model_check "  # Begins the preference's name; the server's address and the model follow
USABLE: Final = 12  # Of twenty: rounds will need corrections, which show as waiting
WHY_CHARS: Final = 300  # Of an error


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """`passed`: of `probes`, in each form of tools that was checked. `chooses`: whether the form can be chosen; if not,
    TEXT stands for the only one. `version`: of this program. `cost`: of the check; None without a list price.
    """

    model: str
    address: str
    time: datetime
    version: str
    probes: int
    chooses: bool
    passed: Passed = field(default_factory=dict[ToolsForm, int])
    seen: Mapping[Ability, Seen] = field(default_factory=dict[Ability, Seen])
    calls: int = 0
    tokens: int = 0
    cost: Money | None = None

    @property
    def best_form(self) -> ToolsForm | None:
        """The form in which more probes were passed; None if that is not known."""
        return better_form(self.passed)

    def ability(self, ability: Ability) -> Seen:
        return self.seen.get(ability, NOT_TRIED)


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One line of what was found: its name, and a sentence on it."""

    name: str
    verdict: Verdict
    sentence: str


def rows(check: ModelCheck) -> tuple[CheckRow, ...]:
    """Return what was found, in the order in which it is shown."""
    forms = MEASURED if check.chooses else (ToolsForm.TEXT,)
    return (
        *(_form_row(check, form) for form in forms),
        *(_ability_row(ability, check.ability(ability)) for ability in Ability),
    )


def _form_row(check: ModelCheck, form: ToolsForm) -> CheckRow:
    name = models_texts.CHECKED_FORMS[form] if check.chooses else models_texts.CHECKED_ONLY_FORM
    passed = check.passed.get(form)
    if passed is None:
        return CheckRow(name, Verdict.NOT_TRIED, models_texts.CHECK_NOT_TRIED)
    sentence = models_texts.CHECKED_PROBES.format(passed=passed, probes=check.probes)
    return CheckRow(name, Verdict.YES if passed >= USABLE else Verdict.NO, sentence)


def _ability_row(ability: Ability, seen: Seen) -> CheckRow:
    return CheckRow(models_texts.ABILITIES[ability], seen.verdict, says(ability, seen))


def says(ability: Ability, seen: Seen) -> str:
    """Return the sentence on what was seen of an ability."""
    if seen.verdict is Verdict.NOT_TRIED:
        return models_texts.CHECK_NOT_TRIED
    if seen.verdict is Verdict.FAILED:
        return models_texts.CHECK_FAILED.format(why=seen.why)
    numbers = {name: seen.numbers.get(name, 0) for name in ("cached", "prompt", "low", "high", "tokens")}
    seconds = {name: seen.numbers.get(f"{name}_ms", 0) / 1000 for name in ("first", "last")}
    pieces = counted(seen.numbers.get("pieces", 0), "piece", "pieces")
    sentence = models_texts.SEEN[ability, seen.verdict, bool(seen.numbers)]
    return sentence.format(pieces=pieces, **numbers, **seconds)


def page(check: ModelCheck) -> str:
    """Return what was found, as text for a terminal."""
    shown = rows(check)
    width = max(len(row.name) for row in shown)
    head = models_texts.CHECK_PAGE.format(
        model=check.model, address=check.address, date=f"{check.time:%Y-%m-%d}", version=check.version
    )
    lines = (f"  {row.name:<{width}}  {models_texts.VERDICTS[row.verdict]:<9}  {row.sentence}" for row in shown)
    return "\n".join([head, "", *lines, "", models_texts.CHECK_TOOK.format(took=took(check))])


def took(check: ModelCheck) -> str:
    """Return what the check took: "46 calls, 60,000 tokens, $0.07"."""
    price = models_texts.CHECK_NO_PRICE if check.cost is None else money(check.cost)
    return f"{counted(check.calls, 'call', 'calls')}, {counted(check.tokens, 'token', 'tokens')}, {price}"


def as_json(check: ModelCheck) -> dict[str, Json]:
    """Return the form in which a check is stored and printed."""
    abilities: dict[str, Json] = {
        ability.value: {
            "verdict": check.ability(ability).verdict.value,
            **dict(check.ability(ability).numbers),
            **({"why": check.ability(ability).why} if check.ability(ability).why else {}),
        }
        for ability in Ability
    }
    best = check.best_form
    return {
        "model": check.model,
        "address": check.address,
        "time": check.time.isoformat(),
        "version": check.version,
        "tools": {
            "probes": check.probes,
            "form_can_be_chosen": check.chooses,
            "passed": {form.value: check.passed[form] for form in MEASURED if form in check.passed},
            "better_form": None if best is None else best.value,
        },
        "abilities": abilities,
        "calls": check.calls,
        "tokens": check.tokens,
        "cost_nanodollars": check.cost,
    }


def from_json(value: object) -> ModelCheck | None:
    """Return the check; None if it cannot be read."""
    stored = as_object(value)
    try:
        time = datetime.fromisoformat(as_text(stored.get("time")))
    except ValueError:
        return None
    model, tools = as_text(stored.get("model")), as_object(stored.get("tools"))
    if not model or time.tzinfo is None:
        return None
    passed = as_object(tools.get("passed"))
    abilities = as_object(stored.get("abilities"))
    cost = stored.get("cost_nanodollars")
    return ModelCheck(
        model,
        as_text(stored.get("address")),
        time.astimezone(UTC),
        as_text(stored.get("version")),
        as_count(tools.get("probes")),
        tools.get("form_can_be_chosen") is True,
        {form: as_count(passed[form.value]) for form in MEASURED if form.value in passed},
        {ability: _seen(ability, as_object(abilities.get(ability.value))) for ability in Ability},
        as_count(stored.get("calls")),
        as_count(stored.get("tokens")),
        Money(cost) if isinstance(cost, int) and not isinstance(cost, bool) and cost >= 0 else None,
    )


def _seen(ability: Ability, stored: Mapping[str, object]) -> Seen:
    word = as_text(stored.get("verdict"))
    verdict = Verdict(word) if word in {*Verdict} else Verdict.NOT_TRIED
    numbers = {name: as_count(number) for name, number in stored.items() if name not in {"verdict", "why"}}
    is_known = verdict in {Verdict.FAILED, Verdict.NOT_TRIED} or (ability, verdict, bool(numbers)) in models_texts.SEEN
    return Seen(verdict, numbers, shortened(as_text(stored.get("why")), WHY_CHARS)) if is_known else NOT_TRIED


async def store_check(preferences: Preferences, check: ModelCheck) -> None:
    """Store a check in place of an earlier one of this model. Raises StoreError."""
    await preferences.set(OWNER, f"{PREFIX}{check.address} {check.model}", json.dumps(as_json(check)))


async def read_checks(preferences: Preferences) -> Sequence[ModelCheck]:
    """Return all checks, the newest first. One that cannot be read counts as none. Raises StoreError."""
    stored = await preferences.all_of(OWNER)
    found = (from_json(parse_json(value)) for name, value in stored.items() if name.startswith(PREFIX))
    return sorted((check for check in found if check is not None), key=lambda check: check.time, reverse=True)
