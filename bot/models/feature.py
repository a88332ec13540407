"""Models, as a feature of the chat bot."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bot.chat.commands.declaration import BoundCommand
from bot.chat.feature import Feature
from bot.chat.ports import ModelChoices
from bot.models import texts as models_texts
from bot.models.commands import MODEL_COMMAND
from bot.models.key_commands import KEYS_COMMAND
from bot.models.place_keys import PlaceKeyService


def feature(models: ModelChoices, keys: PlaceKeyService | None = None) -> Feature:
    """`keys`: None where there are no channels."""

    @asynccontextmanager
    async def serving() -> AsyncGenerator[None]:
        try:
            yield
        finally:
            if keys is not None:
                await keys.tasks.close()

    return Feature(name="models", commands=bound_commands(models, keys), serving=serving)


def bound_commands(models: ModelChoices, keys: PlaceKeyService | None = None) -> tuple[BoundCommand, ...]:
    of_channels = KEYS_COMMAND.refusing(models_texts.NO_OWN_KEYS_HERE) if keys is None else KEYS_COMMAND.bound(keys)
    return MODEL_COMMAND.bound(models), of_channels
