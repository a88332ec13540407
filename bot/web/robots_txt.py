"""Which pages robots.txt allows (RFC 9309), matched in linear time. Pure.

Rules. The groups that name the program apply together; without any, those for "*" do. Of the rules that match a path
the longest applies, and of two with the same length the allowing one. `*` matches anything, `$` at the end the end.
"""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

MAX_RULES: Final = 2_000  # Each is compared with each path; real files have fewer
MAX_PATTERN_CHARS: Final = 500
EVERYBODY: Final = "*"


@dataclass(frozen=True, slots=True)
class Robots:
    """`rules`: patterns of paths, each with whether it allows."""

    rules: tuple[tuple[str, bool], ...] = ()

    def allows(self, path: str) -> bool:
        normal = _normalise(path)
        matching = [(len(pattern), allows) for pattern, allows in self.rules if _matches(pattern, normal)]
        return max(matching, default=(0, True))[1]


NOTHING_ALLOWED: Final = Robots((("/", False),))


def product(agent: str) -> str:
    """Return the product's name in a user agent: "cogency" for "Cogency/1.0 (…)"."""
    return agent.partition("/")[0].split(" ", 1)[0].lower()


def parse_robots(text: str, name: str) -> Robots:
    """Return the rules for a program of this name."""
    # Of other programs nothing is kept: a file may name any number of them, each with all rules.
    rules: dict[str, list[tuple[str, bool]]] = {name: [], EVERYBODY: []}
    named, group, reads_agents = set[str](), set[str](), False
    for line in text.splitlines():
        key, colon, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        match key.lower() if colon else "":
            case "user-agent":
                group = group if reads_agents else set[str]()
                group |= {product(value)} & rules.keys()
                named |= group
                reads_agents = True
            case "allow" | "disallow" as directive:
                reads_agents = False
                if value and len(value) <= MAX_PATTERN_CHARS:
                    for agent in group:
                        if len(rules[agent]) < MAX_RULES:
                            rules[agent].append((_normalise(value), directive == "allow"))
            case _:
                pass
    return Robots(tuple(rules[name if name in named else EVERYBODY]))


def _normalise(path: str) -> str:
    """Return a path in one form of percent-encoding, so that equal paths compare as equal."""
    return quote(unquote(path, errors="replace"), safe="/*$?=&:;,+!@~()'-._")


def _matches(pattern: str, path: str) -> bool:
    body, is_anchored = pattern.removesuffix("$"), pattern.endswith("$")
    first, *rest = body.split("*")
    if not path.startswith(first):
        return False
    position = len(first)
    last = rest.pop() if is_anchored and rest else None
    for piece in rest:
        index = path.find(piece, position)
        if index < 0:
            return False
        position = index + len(piece)
    if not is_anchored:
        return True
    return position == len(path) if last is None else path.endswith(last) and len(path) - len(last) >= position
