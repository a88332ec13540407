"""Writing what a vendor reads: JSON bodies, pictures, and words in place of pictures. Pure.

Above: the wire modules. Below: `agent.messages`.
"""

import json
from base64 import b64encode
from collections.abc import Mapping

from agent.messages import Image, Json, Message


def encoded(body: Mapping[str, Json]) -> bytes:
    """The body as UTF-8, without blanks. Half surrogates, which UTF-8 cannot hold, become question marks."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def base64_of(image: Image) -> str:
    return b64encode(image.data).decode("ascii")


def data_url(image: Image) -> str:
    return f"data:{image.media_type};base64,{base64_of(image)}"


def described(message: Message) -> str:
    """The text of a message for a model that reads no pictures: it is told that there were some."""
    if not message.images:
        return message.text
    pictures = "a picture" if len(message.images) == 1 else f"{len(message.images)} pictures"
    return f"{message.text}\n\n[The person also sent {pictures}, which you cannot see. Say so if it matters.]"
