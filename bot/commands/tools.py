"""`/tools`: what the bot can use for somebody here, what waits for their word, and where they are signed in."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from agent.ports import Asker
from bot.access.acl import Requester
from bot.commands import declaration
from bot.host import CommandHost, ToolsAnswer
from bot.texts import command_texts

ALLOW, ALWAYS, REFUSE = "allow", "always", "refuse"
"""What is said of a call that waits; its name follows."""
WORDS = ("sign in SERVER", "sign out SERVER")
"""Offered while somebody types; what is in capitals they replace."""
MAX_BUTTONS = 10
"""Of one panel; whoever has more accounts writes the words."""


WaitingPanel: TypeAlias = Callable[[int], Awaitable[declaration.Panel | None]]
"""What the turn of this number waits for, for its asker; None if it waits for nothing."""


def show_words(turn: int) -> str:
    """What shows the calls of this turn that wait."""
    return f"waiting {turn}"


async def show(call: declaration.CommandCall) -> declaration.Panel:
    """What waits comes first, and alone: nothing else is decided beside it."""
    words = call.words.split(maxsplit=1)
    if words[:1] and words[0].casefold() == "sign":
        return await _sign_ins(call)
    answer = await call.host.tools(await call.caller.tool_asker(), call.words)
    if words or answer.call:
        return _panel(answer)
    accounts = await _sign_ins(call)
    return declaration.Panel(f"{answer.text}\n\n{accounts.text}" if accounts.actions else answer.text, accounts.actions)


async def waiting(host: CommandHost, asker: Asker, turn: int) -> declaration.Panel | None:
    """What this turn waits for, to be shown to its asker unasked; None if it waits no more. Raises CogencyError."""
    answer = await host.tools(asker, show_words(turn))
    return _panel(answer) if answer.call else None


def _panel(answer: ToolsAnswer) -> declaration.Panel:
    labels = {ALLOW: command_texts.ALLOW_ONCE, ALWAYS: command_texts.ALLOW_HERE, REFUSE: command_texts.REFUSE}
    actions = tuple(
        declaration.PanelAction(label, f"{word} {answer.call}", danger=word == REFUSE)
        for word, label in labels.items()
        if answer.call and (word != ALWAYS or answer.may_stand)
    )
    return declaration.Panel(answer.text, actions, refused=answer.refused)


async def _sign_ins(call: declaration.CommandCall) -> declaration.Panel:
    person = (await call.caller.viewer()).person
    answer = await call.host.sign_ins.answer(person, call.words)
    actions = (
        *(declaration.PanelAction(f"Sign in at {name}", f"sign in {name}") for name in answer.others),
        *(declaration.PanelAction(f"Sign out of {name}", f"sign out {name}", danger=True) for name in answer.signed_in),
    )
    return declaration.Panel(answer.text, actions[:MAX_BUTTONS])


async def _words_offered(_: CommandHost, __: Requester, ___: Mapping[str, str]) -> Sequence[str]:
    return WORDS


def _is_sign(words: str) -> bool:
    """Whether they order it: talk about signing in names no server alone."""
    said = words.casefold().split()
    return said[:1] == ["sign"] and said[1:2] in (["in"], ["out"]) and len(said) in (3, 4)


COMMAND = declaration.Command(
    name="tools",
    summary="Show what I can use for you here, allow or refuse what waits; sign in and out",
    run=show,
    arguments=(
        declaration.Argument(
            "words", "sign in or sign out, and the server", hint="[sign in|out SERVER]", suggests=_words_offered
        ),
    ),
    phrases=("my tools", "show tools"),
    means=lambda words, _: _is_sign(words),
    examples={
        "sign in wiki": "get a link, and use a server with your own account",
        "sign out wiki": "end that, here and at the server",
    },
)
