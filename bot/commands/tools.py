"""`/tools`: where somebody is signed in, so that tools can work with their own account; signing in, and out."""

from collections.abc import Mapping, Sequence

from bot.access.acl import Requester
from bot.commands.declaration import Argument, Command, CommandCall, Panel, PanelAction
from bot.host import CommandHost

WORDS = ("sign in SERVER", "sign out SERVER")
"""Offered while somebody types; what is in capitals they replace."""
MAX_BUTTONS = 10
"""Of one panel; whoever has more accounts writes the words."""


async def show(call: CommandCall) -> Panel:
    person = (await call.caller.viewer()).person
    answer = await call.host.sign_ins.answer(person, call.words)
    actions = (
        *(PanelAction(f"Sign in at {name}", f"sign in {name}") for name in answer.others),
        *(PanelAction(f"Sign out of {name}", f"sign out {name}", danger=True) for name in answer.signed_in),
    )
    return Panel(answer.text, actions[:MAX_BUTTONS])


async def _words_offered(_: CommandHost, __: Requester, ___: Mapping[str, str]) -> Sequence[str]:
    return WORDS


def _is_sign(words: str) -> bool:
    """Whether they order it: talk about signing in names no server alone."""
    said = words.casefold().split()
    return said[:1] == ["sign"] and said[1:2] in (["in"], ["out"]) and len(said) in (3, 4)


COMMAND = Command(
    name="tools",
    summary="Show where you are signed in for my tools; sign in and out",
    run=show,
    arguments=(
        Argument("words", "sign in or sign out, and the server", hint="[sign in|out SERVER]", suggests=_words_offered),
    ),
    means=lambda words, _: _is_sign(words),
    examples={
        "sign in wiki": "get a link, and use a server with your own account",
        "sign out wiki": "end that, here and at the server",
    },
)
