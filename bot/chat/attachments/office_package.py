"""The parts of an office file (docx, xlsx, pptx) and how they refer to each other, read as streams.

Rules.
- A part is found as Office finds it: by the relation that names it, in any letter case, with either slash.
- Parts that the readers do not use are not unpacked, so a damaged one does not make a file unreadable. An optional
  part, such as styles, counts as empty if it is damaged.
- Memory does not grow with a part's size or depth. No part may declare a document type, so none can define entities.
"""

import posixpath
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

from bot.chat.attachments.document_output import BROKEN, MAX_DEPTH, NoText

CHUNK_BYTES: Final = 65_536
MAX_RELATIONS: Final = 20_000
# What a damaged part raises while it is read.
DAMAGED: Final = (expat.ExpatError, zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, NoText)


class Stop(Exception):
    """Ends the reading of a part: enough was read."""


class PartReader:
    """Receives what is in a part. Names are without their namespaces, as Strict and Transitional files differ there."""

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        pass

    def end(self, tag: str) -> None:
        pass

    def characters(self, text: str) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Relation:
    """`kind`: the last part of its type's address, as "worksheet"; `target`: the name of a part."""

    id: str
    kind: str
    target: str


class _Relations(PartReader):
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.found = list[Relation]()
        self.links = dict[str, str]()  # By id, the addresses to which links lead

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag != "Relationship" or len(self.found) + len(self.links) >= MAX_RELATIONS:
            return
        kind = attributes.get("Type", "").rpartition("/")[2]
        if attributes.get("TargetMode") == "External":
            if kind == "hyperlink":
                self.links[attributes.get("Id", "")] = attributes.get("Target", "")
            return
        target = attributes.get("Target", "").replace("\\", "/")
        path = posixpath.normpath(posixpath.join("/" + self._folder, target)).lstrip("/")
        self.found.append(Relation(attributes.get("Id", ""), kind, path))


class OfficePackage:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._entries = {_plain(entry.filename): entry for entry in reversed(archive.infolist())}

    def has(self, part: str) -> bool:
        return _plain(part) in self._entries

    def is_same(self, name: str, part: str) -> bool:
        return _plain(name) == _plain(part)

    def size(self, part: str) -> int:
        """Return the bytes that a part declares; no more are read of it."""
        return self._entries[_plain(part)].file_size

    def parts(self, folder: str) -> Iterator[str]:
        """Yield the names of the XML parts in a folder, in their natural order."""
        inside = [name for name in self._entries if name.startswith(folder.lower()) and name.endswith(".xml")]
        yield from sorted(inside, key=lambda name: (len(name), name))

    def main(self) -> str:
        """Return the name of the main part; "" if none is named."""
        relations = self.relations("")
        named = [one.target for one in relations if one.kind == "officeDocument" and self.has(one.target)]
        usual = [name for name in ("word/document.xml", "xl/workbook.xml", "ppt/presentation.xml") if self.has(name)]
        return next(iter(named + usual), "")

    def relations(self, part: str) -> list[Relation]:
        """Return the relations of a part to others in the package; of the package itself for ""."""
        return self._relations(part).found

    def links(self, part: str) -> Mapping[str, str]:
        """Return the addresses to which the links of a part lead, by the ids of the relations."""
        return self._relations(part).links

    def _relations(self, part: str) -> _Relations:
        folder, _, name = part.rpartition("/")
        reader = _Relations(folder)
        self.read_if_sound(f"{folder}/_rels/{name}.rels".lstrip("/"), reader)
        return reader

    def related(self, part: str, kind: str) -> list[str]:
        """Return the parts of this kind that a part names and that exist, each once however often it is named."""
        targets = dict.fromkeys(one.target for one in self.relations(part) if one.kind == kind)
        return [target for target in targets if self.has(target)]

    def not_read(self, parts: Iterable[str], read: str = "") -> str:
        """Return one line that names what these parts show and is not read, such as pictures; "" for nothing. `read`: a
        kind that is.
        """
        relations = (one for part in parts for one in self.relations(part) if one.kind in UNREAD and one.kind != read)
        seen = {one.target: UNREAD[one.kind] for one in relations}
        return named_unread(Counter(seen.values()))

    def root(self, part: str) -> str:
        """Return the name of a part's first element; "" if it has none."""
        reader = _Root()
        with suppress(*DAMAGED):
            self.read(part, reader)
        return reader.name

    def read(self, part: str, reader: PartReader) -> None:
        """Read a part to its end, or until the reader raises Stop. Raises one of DAMAGED."""
        parser, depth = expat.ParserCreate(namespace_separator=" "), 0
        parser.buffer_text = True

        def begin(name: str, attributes: Mapping[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > MAX_DEPTH:
                raise NoText(BROKEN)
            by_name = sorted(
                attributes.items(), key=lambda item: " " in item[0]
            )  # of two of one name, that of a relation
            reader.begin(_local(name), {_local(key): value for key, value in by_name})

        def end(name: str) -> None:
            nonlocal depth
            depth -= 1
            reader.end(_local(name))

        parser.StartDoctypeDeclHandler = refuse_doctype
        parser.StartElementHandler, parser.EndElementHandler = begin, end
        parser.CharacterDataHandler = reader.characters
        with suppress(Stop), self._archive.open(self._entries[_plain(part)]) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                parser.Parse(chunk, False)  # noqa: FBT003 -- expat takes no names
            parser.Parse(b"", True)  # noqa: FBT003 -- expat takes no names

    def read_if_sound(self, part: str, reader: PartReader) -> bool:
        """Read a part as far as it can be read; return whether that was to its end."""
        try:
            self.read(part, reader)
        except DAMAGED:
            return False
        return True


class _Root(PartReader):
    def __init__(self) -> None:
        self.name = ""

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002 -- only the name counts
        self.name = tag
        raise Stop


# What parts refer to and is not read, by the kind of the relation.
UNREAD: Final = {
    "image": "picture",
    "chart": "chart",
    "chartEx": "chart",
    "oleObject": "embedded object",
    "package": "embedded file",
    "aFChunk": "embedded document",
    "video": "video",
    "audio": "audio clip",
}
NOT_READ: Final = "(not read: {what})"


def named_unread(counts: Mapping[str, int]) -> str:
    """Return one line that names what is not read, with how many there are; "" for nothing."""
    what = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items() if count)
    return NOT_READ.format(what=what) if what else ""


def left_out(lines: Iterable[str], shown: str, *, in_order: bool = True) -> Iterator[str]:
    """Yield the lines that are not in `shown`, which is Markdown of the same file: at least a third of a line's words
    are not in it, or two thirds of its phrases, as a long text has most words that a footnote may have. Not `in_order`:
    only the words count, as the Markdown has them in another order.
    """
    words = _WORD.findall(_MARKUP.sub("", shown))
    known, phrases = set(words), {size: {*_phrases(words, size)} for size in range(1, _PHRASE_WORDS + 1)}
    for line in lines:
        own = _WORD.findall(line)
        unknown = set(own) - known
        own_phrases = [*_phrases(own, min(_PHRASE_WORDS, len(own)))]
        lost = sum(phrase not in phrases[len(phrase)] for phrase in own_phrases)
        if own and (3 * len(unknown) >= len(set(own)) or (in_order and 3 * lost >= 2 * len(own_phrases))):
            yield line


def _phrases(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(size)), strict=False)


_PHRASE_WORDS: Final = 3
_WORD: Final = re.compile(r"[^\W_]+")
# What the Markdown has between the words of a line: references to notes, the addresses of links, marks.
_MARKUP: Final = re.compile(r"\[\[\w{1,9}\]\]\(#[^()\s]{0,200}\)|\]\([^()\s]{0,2000}\)|</?su[bp]>|[\\*`~\u00ad]")


def refuse_doctype(*_: object) -> None:
    raise NoText(BROKEN)


def _plain(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def _local(name: str) -> str:
    return name.rpartition(" ")[2]
