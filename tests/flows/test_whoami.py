"""`/whoami` on Slack and Discord: for its user alone, whoever they are."""

import pytest

from bot.chat.texts import commands as command_texts
from tests.flows.talks import talking
from tests.flows.worlds import WORLDS, AnyWorld, Who

pytestmark = pytest.mark.parametrize("open_world", WORLDS)


async def test_everybody_is_told_alone_which_ids_they_have_and_what_they_can_do(open_world: AnyWorld) -> None:
    async with talking(open_world, ["Blue."]) as talk:
        await talk.asked()
        before = len(talk.world.answers())
        await talk.world.command("whoami")
        own_id = talk.world.person(Who.ASKER).rpartition(":")[2]
        await talk.world.until(lambda: any(f"person:{own_id}" in page.text for page in talk.world.private()))
        (page,) = [page for page in talk.world.private() if f"person:{own_id}" in page.text]
        assert "channel:" in page.text
        assert "team:" in page.text
        assert command_texts.OPEN_TO_MEMBERS in page.text
        assert len(talk.world.answers()) == before
