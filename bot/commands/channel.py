"""Commands for a place's managers: `/channel`, how the bot answers there; `/policy`, rules that hold for everyone;
`/knowledge`, the documents that it knows there; and `/learn`, which adds one, as "learn this" behind a mention does.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent.memory.writing import POLICY_AUTHORITY
from bot.access.acl import OFF, PlaceAnswer, PlaceRule
from bot.commands import declaration
from bot.host import KnowledgeAnswer, ShownDocument
from bot.memory import policies
from bot.memory.knowledge_desk import KnowledgeDesk, is_knowledge_request
from bot.memory.place_desk import MAX_INSTRUCTIONS, MAX_LANGUAGE, PlaceDesk, is_place_request
from bot.texts import command_texts, memory_texts

# Suggested while a person types; the capitals are to be replaced.
WORDS = (
    "history",
    "undo",
    "who everyone",
    "who members",
    "models NAME, NAME",
    "model NAME",
    "instructions: TEXT",
    "language NAME",
    "ambient on",
    "ambient off",
    "learning on",
    "learning off",
    "knowledge on",
    "knowledge off",
)
BOUNDS = (5, 10, 20, 50)  # Suggested numbers of answers a day


async def show(desk: PlaceDesk, call: declaration.CommandCall) -> declaration.Panel:
    asker = await call.caller.asker()
    answer = await desk.answer(asker, call.words, call.caller.announce, call.caller.not_receiving)
    if answer.chosen is None or call.caller.entry_chars is None:
        return declaration.Panel(answer.text, refused=answer.refused)
    return channel_panel(answer, answer.chosen, desk.models)


def channel_panel(answer: PlaceAnswer, chosen: Mapping[str, str], models: Sequence[str]) -> declaration.Panel:
    """Return the panel with the buttons and menus of a channel's manager; other changes are written as words."""
    actions = [INSTRUCTIONS.button(), LANGUAGE.button()]
    actions += [MODELS.button()] if models else []
    for rule in (PlaceRule.LEARNING, PlaceRule.KNOWLEDGE):
        is_on = chosen.get(rule) != OFF
        confirm = memory_texts.SURE_TO_LEARN if rule is PlaceRule.LEARNING and not is_on else ""
        label = (command_texts.SWITCH_OFF if is_on else command_texts.SWITCH_ON).format(what=rule)
        actions.append(declaration.PanelAction(label, f"{rule} {'off' if is_on else 'on'}", confirm=confirm))
    who = {"everyone": memory_texts.PLACE_USUAL[PlaceRule.WHO], "members": memory_texts.FULL_MEMBERS}
    selects = [(PlaceRule.WHO, who, "")]
    if models:
        names = {"usual": memory_texts.PLACE_USUAL[PlaceRule.MODEL]} | {name: name for name in models}
        selects.append((PlaceRule.MODEL, names, chosen.get(PlaceRule.MODEL, "")))
    if answer.most_ambient:
        bounds = {str(bound) for bound in (*BOUNDS, answer.most_ambient) if bound <= answer.most_ambient}
        bounds |= {current} if (current := chosen.get(PlaceRule.AMBIENT, "")) else set()
        labels = {number: command_texts.A_DAY.format(many=number) for number in sorted(bounds, key=int)}
        selects.append((PlaceRule.AMBIENT, {"off": memory_texts.PLACE_USUAL[PlaceRule.AMBIENT]} | labels, current))
    parts = [
        declaration.PanelPart(select=declaration.PanelSelect(memory_texts.PLACE_RULES[rule], options, current, rule))
        for rule, options, current in selects
    ]
    return declaration.Panel(answer.text, tuple(actions), tuple(parts))


async def _prefilled(desk: PlaceDesk, call: declaration.CommandCall) -> declaration.Filled:
    """The form starts with the current values."""
    chosen = await desk.chosen(call.caller.channel)
    return {rule.value: chosen.get(rule, "") for rule in PlaceRule}


async def _with_models(desk: PlaceDesk, _: declaration.CommandCall) -> declaration.PanelForm:
    choices = {name: name for name in desk.models}
    return replace(MODELS, fields=(replace(MODELS.fields[0], choices=choices),))


async def _words_offered(*_: object) -> Sequence[str]:
    return WORDS


INSTRUCTIONS = declaration.PanelForm(
    name="channelwords",
    label="Instructions…",
    title="Instructions here",
    submit="Set",
    fields=(
        declaration.FormField(
            PlaceRule.INSTRUCTIONS,
            "What I should do here",
            declaration.FieldKind.LINES,
            hint="I read it with every question asked here. Empty for none.",
            optional=True,
            max_chars=MAX_INSTRUCTIONS,
        ),
    ),
    words=lambda filled: f"instructions: {filled[PlaceRule.INSTRUCTIONS] or 'none'}",
)
LANGUAGE = declaration.PanelForm(
    name="channellanguage",
    label="Language…",
    title="Language here",
    submit="Set",
    fields=(
        declaration.FormField(
            PlaceRule.LANGUAGE,
            "The language of my answers",
            hint="Such as German. Empty for the usual one.",
            optional=True,
            max_chars=MAX_LANGUAGE,
        ),
    ),
    words=lambda filled: f"language {filled[PlaceRule.LANGUAGE] or 'usual'}",
)
MODELS = declaration.PanelForm(
    name="channelmodels",
    label="Models…",
    title="Models here",
    submit="Set",
    fields=(
        declaration.FormField(
            PlaceRule.MODELS,
            "The only models here",
            declaration.FieldKind.PICKS,
            hint="None of them: all that people may choose.",
            optional=True,
        ),
    ),
    words=lambda filled: f"models {filled[PlaceRule.MODELS] or 'all'}",
)

COMMAND = declaration.Command(
    name="channel",
    summary="Show how I answer in this channel; who manages it changes that",
    run=show,
    suggests={"words": _words_offered},
    prefills={form.name: _prefilled for form in (INSTRUCTIONS, LANGUAGE, MODELS)},
    builds={MODELS.name: _with_models},
    arguments=(
        declaration.Argument(
            "words",
            "who, models, model, instructions, language, ambient, learning, knowledge; history or undo",
            mentions=True,
        ),
    ),
    scope=declaration.CommandScope.SERVERS,
    bare=False,
    forms=(INSTRUCTIONS, LANGUAGE, MODELS),
    phrases=("channel settings", "show channel settings"),
    means=lambda words, _: is_place_request(words),
    examples={
        "who members": "let only full members ask; or name people and roles",
        "models NAME, NAME": "let only these models answer; `model NAME` for who chose none",
        "instructions: Answer with a link to our wiki": "have me read this with every question here",
        "ambient on": "have me answer open questions that nobody put to me, some a day",
        "learning off": "have me learn nothing about anybody from this channel",
        "undo": "take the last change back; `history` shows them all",
    },
)


# Policies of a place.

NO_COLON = "Please write it without a colon."
NUMBER = "Please write the number that stands before it in the list."
# Suggested while a person types; the capitals are to be replaced.
POLICY_WORDS = ("list", "history", "set NAME: WHAT HOLDS", "remove 1")


async def show_policy(desk: policies.PolicyDesk, call: declaration.CommandCall) -> declaration.Panel:
    asker = await call.caller.policy_asker()
    panel = await desk.answer(asker, call.words)
    sets = not call.words and (asker.authority >= POLICY_AUTHORITY or desk.operates(asker.person.id))
    return replace(panel, actions=policy_actions(panel.text) if sets else ())


def policy_actions(text: str) -> tuple[declaration.PanelAction, ...]:
    """Return the buttons below the list, for those who may set policies."""
    return (SET_POLICY.button(),) if text == memory_texts.NO_POLICY else (SET_POLICY.button(), REMOVE_POLICY.button())


async def _policy_words(*_: object) -> Sequence[str]:
    return POLICY_WORDS


def _set_policy_words(filled: declaration.Filled) -> str:
    return f"set {filled['name']}: {filled['text']}" if filled["name"] else f"set {filled['text']}"


def _set_policy_mistakes(filled: declaration.Filled) -> Mapping[str, str]:
    return {"name": NO_COLON} if ":" in filled["name"] else {}


def _remove_policy_words(filled: declaration.Filled) -> str:
    return f"remove {filled['number']}"


def _remove_policy_mistakes(filled: declaration.Filled) -> Mapping[str, str]:
    return (
        {}
        if isinstance(policies.read_policy_request(_remove_policy_words(filled)), policies.RemovePolicy)
        else {"number": NUMBER}
    )


SET_POLICY = declaration.PanelForm(
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
            max_chars=policies.MAX_NAME_CHARS,
        ),
        declaration.FormField("text", "What holds", declaration.FieldKind.LINES, max_chars=policies.MAX_CHARS),
        declaration.FormField(
            "place",
            "Only in this private channel",
            declaration.FieldKind.ELSEWHERE,
            hint="Empty: in all public channels.",
            optional=True,
        ),
    ),
    words=_set_policy_words,
    mistakes=_set_policy_mistakes,
)
REMOVE_POLICY = declaration.PanelForm(
    name="removal",
    label="Remove a policy…",
    title="Remove a policy",
    submit="Remove",
    fields=(declaration.FormField("number", "Its number in the list", max_chars=12),),
    words=_remove_policy_words,
    mistakes=_remove_policy_mistakes,
)

POLICY_COMMAND = declaration.Command(
    name="policy",
    summary="Show what holds for everybody here; managers set and remove it",
    run=show_policy,
    suggests={"words": _policy_words},
    arguments=(declaration.Argument("words", "list, history, set NAME: WHAT HOLDS, or remove 3"),),
    scope=declaration.CommandScope.SERVERS,
    forms=(SET_POLICY, REMOVE_POLICY),
    phrases=("show policy", "policies", "show policies"),
    means=lambda words, _: not isinstance(policies.read_policy_request(words), policies.UnclearPolicy),
    examples={
        "set budget: at most 50 EUR": "set what holds; a name stands before the colon",
        "remove 3": "take it back",
        "history": "see what held before",
    },
)


# Documents of a place.

SHARE = declaration.PanelAction("Share what is told here", "share on", confirm=memory_texts.SURE_TO_SHARE)
STOP_SHARING = declaration.PanelAction("Stop sharing", "share off")
SURE_TO_REMOVE = "I will know it no longer, and erase it. What I said of it stays where I said it."
KNOWLEDGE_WORDS = ("list", "show 3", "remove 3", "share on", "share off")  # Suggested while a person types


async def show_knowledge(desk: KnowledgeDesk, call: declaration.CommandCall) -> declaration.Panel:
    answer = await desk.answer(await call.caller.asker(), call.words, call.caller.announce)
    return knowledge_panel(answer, buttons=call.caller.entry_chars is not None)


def knowledge_panel(answer: KnowledgeAnswer, *, buttons: bool = True) -> declaration.Panel:
    """`buttons`: whether the platform has them; if not, the syntax is shown."""
    parts = [_document_part(document) for document in answer.documents]
    if answer.pages > 1:
        usage = "" if buttons else memory_texts.KNOWLEDGE_PAGE
        parts.append(declaration.page_part(answer.page, answer.pages, usage))
    if answer.documents and not buttons:
        parts.append(declaration.PanelPart(memory_texts.KNOWLEDGE_USAGE))
    switch = {None: (), True: (STOP_SHARING,), False: (SHARE,)}[answer.shares] if buttons else ()
    return declaration.Panel(answer.text, switch, parts=tuple(parts), refused=answer.refused)


def _document_part(document: ShownDocument) -> declaration.PanelPart:
    actions = [declaration.PanelAction("Show", f"show {document.id}")]
    if document.may_go:
        actions.append(declaration.PanelAction("Remove", f"remove {document.id}", danger=True, confirm=SURE_TO_REMOVE))
    return declaration.PanelPart(document.text, tuple(actions))


async def _knowledge_words(*_: object) -> Sequence[str]:
    return KNOWLEDGE_WORDS


KNOWLEDGE_COMMAND = declaration.Command(
    name="knowledge",
    summary="See the documents that I know here, and who else is served by what you tell me here",
    run=show_knowledge,
    suggests={"words": _knowledge_words},
    arguments=(declaration.Argument("words", "list, show 3, remove 3, share on or share off"),),
    phrases=("show knowledge", "what do you know here", "documents", "show documents"),
    means=lambda words, _: is_knowledge_request(words),
    examples={
        "show 3": "see how a document begins",
        "remove 3": "have it removed, bytes included",
        "share on": "for who manages a public channel: let what is told me here from now on serve others of the team",
    },
)


# Adding documents.

# The only words allowed beside "learn" and links in an order; any other message is a question.
_THIS = re.compile(
    r"(?:this|these|that|it)?(?:\s+(?:files?|documents?|pdfs?|handbook|attachments?|links?|pages?|sites?))?"
    r"(?:\s+please)?",
    re.IGNORECASE,
)
# Links as people write them, in Markdown, and as Slack and Discord send them.
_LINK = re.compile(
    r"\[[^\[\]\n]{0,500}\]\((?P<named>https?://[^\s<>]+?)\)(?=[,;:.!?]*(?:\s|\Z))"
    r"|<(?P<marked>https?://[^\s<>|]+)(?:\|[^<>\n]{0,2000})?>|(?P<bare>https?://[^\s<>]+)",
    re.IGNORECASE,
)
MAX_LINK_CHARS = 4_000
_ENDS = ".,;:!?'\""
_BETWEEN = re.compile(r"(?<![,;:.!?])[,;:.!?]+(?=\s|\Z)|\band\b")


def links_in(words: str) -> list[str]:
    """Return the addresses in these words, each once."""
    addresses = (match["named"] or match["marked"] or _without_end(match["bare"]) for match in _LINK.finditer(words))
    return list(dict.fromkeys(addresses))


def _without_end(address: str) -> str:
    """Remove the punctuation of the sentence around an address; one that is too long is left, and is refused later."""
    if len(address) > MAX_LINK_CHARS:
        return address
    trimmed = address.rstrip(_ENDS)
    while trimmed.endswith(")") and trimmed.count(")") > trimmed.count("("):
        trimmed = trimmed[:-1].rstrip(_ENDS)
    return trimmed


async def learn(desk: KnowledgeDesk, call: declaration.CommandCall) -> declaration.Panel:
    """Read the given files and pages, which may take a minute, and store them."""
    pages = links_in(call.words)
    if not (call.files or pages):
        return declaration.Panel(memory_texts.NOTHING_TO_LEARN, refused=True)
    asker = await call.caller.asker()
    if desk.may_learn(asker):
        await call.show(declaration.Panel(memory_texts.LEARNING_NOW))
    answer = await desk.learn(asker, call.files, call.link, pages)
    return declaration.Panel(answer.text, refused=answer.refused)


def is_order(words: str) -> bool:
    rest = _BETWEEN.sub(" ", _LINK.sub(" ", words))
    return _THIS.fullmatch(" ".join(rest.split())) is not None


LEARN_COMMAND = declaration.Command(
    name="learn",
    summary="Have me know a file or a page here: whoever manages this place hands in documents",
    run=learn,
    arguments=(
        declaration.Argument(
            "link",
            "The address of a page of the web; several with blanks between them",
            hint="[https://… | nothing: attach the file to a message to me that says “learn this”]",
        ),
        declaration.Argument(
            "file",
            "The file: text, PDF, Word, Excel, PowerPoint",
            declaration.ArgumentKind.FILE,
        ),
    ),
    bare=False,
    means=lambda words, _: is_order(words),
    examples={
        "this": "with a file: know it from now on, in place of one with its name",
        "https://example.com/handbook": "know a page of the web, which is looked at again each day",
    },
)
