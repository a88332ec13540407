"""`/policy`: what holds for everybody in a place; managers set and remove it."""

from collections.abc import Mapping, Sequence

from agent.memory.writing import POLICY_AUTHORITY
from bot.commands import declaration
from bot.memory.policies import MAX_CHARS, MAX_NAME_CHARS, RemovePolicy, UnclearPolicy, read_policy_request
from bot.texts import memory_texts

NO_COLON = "Please write it without a colon."
NUMBER = "Please write the number that stands before it in the list."
WORDS = ("list", "history", "set NAME: WHAT HOLDS", "remove 1")
"""Offered while somebody types; what is in capitals they replace."""


async def show(call: declaration.CommandCall) -> declaration.Panel:
    asker = await call.caller.policy_asker()
    answer = await call.host.policy(asker, call.words)
    sets = not call.words and (asker.authority >= POLICY_AUTHORITY or call.host.operates(asker.person.id))
    return declaration.Panel(answer.text, policy_actions(answer.text) if sets else (), refused=answer.refused)


def policy_actions(shown: str) -> tuple[declaration.PanelAction, ...]:
    """What those who set policies are offered below their list."""
    return (SET.button(),) if shown == memory_texts.NO_POLICY else (SET.button(), REMOVE.button())


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


def _set_words(filled: declaration.Filled) -> str:
    return f"set {filled['name']}: {filled['text']}" if filled["name"] else f"set {filled['text']}"


def _set_mistakes(filled: declaration.Filled) -> Mapping[str, str]:
    return {"name": NO_COLON} if ":" in filled["name"] else {}


def _remove_words(filled: declaration.Filled) -> str:
    return f"remove {filled['number']}"


def _remove_mistakes(filled: declaration.Filled) -> Mapping[str, str]:
    return {} if isinstance(read_policy_request(_remove_words(filled)), RemovePolicy) else {"number": NUMBER}


SET = declaration.PanelForm(
    name="policy",
    label="Set a policy…",
    title="Set a policy",
    submit="Set",
    fields=(
        declaration.FormField(
            "name",
            "Name",
            hint="A new policy with this name takes the place of the old one.",
            optional=True,
            max_chars=MAX_NAME_CHARS,
        ),
        declaration.FormField("text", "What holds", declaration.FieldKind.LINES, max_chars=MAX_CHARS),
        declaration.FormField(
            "place",
            "Only in this private channel",
            declaration.FieldKind.ELSEWHERE,
            hint="Empty: in all public channels.",
            optional=True,
        ),
    ),
    words=_set_words,
    mistakes=_set_mistakes,
)
REMOVE = declaration.PanelForm(
    name="removal",
    label="Remove a policy…",
    title="Remove a policy",
    submit="Remove",
    fields=(declaration.FormField("number", "Its number in the list", max_chars=12),),
    words=_remove_words,
    mistakes=_remove_mistakes,
)

COMMAND = declaration.Command(
    name="policy",
    summary="Show what holds for everybody here; managers set and remove it",
    run=show,
    arguments=(
        declaration.Argument("words", "list, history, set NAME: WHAT HOLDS, or remove 3", suggests=_words_offered),
    ),
    scope=declaration.CommandScope.SERVERS,
    forms=(SET, REMOVE),
    phrases=("show policy", "policies", "show policies"),
    means=lambda words, _: not isinstance(read_policy_request(words), UnclearPolicy),
    examples={
        "set budget: at most 50 EUR": "set what holds; a name stands before the colon",
        "remove 3": "take it back",
        "history": "see what held before",
    },
)
