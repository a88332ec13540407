"""The operators' view of models: what the last `cogency check-model` found of each, and what was not tried.

Rule: it shows the models that this process may use, also those that were never checked, and checks of others. All of it
is untrusted text.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from agent.ports.preferences import Preferences
from bot.models import texts as models_texts
from bot.models.abilities import Verdict
from bot.models.checked import ModelCheck, read_checks, rows, took
from bot.models.choice import ModelChoice
from bot.operators import texts as operator_texts
from bot.operators.pages.frame import OperatorView, ViewAnswer

SHOWN: Final = 50
_STATES: Final = {Verdict.YES: "good", Verdict.NO: "warn", Verdict.FAILED: "bad"}
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)

InUse = Callable[[], Sequence[ModelChoice]]


def models_view(preferences: Preferences, in_use: InUse, keys: Callable[[], Sequence[str]]) -> OperatorView:
    """`in_use`: the models that may be asked; `keys`: a sentence for each key that is not used now."""
    return OperatorView("/models", operator_texts.VIEW_MODELS, partial(_models, preferences, in_use, keys))


async def _models(
    preferences: Preferences, in_use: InUse, keys: Callable[[], Sequence[str]], _: Mapping[str, str]
) -> ViewAnswer:
    checks = {(check.model, check.address): check for check in await read_checks(preferences)}
    used = {(choice.name, choice.endpoint.address): choice for choice in in_use() if choice.endpoint is not None}
    unchecked = {name: _unchecked(choice) for name, choice in used.items() if name not in checks}
    mine = [(checks | unchecked)[name] for name in used]
    others = [check for name, check in checks.items() if name not in used]
    shown = [_shown(check, is_used=number < len(mine)) for number, check in enumerate([*mine, *others][:SHOWN])]
    return ViewAnswer("models.html", {"models": shown, "keys": keys()})


def _unchecked(choice: ModelChoice) -> ModelCheck:
    endpoint = choice.endpoint
    assert endpoint is not None  # noqa: S101 -- the rehearsal is left out above
    return ModelCheck(choice.name, endpoint.address, _NEVER, "", 0, endpoint.offers_forms(choice.model))


def _shown(check: ModelCheck, *, is_used: bool) -> Mapping[str, object]:
    return {
        "name": check.model,
        "address": check.address,
        "is_used": is_used,
        "when": "" if check.time == _NEVER else f"{check.time:%Y-%m-%d %H:%M}",
        "version": check.version,
        "took": took(check),
        "rows": [
            {
                "name": row.name,
                "verdict": models_texts.VERDICTS[row.verdict],
                "state": _STATES.get(row.verdict, ""),
                "sentence": row.sentence,
            }
            for row in rows(check)
        ],
    }
