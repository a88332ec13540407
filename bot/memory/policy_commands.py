"""`/policy`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent.memory.writing import POLICY_AUTHORITY
from bot.chat.commands import declaration
from bot.chat.commands.declaration import HomeContent, HomeSection, HomeVisit
from bot.chat.panels import FieldKind, Filled, FormField, Panel, PanelAction, PanelForm
from bot.memory import policies
from bot.memory import texts as memory_texts

NO_COLON = "Write the name without a colon."
NUMBER = "Write the policy's number from the list."
# Suggested while a person types; the capitals are to be replaced.
POLICY_WORDS = ("list", "history", "set NAME: POLICY", "remove 1")


async def show_policy(service: policies.PolicyService, call: declaration.CommandCall) -> Panel:
    asker = await call.caller.policy_asker()
    if call.caller.entry_chars is None:
        service = replace(service, numbered=True)
    panel = await service.answer(asker, call.words)
    sets = not call.words and (asker.authority >= POLICY_AUTHORITY or service.operates(asker.person.id))
    return replace(panel, actions=policy_actions(panel.text) if sets else ())


def policy_actions(text: str) -> tuple[PanelAction, ...]:
    """Return the buttons below the list, for those who may set policies."""
    return (SET_POLICY.button(),) if text == memory_texts.NO_POLICY else (SET_POLICY.button(), REMOVE_POLICY.button())


async def _policy_words(*_: object) -> Sequence[str]:
    return POLICY_WORDS


def _set_policy_words(filled: Filled) -> str:
    return f"set {filled['name']}: {filled['text']}" if filled["name"] else f"set {filled['text']}"


def _set_policy_mistakes(filled: Filled) -> Mapping[str, str]:
    return {"name": NO_COLON} if ":" in filled["name"] else {}


def _remove_policy_words(filled: Filled) -> str:
    return f"remove {filled['number']}"


def _remove_policy_mistakes(filled: Filled) -> Mapping[str, str]:
    return (
        {}
        if isinstance(policies.read_policy_request(_remove_policy_words(filled)), policies.RemovePolicy)
        else {"number": NUMBER}
    )


SET_POLICY = PanelForm(
    name="policy",
    label="Set a policy…",
    title="Set a policy",
    submit="Set",
    fields=(
        FormField(
            "name",
            "Name",
            hint="A new policy replaces the old one with the same name.",
            optional=True,
            max_chars=policies.MAX_NAME_CHARS,
        ),
        FormField("text", "Policy", FieldKind.LINES, max_chars=policies.MAX_CHARS),
        FormField(
            "place",
            "Only in this private channel",
            FieldKind.ELSEWHERE,
            hint="Leave empty to apply the policy in all public channels.",
            optional=True,
        ),
    ),
    words=_set_policy_words,
    mistakes=_set_policy_mistakes,
)
REMOVE_POLICY = PanelForm(
    name="removal",
    label="Remove a policy…",
    title="Remove a policy",
    submit="Remove",
    fields=(FormField("number", "Number of the policy", max_chars=12),),
    words=_remove_policy_words,
    mistakes=_remove_policy_mistakes,
)


async def _home(visit: HomeVisit) -> HomeContent | None:
    return None if visit.guest else HomeContent(await visit.panel())


POLICY_COMMAND = declaration.Command(
    name="policy",
    summary="See the policies for everyone here; managers can set and remove them",
    run=show_policy,
    home=HomeSection(title=memory_texts.HOME_POLICIES, show=_home, long=True),
    suggests={"words": _policy_words},
    arguments=(declaration.Argument("words", "list, history, set NAME: POLICY, remove 3, or keep 3"),),
    scope=declaration.CommandScope.SERVERS,
    forms=(SET_POLICY, REMOVE_POLICY),
    phrases=("show policy", "policies", "show policies"),
    means=lambda words, _: not isinstance(policies.read_policy_request(words), policies.UnclearPolicy),
    examples={
        "set budget: at most 50 EUR": "set a policy; write its name before the colon",
        "remove 3": "remove policy 3",
        "keep 3": "keep policy 3, which may be out of date",
        "history": "see earlier policies",
    },
)
