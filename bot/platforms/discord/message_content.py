"""What a person sees of a message on Discord: words, embeds, components, polls, stickers, forwarded messages. Pure.

Rules
- The result is in Discord's own markup, like a message's content: `markup.readable` turns it into words and names.
- Embeds of an app are its own words. Other embeds, and forwarded messages, are other people's (`Enclosed`).
- Previews of links are not read: Discord adds them a moment after the message, and they say nothing that the link does
  not lead to. Users cannot write embeds: with a link in their text, all of them are previews, also "rich" ones.
- What cannot be read is named in one line. Components that discord.py does not know are not in its messages.
- Time is linear in the size of the message; the depth and the length of what is read are limited.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar, cast

import discord
from discord import components

from agent.memory.attribution import mention
from bot.chat.message_parts import (
    CARD,
    FORWARDED,
    MAX_CHARS,
    MAX_DEPTH,
    TOO_DEEP,
    UNREADABLE,
    UNREADABLE_PART,
    Enclosed,
    MessageContent,
    bounded,
)
from bot.platforms.discord.reply_to import pages_at

Content: TypeAlias = MessageContent[discord.Attachment]

EMBED_READ: Final = "the title, author, description, fields, and footer"
# The types of embeds, and what is read of each. A type that is not listed is read like "rich".
EMBEDS: Final[Mapping[str, str]] = {
    "rich": EMBED_READ,
    "poll_result": "the question, the winning answer, and the votes",
    **dict.fromkeys(("article", "link", "image", "video", "gifv"), ""),
}

UNKNOWN_COMPONENTS: Final = "components that this version of the bot does not know"
_CARRIER: Final = (discord.ActionRow, components.SectionComponent, components.Container)


def content_of(message: discord.Message) -> Content:
    """Return what a person sees of a message."""
    by_app = message.author.bot or message.webhook_id is not None
    own = [message.content, *_own_parts(message), *(() if message.poll is None else _poll(message.poll))]
    # Of components of a kind that is not known here at least something has to be said: the message is not empty.
    if message.flags.components_v2 and not any(own):
        own.append(UNREADABLE_PART.format(kind=UNKNOWN_COMPONENTS))
    # Cards of a person's message are Discord's previews of its links: what stands there is the linked page's, not
    # theirs.
    is_linking = not by_app and "://" in message.content
    cards = [] if is_linking else [*_cards(message.embeds)]
    own += cards if by_app else []
    enclosed = [] if by_app else [Enclosed(CARD, "", words) for words in cards]
    snapshots = message.message_snapshots
    enclosed += [_forwarded(message, snapshot) for snapshot in snapshots]
    # Discord sends no content of a forward from a place that the bot cannot read.
    if _is_forward(message) and not snapshots:
        enclosed.append(Enclosed(FORWARDED, "", UNREADABLE, _original(message)))
    files = tuple(file for snapshot in snapshots for file in snapshot.attachments)
    return MessageContent(bounded(own), tuple(_within(enclosed)), files)


def is_card(embed: discord.Embed) -> bool:
    """Whether an embed is more than the preview of a link."""
    return EMBEDS.get(embed.type, EMBED_READ) != ""


def _own_parts(message: "discord.Message | discord.MessageSnapshot") -> Iterator[str]:
    yield from _components(message.components, 0)
    for sticker in message.stickers:
        yield f"(sticker: {mention(sticker.name, '#')})"  # its name is not its sender's


def _cards(embeds: Iterable[discord.Embed]) -> Iterator[str]:
    return filter(None, (bounded(_embed(embed)) for embed in embeds if is_card(embed)))


def _forwarded(message: discord.Message, snapshot: discord.MessageSnapshot) -> Enclosed:
    """Return a forwarded message. Discord does not name its author."""
    names = (f"(attached file {file.filename})" for file in snapshot.attachments)
    words = bounded((snapshot.content, *_own_parts(snapshot), *_cards(snapshot.embeds), *names))
    return Enclosed(FORWARDED, "", words or UNREADABLE, _original(message))


def _is_forward(message: discord.Message) -> bool:
    return message.reference is not None and message.reference.type is discord.MessageReferenceType.forward


def _original(message: discord.Message) -> tuple[str, ...]:
    """Return the page ids that the message forwarded by this one would have."""
    at = message.reference
    return () if at is None or at.message_id is None else pages_at(at.channel_id, at.message_id)


def _within(enclosed: Iterable[Enclosed]) -> Iterator[Enclosed]:
    """Yield as many as fit into MAX_CHARS."""
    room = MAX_CHARS
    for part in enclosed:
        if room < 0:
            return
        room -= len(part.text)
        yield part


def _embed(embed: discord.Embed) -> Iterator[str]:
    if embed.type == "poll_result":
        yield from _poll_result(embed)
        return
    # Apps name an author; Discord's own previews of links name the site as their provider.
    yield embed.author.name or embed.provider.name or ""
    yield _link(embed.url, embed.title or "") if embed.title else embed.url or ""
    yield embed.description or ""
    for field in embed.fields:
        yield ": ".join(filter(None, (_visible(field.name), _visible(field.value))))
    if embed.image.url or embed.thumbnail.url:
        yield "(picture)"
    if embed.video.url:
        yield "(video)"
    yield embed.footer.text or ""
    if embed.timestamp is not None:
        yield f"<t:{int(embed.timestamp.timestamp())}>"


def _visible(words: str | None) -> str:
    """Return the words; "" for the invisible characters that stand for an empty name."""
    return words if words is not None and any(char.isprintable() and not char.isspace() for char in words) else ""


def _poll_result(embed: discord.Embed) -> Iterator[str]:
    """Yield what Discord's notice about an ended poll says; its fields have fixed names."""
    found = {field.name: field.value or "" for field in embed.fields}
    winner, votes = found.get("victor_answer_text", ""), found.get("victor_answer_votes", "")
    yield f"(poll ended: {found.get('poll_question_text', '')})"
    if winner:
        yield f"- {winner} ({votes} of {found.get('total_votes', votes)} votes)"


def _poll(poll: discord.Poll) -> Iterator[str]:
    until = f", open until <t:{int(poll.expires_at.timestamp())}>" if poll.expires_at is not None else ""
    yield f"(poll: {poll.question}{', ended' if poll.is_finalised() else until})"
    for answer in poll.answers:
        votes = answer.vote_count
        emoji = f"{answer.emoji} " if answer.emoji is not None else ""
        yield f"- {emoji}{answer.text} ({votes} {'vote' if votes == 1 else 'votes'})"


def _link(url: str | None, words: str) -> str:
    return f"[{words}]({url})" if url else words


# Components. Each class of discord.py has an entry; a test compares them.

ComponentT = TypeVar("ComponentT", bound=discord.Component)


@dataclass(frozen=True, slots=True)
class Part:
    """`read` yields the lines of a component. `shows`: what that is, for the documentation."""

    read: Callable[[discord.Component, int], Iterator[str]]
    shows: str


def _part(read: Callable[[ComponentT, int], Iterator[str]], shows: str) -> Part:
    """Return an entry of COMPONENTS, where the class that `read` takes is the key."""
    return Part(cast("Callable[[discord.Component, int], Iterator[str]]", read), shows)


def _components(found: Iterable[discord.Component | None], depth: int) -> Iterator[str]:
    for component in found:
        part = COMPONENTS.get(type(component)) if component is not None else None
        if depth > MAX_DEPTH:
            yield TOO_DEEP
            return
        if part is None or component is None:
            yield UNREADABLE_PART.format(kind=UNKNOWN_COMPONENTS)
        else:
            yield from part.read(component, depth + 1)


def _row(row: discord.ActionRow, depth: int) -> Iterator[str]:
    yield " ".join(filter(None, _components(row.children, depth)))


def _section(section: components.SectionComponent, depth: int) -> Iterator[str]:
    yield from _components((*section.children, section.accessory), depth)


def _container(container: components.Container, depth: int) -> Iterator[str]:
    yield from _components(container.children, depth)


def _text(display: components.TextDisplay, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield display.content


def _button(button: discord.Button, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    label = button.label or (str(button.emoji) if button.emoji is not None else "")
    yield _link(button.url, label) if button.url else f"(button: {label})" if label else ""


def _menu(menu: discord.SelectMenu, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    chosen = ", ".join(option.label for option in menu.options if option.default) or menu.placeholder or ""
    yield f"(menu: {chosen})" if chosen else ""


def _thumbnail(picture: components.ThumbnailComponent, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _picture(picture.description)


def _gallery(gallery: components.MediaGalleryComponent, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield from (_picture(item.description) for item in gallery.items)


def _picture(about: str | None) -> str:
    return f"(picture: {about})" if about else "(picture)"


def _file(file: components.FileComponent, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield f"(file: {file.name})" if file.name else "(a file)"


def _nothing(component: discord.Component, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield from ()


def _label(label: components.LabelComponent, depth: int) -> Iterator[str]:
    yield " ".join(filter(None, (label.label, label.description, *_components([label.component], depth))))


def _field(field: components.TextInput, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    words = ": ".join(filter(None, (field.label, field.value or field.placeholder)))
    yield f"(field: {words})" if words else ""


def _options(
    group: components.RadioGroupComponent | components.CheckboxGroupComponent,
    depth: int,  # noqa: ARG001 -- the form of a reader
) -> Iterator[str]:
    for option in group.options:
        yield f"[{'x' if option.default else ' '}] {option.label}"


_IN_WINDOWS: Final = "nothing, because such fields appear only in windows, not in messages"

COMPONENTS: Final[Mapping[type[discord.Component], Part]] = {
    discord.ActionRow: _part(_row, "its buttons and menus"),
    discord.Button: _part(_button, "its label and link"),
    discord.SelectMenu: _part(_menu, "the chosen option, or the placeholder"),
    components.SectionComponent: _part(_section, "its text, and the button or picture next to it"),
    components.TextDisplay: _part(_text, "its text"),
    components.ThumbnailComponent: _part(_thumbnail, "its description, but not the picture itself"),
    components.MediaGalleryComponent: _part(
        _gallery, "the descriptions of its pictures, but not the pictures themselves"
    ),
    components.FileComponent: _part(_file, "its name, and its content if the file is attached to the message"),
    components.SeparatorComponent: _part(_nothing, "nothing, because it has no text"),
    components.Container: _part(_container, "its parts"),
    components.LabelComponent: _part(_label, "its label and field"),
    components.TextInput: _part(_field, "its label and value"),
    components.FileUploadComponent: _part(_nothing, _IN_WINDOWS),
    components.RadioGroupComponent: _part(_options, "its options, and which one is selected"),
    components.CheckboxGroupComponent: _part(_options, "its options, and which ones are selected"),
    components.CheckboxComponent: _part(_nothing, _IN_WINDOWS),
}
