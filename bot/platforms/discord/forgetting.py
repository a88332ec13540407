"""The buttons under `/forget`: who pressed what, and what that means.

Above: `commands` shows them, `client` hands over what is pressed. Below: `bot.wording`.

Who asked, what falls and where stand in the button's own id. So only the caller can use it, and it works after a
restart of the bot, with nothing remembered until it is pressed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import discord

from agent.errors import CogencyError
from agent.records import Receipt
from bot import wording
from bot.host import Host
from bot.platforms.discord.inbound import private_conversation
from bot.platforms.discord.place import known_as
from bot.wording import Scope

NOT_YOURS = "Only the person who asked can decide this."

QUESTIONS = {
    Scope.THREAD: "Shall I forget this thread: what you said here, and what I remembered from it? "
    "This cannot be undone.",
    Scope.EVERYTHING: "Shall I forget everything that you told me: all threads, and all that I remember about you? "
    "This cannot be undone.",
}

_ID = re.compile(r"forget:(thread|everything|nothing):(\d{1,20}):(\d{1,20})", re.ASCII)

BUTTONS_LIVE_S = 900.0
"""The library forgets them after this; pressed later, they still work."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A button: what is forgotten (None: nothing), whose it is, and the channel in which it was asked."""

    scope: Scope | None
    person: int
    channel: int

    @property
    def id(self) -> str:
        return f"forget:{self.scope or 'nothing'}:{self.person}:{self.channel}"


def decision(button_id: str) -> Decision | None:
    """The inverse of `Decision.id`; None for a button that is not one of these."""
    found = _ID.fullmatch(button_id)
    if found is None:
        return None
    scope = None if found[1] == "nothing" else Scope(found[1])
    return Decision(scope, int(found[2]), int(found[3]))


def buttons(scope: Scope, person: int, channel: int) -> discord.ui.View:
    view = discord.ui.View(timeout=BUTTONS_LIVE_S)
    yes, no = Decision(scope, person, channel), Decision(None, person, channel)
    view.add_item(discord.ui.Button(label="Forget", style=discord.ButtonStyle.danger, custom_id=yes.id))
    view.add_item(discord.ui.Button(label="Keep", style=discord.ButtonStyle.secondary, custom_id=no.id))
    return view


async def decide(interaction: discord.Interaction, made: Decision, host: Host) -> None:
    """Do what the button says, for the one who may press it, and put the receipt in its place."""
    if interaction.user.id != made.person:
        await interaction.response.send_message(NOT_YOURS, ephemeral=True)
    elif made.scope is None:
        await interaction.response.edit_message(content=wording.forget_declined(), view=None)
    else:
        await interaction.response.defer()  # erasing with proof may take longer than three seconds
        await interaction.edit_original_response(content=await _forget(made, made.scope, host), view=None)


async def _forget(made: Decision, scope: Scope, host: Host) -> str:
    person = known_as(made.person)
    here = [known_as(made.channel), private_conversation(made.channel, made.person)]
    try:
        receipts = [await host.forget(person, each) for each in (here if scope is Scope.THREAD else [None])]
    except CogencyError as error:
        return wording.failure(error)
    return wording.receipt_text(added(receipts))


def added(receipts: Sequence[Receipt]) -> Receipt:
    """Several receipts as one."""
    kinds = dict.fromkeys(kind for receipt in receipts for kind in receipt.erased)
    return Receipt(
        {kind: sum(receipt.erased.get(kind, 0) for receipt in receipts) for kind in kinds},
        found_again=sum(receipt.found_again for receipt in receipts),
        bytes_gone=all(receipt.bytes_gone for receipt in receipts),
        kept_by_server=any(receipt.kept_by_server for receipt in receipts),
    )
