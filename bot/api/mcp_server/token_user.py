"""The person of a token, as an MCP client acts for them over HTTP."""

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from agent.admission_terms import Rate, Whose
from agent.errors import Refused
from agent.events import Outcome
from agent.incoming import Incoming
from agent.ports.api_tokens import ApiToken
from agent.ports.tools import Asker
from agent.turn_setup import asker_of
from bot.api.asking import ApiAsking, conversation_id
from bot.api.mcp_server import texts
from bot.api.mcp_server.service import Answer, ShowStatus
from bot.api.wire import ApiQuestion, Endpoint
from bot.chat.access.admission import MINUTE, RateCounter, limit_sentence
from bot.chat.message_caller import MessageCaller

CALLS_A_MINUTE: Final = 60  # Of one person, besides questions, which have the rates of questions
NOTES: Final = "mcp"  # The name of the conversation with what a person's clients remember
WORKING_S: Final = 15.0  # Between two signs that the bot still works: clients give up after a silent minute


def call_rates() -> RateCounter:
    return RateCounter((Rate(Whose.PERSON, CALLS_A_MINUTE, MINUTE),))


@dataclass(frozen=True, slots=True)
class ThreadCaller(MessageCaller):
    """`thread`: the conversation that "this thread" means; "" for none."""

    thread: str = ""

    async def private_asker(self) -> Asker:
        return replace(asker_of(self.incoming), thread=frozenset({self.thread} - {""}))


@dataclass(frozen=True, slots=True)
class TokenUser:
    """Implements `McpUser`. `rates`: of all calls but questions, which the ledger counts."""

    asking: ApiAsking
    token: ApiToken
    rates: RateCounter

    async def message(self, text: str, conversation: str) -> Incoming:
        asked = await self._admitted()
        id_ = self.asking.new_id()
        return replace(asked, text=text, event_id=id_, message_id=id_, conversation=conversation)

    async def caller(self, conversation: str) -> ThreadCaller:
        return ThreadCaller(await self._admitted(), 0, thread=conversation)

    def new_conversation(self) -> str:
        return conversation_id(self.token, self.asking.new_id())

    @property
    def notes(self) -> str:
        return conversation_id(self.token, NOTES)

    async def ask(self, question: str, conversation: str, status: ShowStatus) -> Answer:
        beginning = conversation_id(self.token, "")
        if not conversation.startswith(beginning):
            raise Refused(texts.THREAD_ELSEWHERE)
        name, id_ = conversation.removeprefix(beginning), self.asking.new_id()
        wanted = ApiQuestion(Endpoint.RESPONSES, question, conversation=name)
        async with self.asking.opened(self.token, wanted, name, id_) as opened:
            # The client's model wrote the question, and nobody knows from whose text.
            asked = replace(opened, incoming=replace(opened.incoming, own=False, channel=self.token.mcp_account))
            answering = asyncio.create_task(self.asking.ask(asked))
            try:
                while not answering.done():
                    await asyncio.wait({answering}, timeout=WORKING_S)
                    if not answering.done():
                        await status(texts.WORKING)
                outcome = await answering
            finally:
                answering.cancel()
                await asyncio.wait({answering})
            return Answer(asked.pending.text, conversation, complete=outcome is not Outcome.REFUSED)

    async def _admitted(self) -> Incoming:
        """Return an empty message of the person, if they may write to the bot now. Raises CogencyError."""
        asked, core = await self.asking.message_of(self.token), self.asking.core
        if core.admission is None or core.operates(asked.person.id):
            return asked
        if (why := await core.admission.refusal(asked)) is not None:
            raise Refused(why)
        if (reached := await self.rates.obstacle(asked.person.id, "", core.clock.now())) is not None:
            raise Refused(limit_sentence(reached, asked.person.time_zone)[1])
        return asked
