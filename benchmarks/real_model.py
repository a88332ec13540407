"""The real model with which a benchmark learns, if the environment names one; no server is looked for."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from agent.machine import CLOCK
from bot.app.settings import load_settings
from bot.chat.learning_model import LearningModel
from bot.models.switch import ModelSwitch

MODELS: Final = ("COGENCY_LEARNING_MODEL", "COGENCY_MODEL")


def names_model(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for name in MODELS)


@asynccontextmanager
async def learning_model(environ: Mapping[str, str]) -> AsyncGenerator[LearningModel]:
    """Open the model. Raises SettingsError."""
    switch = await ModelSwitch.open(load_settings(environ).models, CLOCK, lambda: 0.5)
    try:
        yield switch.learning_model()
    finally:
        await switch.aclose()
