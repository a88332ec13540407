"""Which pictures that come with a message are shown to the model. Pure.

Above: the platforms, which fetch them. Below: `agent.messages`.

What is not shown is named to the model with the reason, so that it does not answer as if there had been nothing.
"""

from agent.messages import Image

MAX_IMAGES = 5
"""Of one message: each costs a model about as much as a page of text, and rarely are more meant."""

MAX_IMAGE_BYTES = 5_000_000
"""What every vendor takes; a telephone's photograph is smaller once a chat has made it fit."""

MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What every vendor's models can look at."""


def is_picture(announced: str | None) -> bool:
    """Whether a file says that it is a picture that a model can look at."""
    return _plain(announced) in MEDIA_TYPES


def media_type(data: bytes) -> str | None:
    """What a file is by its first bytes, whatever it says of itself; None if it is none of MEDIA_TYPES."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def picture(data: bytes) -> Image | str:
    """The picture in these bytes, or the reason why it is not shown."""
    if len(data) > MAX_IMAGE_BYTES:
        return TOO_LARGE
    kind = media_type(data)
    return NOT_A_PICTURE if kind is None else Image(kind, data)


def not_read(announced: str | None, size: int, reason: str) -> str:
    """What stands for a file whose content the model does not get; `size` in bytes."""
    return f"(not read: {reason}; {_plain(announced) or 'unknown kind'}, {size:,} bytes)"


TOO_LARGE = f"a picture may have {MAX_IMAGE_BYTES // 1_000_000} MB at most"
TOO_MANY = "only the first files of a message are read"
WRONG_KIND = "files of this kind cannot be read here"
NOT_A_PICTURE = "it is not the picture that it says it is"
UNREACHABLE = "it could not be fetched"


def _plain(announced: str | None) -> str:
    return (announced or "").partition(";")[0].strip().lower()
