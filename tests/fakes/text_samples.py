"""Short texts in many languages, in the encodings in which programs of their country write them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TEXTS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_LOG: Final = "id,name,value\n" * 40


@dataclass(frozen=True)
class TextSample:
    language: str
    encoding: str
    text: str

    @property
    def data(self) -> bytes:
        return self.text.encode(self.encoding)


def text_samples() -> list[TextSample]:
    """Return each language in each of its encodings and in UTF-16 without a mark: a table, sentences, many lines of
    them, and a table below many lines of ASCII.
    """
    return [
        TextSample(language, encoding, text)
        for language, known in _TEXTS.items()
        for encoding in (*known["encodings"].split(), "utf-16-le", "utf-16-be")
        for text in (
            known["table"],
            known["sentences"],
            f"{known['sentences']}\n" * 30,
            f"{_LOG}{known['table']}",
        )
    ]
