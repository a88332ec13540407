"""States of a chat as pages that look like a platform's: states in, HTML out. Pure.

Whatever people and models wrote is escaped: Markdown is read without HTML, everything else goes through `escape`. A
page needs nothing but its own style sheet, and those that are named to it, such as of fonts.
"""

import re
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from tests.films.chat_states import ButtonStyle, ShownButton, ShownChat, ShownMessage, Speaker

STYLES: Final = Path(__file__).parent
MENTION: Final = "mention"
NAMES: Final = "names"
# Of avatars, on which white letters can be read.
COLOURS: Final = ("#7b4fb5", "#b5522f", "#2f63b5", "#a83a70", "#5f7a1f")
APP_COLOUR: Final = "#0e7c66"
SAME_SPEAKER_S: Final = 300.0  # Messages of one speaker that follow so soon stand below one name
MAX_MENTION_CHARS: Final = 40
_MENTIONS: Final = re.compile(rf"(<[@#][^<>]{{1,{MAX_MENTION_CHARS}}}>)")


def slack_page(chat: ShownChat, styles: Sequence[str] = ()) -> str:
    """A thread. `styles`: addresses of more style sheets."""
    root, *replies = chat.messages or (None,)
    parts = [f'<header><b>Thread</b><span class="place">{escape(chat.place)}</span></header><main>']
    if root is not None:
        parts.append(_slack_message(root, chat.names))
    if replies:
        many = f"{len(replies)} {'reply' if len(replies) == 1 else 'replies'}"
        parts.append(f'<div class="divider"><span>{many}</span></div>')
    parts += [_slack_message(one, chat.names) for one in replies]
    parts.append(_status(chat.status) + "</main>")
    parts.append(_composer(chat, "Reply…"))
    return document("slack", "".join(parts), styles)


def discord_page(chat: ShownChat, styles: Sequence[str] = ()) -> str:
    """A channel, or direct messages. `styles`: addresses of more style sheets."""
    follows = [False, *(_follows(before, after) for before, after in pairwise(chat.messages))]
    said = [_discord_message(one, chat.names, follows=each) for one, each in zip(chat.messages, follows, strict=True)]
    parts = [f'<header><span class="at">@</span><b>{escape(chat.place)}</b></header><main>', *said]
    parts += ["</main>", _composer(chat, f"Message @{chat.place}"), _status(chat.status)]
    return document("discord", "".join(parts), styles)


def document(platform: str, body: str, styles: Iterable[str]) -> str:
    """A whole page of a platform's looks."""
    own = "".join((STYLES / f"{name}.css").read_text(encoding="utf-8") for name in ("chat", platform))
    links = "".join(f'<link rel="stylesheet" href="{escape(address)}">' for address in styles)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{platform}</title>{links}'
        f'<style>{own}</style></head><body class="{platform}">{body}</body></html>'
    )


def _slack_message(one: ShownMessage, names: Mapping[str, str]) -> str:
    alone = '<div class="alone">Only visible to you</div>' if one.alone else ""
    words = f'<div class="words">{_words(one, names)}</div>{_buttons(one.buttons)}'
    return f'<article>{_avatar(one.speaker)}<div class="said">{alone}{_head(one, "APP")}{words}</div></article>'


def _discord_message(one: ShownMessage, names: Mapping[str, str], *, follows: bool) -> str:
    if follows:
        return f'<article class="follows"><div class="said">{_discord_words(one, names)}</div></article>'
    used = ""
    if one.command is not None:
        who, what = one.command
        used = f'<div class="used">{_avatar(who)}<b>{escape(who.name)}</b> used <em>{escape(what)}</em></div>'
    said = f'<div class="said">{_head(one, "APP")}{_discord_words(one, names)}</div>'
    return f'<article class="{"alone" if one.alone else ""}">{used}{_avatar(one.speaker)}{said}</article>'


def _discord_words(one: ShownMessage, names: Mapping[str, str]) -> str:
    told = f'<span class="dots"></span> {escape(one.speaker.name)} is thinking…' if one.loading else _words(one, names)
    private = '<div class="private">Only you can see this · <a>Dismiss message</a></div>' if one.alone else ""
    return f'<div class="words">{told}</div>{_buttons(one.buttons)}{private}'


def _follows(before: ShownMessage, after: ShownMessage) -> bool:
    """Whether a message needs no name of its own."""
    soon = (after.time - before.time).total_seconds() < SAME_SPEAKER_S
    return soon and before.speaker == after.speaker and before.alone == after.alone and after.command is None


def _head(one: ShownMessage, badge: str) -> str:
    app = f'<span class="badge">{badge}</span>' if one.speaker.is_app else ""
    hour = one.time.hour % 12 or 12
    time = f"{hour}:{one.time:%M} {'AM' if one.time.hour < 12 else 'PM'}"
    return f'<div class="head"><b>{escape(one.speaker.name)}</b>{app}<time>{time}</time></div>'


def _avatar(speaker: Speaker) -> str:
    colour = APP_COLOUR if speaker.is_app else COLOURS[sum(map(ord, speaker.name)) % len(COLOURS)]
    return f'<span class="avatar" style="background:{colour}">{escape(speaker.name[:1].upper())}</span>'


def _buttons(rows: Sequence[Sequence[ShownButton]]) -> str:
    return "".join(f'<div class="buttons">{"".join(map(_button, row))}</div>' for row in rows)


def _button(one: ShownButton) -> str:
    kind = " ".join([one.style, *(["pressed"] if one.pressed else [])])
    label = f"<i>{escape(one.label)}</i>" if one.style is ButtonStyle.ICON else escape(one.label)
    return f'<button class="{kind}">{label}</button>'


def _status(status: str) -> str:
    return f'<div class="status">{escape(status)}</div>'


def _composer(chat: ShownChat, otherwise: str) -> str:
    caret = '<span class="caret"></span>'
    typed = _plain(chat.draft, chat.names) + caret if chat.draft else f"<s>{escape(otherwise)}</s>"
    return f'<footer><div class="composer">{typed}</div></footer>'


# Markdown


def _words(one: ShownMessage, names: Mapping[str, str]) -> str:
    shown = _MARKDOWN.render(one.text, {NAMES: names}).rstrip()
    if not one.edited:
        return shown
    last = "</p>" if shown.endswith("</p>") else ""
    return f'{shown.removesuffix(last)}<span class="edited">(edited)</span>{last}'


def _plain(text: str, names: Mapping[str, str]) -> str:
    """As it is typed: a mention is shown as one, everything else as it stands there."""
    pieces = _MENTIONS.split(text)
    return "".join(_mention(names[piece]) if piece in names else escape(piece) for piece in pieces)


def _mention(name: str) -> str:
    return f'<span class="mention">{escape(name)}</span>'


def _find_mention(state: StateInline, silent: bool) -> bool:
    """`<@U0ANN>`, `<@41>` or `<#C0GENERAL>`, if its name is known."""
    if state.src[state.pos : state.pos + 2] not in {"<@", "<#"}:
        return False
    end = state.src.find(">", state.pos, state.pos + MAX_MENTION_CHARS) + 1
    name = state.env.get(NAMES, {}).get(state.src[state.pos : end])
    if not end or name is None:
        return False
    if not silent:
        state.push(MENTION, "", 0).content = name
    state.pos = end
    return True


def _show_mention(
    renderer: RendererHTML, tokens: Sequence[Token], number: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    del renderer, options, env
    return _mention(tokens[number].content)


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    reader.disable("image")
    reader.inline.ruler.before("autolink", MENTION, _find_mention)
    reader.add_render_rule(MENTION, _show_mention)
    return reader


_MARKDOWN: Final = _reader()
