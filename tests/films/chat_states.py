"""What a chat shows at one moment, on whichever platform: plain values, made by recordings, drawn by `chat_pages`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class ButtonStyle(StrEnum):
    USUAL = "usual"
    DANGER = "danger"
    ICON = "icon"
    """Small and without a frame."""


@dataclass(frozen=True, slots=True)
class ShownButton:
    """`label`: words or an emoji. `pressed`: somebody presses it at this moment."""

    label: str
    style: ButtonStyle = ButtonStyle.USUAL
    pressed: bool = False


@dataclass(frozen=True, slots=True)
class Speaker:
    name: str
    is_app: bool = False


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """`text` is Markdown, with mentions in the platform's own form. `buttons` stand below it in rows.

    `alone`: one person sees it, and nobody else. `command`: who used which one, above the answer to it. `loading`: the
    answer is awaited.
    """

    speaker: Speaker
    time: datetime
    text: str
    buttons: tuple[tuple[ShownButton, ...], ...] = ()
    edited: bool = False
    alone: bool = False
    command: tuple[Speaker, str] | None = None
    loading: bool = False


@dataclass(frozen=True, slots=True)
class ShownChat:
    """`names`: what the ids in mentions stand for, "@ann" or "#general". `status`: what the app does now. `draft`: what
    somebody is typing.
    """

    place: str
    messages: tuple[ShownMessage, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    status: str = ""
    draft: str = ""


@dataclass(frozen=True, slots=True)
class Shot:
    """What is shown from this time of the film on, in seconds."""

    at_s: float
    chat: ShownChat
