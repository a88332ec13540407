"""The operators' view of models: what checks found, as text, and what was never tried."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.providers.catalog import ANTHROPIC, LLAMACPP
from bot.models.checked import store_check
from bot.models.choice import ModelChoice
from bot.operators.pages.frame import templates
from bot.operators.pages.models import models_view
from store.engine import Store
from tests.bot.models.test_checked import CHECK
from tests.fakes.incoming import START
from tests.fakes.new_database import open_new

HOSTILE = "<script>alert(1)</script>"
CODER = ModelChoice(LLAMACPP, "coder-1.5b", None, "")
CLAUDE = ModelChoice(ANTHROPIC, "claude-sonnet-5-5", None, "")
REHEARSAL = ModelChoice(None, "", None, "")


async def shown(store: Store, *in_use: ModelChoice, keys: Sequence[str] = ()) -> str:
    answer = await models_view(store.preferences, lambda: in_use, lambda: keys).show({})
    always: Mapping[str, Any] = {"navigation": [], "here": "/models", "csrf": "", "stylesheet": "", "now": START}
    return templates().get_template(answer.template).render({**always, **answer.values})


async def test_each_model_in_use_is_shown_with_what_was_found_and_what_was_not_tried() -> None:
    store = await open_new()
    assert "No model is in use" in await shown(store, REHEARSAL)
    await store_check(store.preferences, CHECK)
    await store_check(store.preferences, replace(CHECK, model=f"openai:{HOSTILE}", address=f"http://{HOSTILE}"))
    html = await shown(store, CLAUDE, CODER, keys=[f"OpenAI refused API key 1 of 2 {HOSTILE}."])
    await store.close()
    claude, coder, other = (html.index(f"<h2>{name}") for name in (CLAUDE.name, CODER.name, "openai:"))
    assert claude < coder < other, "the models in use come first, in their order"
    assert html[claude:coder].count(">not tried<") == 6
    assert "Not checked yet." in html[claude:coder]
    assert "Checked on 2026-01-05 12:00 UTC with Cogency 1.2.3 (26 calls, 31,000 tokens, $0.0700)" in html[coder:other]
    assert "It passed 16 of 20 probes." in html[coder:other]
    assert html[coder:other].count(">not tried<") == 3
    assert "not in the settings of this process" in html[other:]
    assert "OpenAI refused API key 1 of 2" in html
    assert HOSTILE not in html
