"""The time zones that people name: by IANA names, abbreviations, and places. Pure."""

from collections.abc import Mapping
from functools import cache
from typing import Final
from zoneinfo import available_timezones

from bot.schedules.phrases.grammar import Node, tokens_of


@cache
def zone_names() -> frozenset[str]:
    return frozenset(available_timezones())


@cache
def cities() -> Node:
    """Places by the last part of their IANA names: "New York" of America/New_York."""
    root = Node()
    by_place = dict[tuple[str, ...], list[str]]()
    for name in sorted(zone_names()):
        region, _, place = name.rpartition("/")
        if region.partition("/")[0] in {
            "Africa",
            "America",
            "Asia",
            "Atlantic",
            "Australia",
            "Europe",
            "Indian",
            "Pacific",
        }:
            by_place.setdefault(tuple(token.text for token in tokens_of(place.replace("_", " "))), []).append(name)
    for place, name in _PLACES.items():
        by_place[tuple(token.text for token in tokens_of(place.replace("_", " ")))] = [name]
    for words, names in by_place.items():
        if len(names) == 1:
            root.add(words, names[0])
    return root


def fixed_zone(minutes: int) -> str:
    """The IANA name of a zone that is always so far east of UTC; "" if there is none."""
    hours, rest = divmod(abs(minutes), 60)
    if rest or (minutes < 0 and hours > 12):
        return ""
    return "UTC" if not minutes else f"Etc/GMT{'-' if minutes > 0 else '+'}{hours}"


# Large cities that have no zone of their own name, written as IANA writes names.
_PLACES: Final = {
    "Beijing": "Asia/Shanghai", "Mumbai": "Asia/Kolkata", "Delhi": "Asia/Kolkata", "Bangalore": "Asia/Kolkata",
    "San_Francisco": "America/Los_Angeles", "Seattle": "America/Los_Angeles", "Boston": "America/New_York",
    "Washington": "America/New_York", "Miami": "America/New_York", "Atlanta": "America/New_York",
    "Dallas": "America/Chicago", "Houston": "America/Chicago", "Austin": "America/Chicago",
    "Montreal": "America/Toronto", "Rio_de_Janeiro": "America/Sao_Paulo", "Munich": "Europe/Berlin",
    "Frankfurt": "Europe/Berlin", "Hamburg": "Europe/Berlin",
    "Milan": "Europe/Rome", "Barcelona": "Europe/Madrid", "Geneva": "Europe/Zurich",
    "Edinburgh": "Europe/London", "Osaka": "Asia/Tokyo", "Cape_Town": "Africa/Johannesburg", "Abu_Dhabi": "Asia/Dubai",
    "Tel_Aviv": "Asia/Jerusalem",
}  # fmt: skip
# What an abbreviation means, if that is one thing: its zone, and its minutes east of UTC. Left out are those of several
# zones: BST, CST, IST, AST, ECT, SST. "PT" is the clock of a place, whichever season it is.
ABBREVIATIONS: Final[Mapping[str, tuple[str, int | None]]] = {
    "UTC": ("UTC", 0), "GMT": ("UTC", 0), "Z": ("UTC", 0), "CET": ("Europe/Berlin", 60),
    "CEST": ("Europe/Berlin", 120), "MEZ": ("Europe/Berlin", 60), "MESZ": ("Europe/Berlin", 120),
    "WET": ("Europe/Lisbon", 0), "WEST": ("Europe/Lisbon", 60), "EET": ("Europe/Helsinki", 120),
    "EEST": ("Europe/Helsinki", 180), "MSK": ("Europe/Moscow", 180), "EST": ("America/New_York", -300),
    "EDT": ("America/New_York", -240), "CDT": ("America/Chicago", -300), "MST": ("America/Denver", -420),
    "MDT": ("America/Denver", -360), "PST": ("America/Los_Angeles", -480), "PDT": ("America/Los_Angeles", -420),
    "ET": ("America/New_York", None), "CT": ("America/Chicago", None), "MT": ("America/Denver", None),
    "PT": ("America/Los_Angeles", None), "AKST": ("America/Anchorage", -540), "AKDT": ("America/Anchorage", -480),
    "HST": ("Pacific/Honolulu", -600), "BRT": ("America/Sao_Paulo", -180),
    "ART": ("America/Argentina/Buenos_Aires", -180), "COT": ("America/Bogota", -300), "JST": ("Asia/Tokyo", 540),
    "KST": ("Asia/Seoul", 540), "HKT": ("Asia/Hong_Kong", 480), "SGT": ("Asia/Singapore", 480),
    "AFT": ("Asia/Kabul", 270), "AEST": ("Australia/Sydney", 600), "AEDT": ("Australia/Sydney", 660),
    "ACST": ("Australia/Adelaide", 570), "ACDT": ("Australia/Adelaide", 630), "AWST": ("Australia/Perth", 480),
    "NZST": ("Pacific/Auckland", 720), "NZDT": ("Pacific/Auckland", 780), "SAST": ("Africa/Johannesburg", 120),
    "AOE": ("Etc/GMT+12", -720),
}  # fmt: skip
# Abbreviations of several zones, or of one that is seldom written so: they are asked back.
UNCLEAR_ZONES: Final = frozenset({
    "ACT", "ADT", "AMT", "AST", "AWDT", "AZT", "BDT", "BST", "BTT", "CAT", "CLST", "CLT", "CST", "CVT", "EAT", "ECT",
    "EGT", "FJT", "FKT", "GET", "GST", "GYT", "ICT", "IDT", "IRST", "IST", "LHST", "MMT", "MUT", "MVT", "NDT", "NFT",
    "NPT", "NST", "NT", "PDST", "PET", "PGT", "PHT", "PKT", "PYT", "SCT", "SRT", "SST", "TFT", "TJT", "TLT", "TOST",
    "TOT", "TRT", "UYT", "UZT", "VET", "WAT", "WIB", "WIT", "WITA", "YEKT", "IRKT", "KRAT", "OMST", "VLAT",
})  # fmt: skip
