"""Reads the words of what office files show as drawings: text boxes, diagrams, charts."""

from collections.abc import Mapping

from bot.chat.attachments.number_format import general_number
from bot.chat.attachments.office_package import PartReader


class TextBoxes(PartReader):
    """The paragraphs of drawings: text boxes, and the words of diagrams."""

    def __init__(self) -> None:
        self.paragraphs = list[str]()
        self._pieces = list[str]()
        self._in_text = False

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002 -- they say nothing
        self._in_text = tag == "t"
        if tag in {"br", "tab"}:
            self._pieces.append(" ")

    def end(self, tag: str) -> None:
        self._in_text = False
        if tag == "p" and (text := " ".join("".join(self._pieces).split())):
            self.paragraphs.append(text)
        if tag == "p":
            self._pieces = []

    def characters(self, text: str) -> None:
        if self._in_text:
            self._pieces.append(text)


class ChartText(TextBoxes):
    """As text boxes, with the labels and values of each series in one line."""

    def __init__(self) -> None:
        super().__init__()
        self._values: list[str] | None = None
        self._in_value = False

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        super().begin(tag, attributes)
        self._in_value = tag == "v"
        if tag == "ser":
            self._values = []

    def end(self, tag: str) -> None:
        super().end(tag)
        self._in_value = False
        if tag == "ser" and self._values is not None:
            self.paragraphs.append(" | ".join(self._values))
            self._values = None

    def characters(self, text: str) -> None:
        super().characters(text)
        if self._in_value and self._values is not None and text.strip():
            self._values.append(general_number(text.strip()))
