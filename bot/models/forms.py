"""In which form a model calls tools better, as `cogency check-model` found.

How many probes a model passed is stored for each form, with the model and its server, among the bot's own preferences.
COGENCY_TOOLS_FORM=auto follows the better form. If only one form was checked, or both passed equally often, it is text:
neither a model's size nor what its server reports says in which form it is better. With the one small model that was
measured and can use tools (docs/models.md), it was text in all runs, although its server offers native calls.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from agent.ports.preferences import Preferences
from agent.providers.catalog import Endpoint, ToolsForm
from agent.providers.wire import as_object, parse_json

OWNER: Final = "bot"
# Begins the preference's name; the server's address and the model follow.
PREFIX: Final = "tools_form "
MEASURED: Final = (ToolsForm.TEXT, ToolsForm.NATIVE)

Passed = Mapping[ToolsForm, int]
"""The number of probes that a model passed in each form that was checked."""
UNCHECKED: Final[Passed] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CheckedForms:
    """What is stored of all models. `entries`: by the name of the preference."""

    entries: Mapping[str, Passed] = field(default_factory=dict[str, Passed])

    def passed(self, endpoint: Endpoint, model: str) -> Passed:
        return self.entries.get(_name(endpoint, model), UNCHECKED)

    def form(self, endpoint: Endpoint, model: str) -> ToolsForm:
        """Return the better form; text if none is known to be better."""
        return better_form(self.passed(endpoint, model)) or ToolsForm.TEXT

    def are_compared(self, endpoint: Endpoint, model: str) -> bool:
        """Return whether the model was checked in both forms."""
        return all(form in self.passed(endpoint, model) for form in MEASURED)


def better_form(passed: Passed) -> ToolsForm | None:
    """Return the form in which a model passed more probes; None if that is not known."""
    if not all(form in passed for form in MEASURED) or passed[ToolsForm.TEXT] == passed[ToolsForm.NATIVE]:
        return None
    return max(MEASURED, key=lambda form: passed[form])


async def read_checked_forms(preferences: Preferences) -> CheckedForms:
    """Return what is stored. An entry that cannot be read counts as none. Raises StoreError."""
    stored = await preferences.all_of(OWNER)
    return CheckedForms({name: _read(value) for name, value in stored.items() if name.startswith(PREFIX)})


async def store_passed(preferences: Preferences, endpoint: Endpoint, model: str, passed: Passed) -> Passed:
    """Add results to those that are stored of a model, and return them all. Raises StoreError."""
    merged = {**(await read_checked_forms(preferences)).passed(endpoint, model), **passed}
    value = json.dumps({form.value: merged[form] for form in MEASURED if form in merged})
    await preferences.set(OWNER, _name(endpoint, model), value)
    return merged


def _name(endpoint: Endpoint, model: str) -> str:
    return f"{PREFIX}{endpoint.address} {model}"


def _read(value: str) -> Passed:
    entry = as_object(parse_json(value))
    counts = {form: entry.get(form.value) for form in MEASURED}
    return {form: count for form, count in counts.items() if isinstance(count, int) and not isinstance(count, bool)}
