"""Which tag of a forum marks solved posts, and who may set it. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from bot.chat.access.place_rules import OFF
from bot.chat.forums import ForumTag, PostAccess
from bot.chat.texts.formatting import literal
from bot.forums import texts

MAX_TAGS: Final = 5  # Discord's limit of tags of one post

# Names of the tag, the most common ones first. A choice of the channel's managers takes precedence.
NAMES: Final = (
    *("solved", "resolved", "answered", "fixed"),
    *("gelöst", "beantwortet", "résolu", "résolue", "répondu", "resuelto", "solucionado", "resolvido", "respondido"),
    *("risolto", "opgelost", "löst", "løst", "rozwiązane", "решено", "вирішено", "çözüldü"),
    *("解決済み", "解決済", "已解决", "已解決", "해결됨", "해결"),
)
MAX_NAME_CHARS: Final = 100  # Discord takes 20
_EDGES: Final = re.compile(r"\A[\W_]+|[\W_]+\Z")


def plain_name(name: str) -> str:
    """Return the name of a tag as it is compared: without the emoji around it."""
    short = name.strip()[:MAX_NAME_CHARS]
    return _EDGES.sub("", short).casefold() or short.casefold()


def solved_tag(tags: Sequence[ForumTag], chosen: str) -> ForumTag | None:
    """Return the tag that marks solved posts: the chosen one ("" for none) if it still exists, else by its name."""
    if chosen == OFF:
        return None
    by_name = {plain_name(tag.name): tag for tag in reversed(tags)}
    names = (*((plain_name(chosen),) if chosen else ()), *NAMES)
    return next((by_name[name] for name in names if name in by_name), None)


def is_chosen(tag: ForumTag, chosen: str) -> bool:
    """Return whether the channel's managers named this tag."""
    return bool(chosen) and plain_name(tag.name) == plain_name(chosen)


def refusal(access: PostAccess, person: str, tag: ForumTag, chosen: str, *, on: bool) -> str:
    """Return why this person may not have the tag set (`on`) or removed there now, a sentence; "" if they may.

    A person who may do so in the platform's own client may. So may the author, who can do it there themselves, too,
    unless only moderators may set the tag: then the managers have named it for authors.
    """
    post = access.post
    if not access.manages:
        if post.person != person or not access.writes:
            return texts.POST_CLOSED if post.person == person and post.closed else texts.NOT_YOUR_POST
        if tag.moderated and not is_chosen(tag, chosen):
            return texts.ONLY_MANAGERS.format(tag=literal(tag.name))
    if access.lacking:
        return texts.BOT_LACKS.format(permission=access.lacking)
    if on and len(post.tags) >= MAX_TAGS:
        return texts.MANY_TAGS.format(most=MAX_TAGS)
    if not on and access.needs_tag and len(post.tags) == 1:
        return texts.LAST_TAG.format(tag=literal(tag.name))
    return ""


# What an author writes below a solved post: anything but thanks asks further.

_MENTION: Final = re.compile(r"<[^<>]{1,100}>")
_WORD: Final = re.compile(r"[^\W\d_]+")
_THANKS: Final = frozenset(
    _WORD.findall(
        """
        thanks thank you thx ty cheers much so very a lot it that works worked now great perfect awesome nice ok okay
        solved danke dank vielen sehr merci beaucoup gracias muchas obrigado obrigada muito grazie mille bedankt tack
        tak dzięki спасибо большое дякую teşekkürler ありがとう ありがとうございます 谢谢 謝謝 감사합니다
        """
    )
)
_MOST_WORDS: Final = 8
_MOST_CHARS: Final = 200  # A longer message is no mere thanks


def asks_further(text: str) -> bool:
    """Return whether a message of the author means that the post is not solved. An empty text, of which the words are
    not known, does.
    """
    if not text.strip() or len(text) > _MOST_CHARS or "?" in text:
        return True
    if text.lstrip().startswith("/"):  # a command
        return False
    words = [word.casefold() for word in _WORD.findall(_MENTION.sub(" ", text))]
    return len(words) > _MOST_WORDS or not all(word in _THANKS for word in words)
