"""The author of a message as the user of a command."""

import pytest

from agent.errors import Refused
from bot.chat.message_caller import MessageCaller
from tests.fakes.incoming import said


async def test_a_command_that_runs_for_a_message_is_used_by_its_author_at_its_place() -> None:
    message = said("learn this")
    caller = MessageCaller(message, 5, manages=True)
    asker = await caller.asker()
    assert (asker.person, asker.place, asker.channel) == (message.person, message.place, message.channel)
    assert (asker.manages, asker.authority) == (True, message.authority)


async def test_a_message_opens_no_conversation_and_announces_nothing() -> None:
    caller = MessageCaller(said("learn this"), 5)
    with pytest.raises(Refused, match="slash"):
        await caller.begin_conversation()
    with pytest.raises(Refused, match="slash"):
        await caller.announce("News.")
