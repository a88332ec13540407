"""The result of a call for the model, within limits. Pure."""

import json
from dataclasses import dataclass
from typing import Final, assert_never

from agent.messages import MAX_FILES, Image, Link, ResultStatus, SharedFile, StructuredData, ToolResult
from agent.ports.tools import ToolOutput
from agent.protocol.render import without_hidden_text


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Limits of one result."""

    max_result_chars: int = 24_000
    """About 6,000 tokens: forty recalled messages fit, and a web page does not displace the conversation."""
    max_images: int = 4
    """Each takes about 1,500 tokens in each later round."""
    max_files: int = MAX_FILES
    max_bytes: int = 8_000_000
    """Of pictures and files together: below Discord's limit, and small enough to be stored with a turn's progress."""


def result_of(name: str, status: ResultStatus, output: ToolOutput, audience: str, limits: ToolLimits) -> ToolResult:
    texts, bytes_left = [output.text] if output.text else [], limits.max_bytes
    images, files = list[Image](), list[SharedFile]()
    for part in output.parts:
        match part:
            case str():
                texts.append(part)
            case Link(url, title):
                texts.append(f"{title}: {url}" if title else url)
            case StructuredData(value):
                texts.append(json.dumps(value, ensure_ascii=False))
            case Image(media_type, data):
                # A part that is left out is named, so that the model does not answer as if it had seen all.
                fits = len(images) < limits.max_images and len(data) <= bytes_left
                summary = f"a picture ({media_type})"
                texts.append(PICTURE.format(about=summary) if fits else LEFT_OUT.format(about=summary))
                if fits:
                    images.append(part)
                    bytes_left -= len(data)
            case SharedFile(file_name, media_type, data):
                fits = len(files) < limits.max_files and len(data) <= bytes_left
                summary = f"{file_name} ({media_type}, {len(data):,} bytes)"
                texts.append(FILE.format(about=summary) if fits else LEFT_OUT.format(about=summary))
                if fits:
                    files.append(part)
                    bytes_left -= len(data)
            case _:
                assert_never(part)
    text = without_hidden_text(cut("\n\n".join(texts), limits.max_result_chars))
    contents = (text, output.sources, tuple(images), tuple(files))
    about = (audience, output.keep, output.references, output.words, output.read, output.documents)
    return ToolResult(name, status, *contents, *about)


PICTURE: Final = "[{about}, which follows these results]"
FILE: Final = "[the file {about} will stand below your answer]"
LEFT_OUT: Final = "[left out, because results may hold no more: {about}]"


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n[cut: {len(text) - limit} more characters]"
