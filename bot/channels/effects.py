"""Applies the rules of a channel to its questions, prompts and answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

from agent.context import Persona
from agent.incoming import Incoming
from agent.ports.preferences import Preferences
from bot.channels.rule import ChannelRule, OnAnswer, OnPrompt, OnQuestion
from bot.channels.rules import CHANNEL_RULES
from bot.chat.access.place_rules import rules_at
from bot.chat.ports import AnswerRules


@dataclass(frozen=True, slots=True)
class ChannelEffects:
    """Implements `bot.chat.ports.ChannelRules`: the rules are read with each question, and act in their order."""

    preferences: Preferences
    rules: Sequence[ChannelRule] = CHANNEL_RULES

    async def refusal(self, incoming: Incoming) -> str | None:
        chosen = await rules_at(self.preferences, incoming.source, incoming.channel)
        for rule in self.rules:
            for effect in rule.effects if (value := chosen.text(rule.name)) else ():
                if isinstance(effect, OnQuestion) and (why := effect.refusal(value, incoming)) is not None:
                    return why
        return None

    async def answer(self, question: Incoming) -> AnswerRules:
        chosen = await rules_at(self.preferences, question.source, question.channel)
        effects = [
            (effect, value) for rule in self.rules if (value := chosen.text(rule.name)) for effect in rule.effects
        ]
        if not effects:
            return AnswerRules()
        shapes = [partial(effect.text, value) for effect, value in effects if isinstance(effect, OnAnswer)]

        def persona(usual: Persona) -> Persona:
            for effect, value in effects:
                if isinstance(effect, OnPrompt):
                    usual = effect.persona(value, usual, question)
            return usual

        return AnswerRules(persona, lambda text: reduce(lambda shaped, shape: shape(shaped), shapes, text))
