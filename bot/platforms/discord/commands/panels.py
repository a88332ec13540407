"""What one person alone is shown: panels of text, with buttons beside and below it.

Above: `interactions`, `memory`, `forgetting`, `preferences`, `menus`. Below: discord.py, `bot.reply.split`.

Rules. A panel is made of components alone ("Components V2"), and Discord never lets such a message be plain text again:
so each of these answers is a panel from the start, also one that only says what went wrong. Links in it unfold nothing.
"""

from typing import Final, TypeAlias

import discord

from bot.reply.split import pages

Panel: TypeAlias = discord.ui.LayoutView
Part: TypeAlias = discord.ui.Item[discord.ui.LayoutView]
Button: TypeAlias = discord.ui.Button[discord.ui.LayoutView]
Interaction: TypeAlias = discord.Interaction[discord.Client]

MAX_CHARS: Final = 4_000
"""Discord's limit of all texts of a panel together."""
MAX_FOLLOWING: Final = 4
"""Panels behind the first: one less than may follow a command that its person alone has installed."""
LIVES_S: Final = 900.0
"""The library forgets buttons and windows after this; pressed later, they still work."""
MORE: Final = "(There is more of this than fits here.)"


def panel(*parts: Part) -> Panel:
    """These parts below each other; at most 40, counting those inside of others."""
    shown = discord.ui.LayoutView(timeout=LIVES_S)
    for part in parts:
        shown.add_item(part)
    return shown


def text(markdown: str, most: int = MAX_CHARS) -> Part:
    """`markdown`, as much of it as `most` characters hold."""
    first = pages(markdown, most)
    return discord.ui.TextDisplay(first[0].text if first else "…")


def beside(markdown: str, accessory: Button) -> Part:
    """Text with a button at its side."""
    return discord.ui.Section(discord.ui.TextDisplay(markdown), accessory=accessory)


def row(*buttons: Button) -> Part:
    """Up to five buttons side by side."""
    return discord.ui.ActionRow(*buttons)


def choice(custom_id: str, placeholder: str, options: list[discord.SelectOption]) -> Part:
    """A menu of up to 25 options, one of which may be chosen."""
    menu = discord.ui.Select[discord.ui.LayoutView](custom_id=custom_id, placeholder=placeholder, options=options)
    return discord.ui.ActionRow(menu)


def button(label: str, custom_id: str, style: discord.ButtonStyle = discord.ButtonStyle.secondary) -> Button:
    return discord.ui.Button[discord.ui.LayoutView](label=label, style=style, custom_id=custom_id)


async def put(interaction: Interaction, shown: Panel) -> None:
    """Show it in the place of what an acknowledged command or button shows. Raises discord.HTTPException."""
    await interaction.edit_original_response(content=None, view=shown)


async def say(interaction: Interaction, markdown: str) -> None:
    """The same with text alone; what one panel cannot hold follows in others. Raises discord.HTTPException."""
    first, *more = [page.text for page in pages(markdown, MAX_CHARS - len(MORE))] or ["…"]
    await put(interaction, panel(text(first)))
    for number, following in enumerate(more[:MAX_FOLLOWING], start=1):
        cut = number == MAX_FOLLOWING < len(more)
        parts = [text(following), text(MORE)] if cut else [text(following)]
        await interaction.followup.send(view=panel(*parts), ephemeral=True)


async def refuse(interaction: Interaction, sentence: str) -> None:
    """Answer a button or a command that is not yet acknowledged, for whoever used it alone. Raises as above."""
    await interaction.response.send_message(view=panel(text(sentence)), ephemeral=True)


async def follow(interaction: Interaction, sentence: str) -> None:
    """The same behind its acknowledgement. Raises as above."""
    await interaction.followup.send(view=panel(text(sentence)), ephemeral=True)
