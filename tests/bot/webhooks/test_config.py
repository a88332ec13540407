"""hooks.toml: what it says is what happens, and what it cannot mean is an error that says what to do."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.errors import SettingsError
from agent.messages import Json
from agent.spending import NANO
from benchmarks.house_code import ROOT
from bot.webhooks.config import KEYS, Action, Hook, QuietHours, beside, no_files, parse_file
from bot.webhooks.presets import presets
from bot.webhooks.signatures import Scheme
from bot.webhooks.templates import FILTERS, trimmed

SECRET = "0123456789abcdef-secret"
VARIABLES = {
    "ALERTS": SECRET,
    "TWO": f"{SECRET}-new\n{SECRET}",
    "EMPTY": " ",
    "SHORT": "abc",
    "THREE": f"{SECRET} " * 3,
}
LEAST = 'preset = "alertmanager"\nsecret_env = "ALERTS"\nchannel = "slack:C0123456789"\n'


def parse(text: str) -> tuple[Hook, ...]:
    return parse_file(text, "hooks.toml", VARIABLES, no_files)


def one(more: str = "", least: str = LEAST) -> Hook:
    (hook,) = parse(f"[alerts]\n{least}{more}")
    return hook


def test_a_hook_needs_a_preset_a_secret_and_a_channel() -> None:
    hook = one()
    assert (hook.name, hook.scheme, hook.action, hook.mention, hook.tools) == (
        "alerts",
        Scheme.BEARER,
        Action.POST,
        (),
        (),
    )
    assert (hook.rate, hook.dollars, hook.quiet) == (60, 5 * NANO, None)
    assert hook.revealed == [SECRET]
    assert SECRET not in repr(hook)


def test_each_default_can_be_replaced() -> None:
    (hook,) = parse_file(
        "[alerts]\n"
        + LEAST
        + """
        signed = "basic"
        do = "ask"
        ask = "What changed?"
        text = "{{ payload.x }}"
        key = "{{ payload.y }}"
        closes = "{{ payload.z }}"
        tools = ["recall", "grafana.*"]
        dollars_per_day = 0.5
        per_minute = 5
        quiet = "22:00-07:00 Europe/Berlin"
        mention = ["U0123456789", "S0123456789"]
        """,
        "hooks.toml",
        {"ALERTS": f"user:{SECRET}"},
        no_files,
    )
    assert (hook.scheme, hook.action, hook.ask, hook.text.source) == (
        Scheme.BASIC,
        Action.ASK,
        "What changed?",
        "{{ payload.x }}",
    )
    assert [hook.allows(tool) for tool in ("recall", "grafana.query", "recall2", "graf")] == [True, True, False, False]
    assert (hook.rate, hook.dollars) == (5, NANO // 2)


def test_two_secrets_are_accepted_while_one_replaces_the_other() -> None:
    assert one(least=LEAST.replace("ALERTS", "TWO")).revealed == [f"{SECRET}-new", SECRET]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[alerts", "not valid TOML"),
        ("alerts = 1", "must be a table"),
        (f"[Alerts]\n{LEAST}", "lowercase"),
        (f'["a/../b"]\n{LEAST}', "lowercase"),
        (f"[alerts]\n{LEAST}chanel = 1", "Did you mean channel"),
        (f'[alerts]\n{LEAST}secret = "{SECRET}"', "secret is not a valid key"),
        (f"[alerts]\n{LEAST}".replace("alertmanager", "alertmanger"), "Did you mean alertmanager"),
        (f"[alerts]\n{LEAST}".replace('preset = "alertmanager"', ""), "preset is missing"),
        (f"[alerts]\n{LEAST}".replace('secret_env = "ALERTS"', ""), "either secret_env"),
        (f'[alerts]\n{LEAST}secret_file = "x"', "either secret_env"),
        (f"[alerts]\n{LEAST}".replace('secret_env = "ALERTS"', 'secret_file = "x"'), "cannot be read here"),
        (f"[alerts]\n{LEAST}".replace("ALERTS", "MISSING"), "MISSING does not contain a secret"),
        (f"[alerts]\n{LEAST}".replace("ALERTS", SECRET), "secret_env must be the name of an environment variable"),
        (f"[alerts]\n{LEAST}".replace("ALERTS", "EMPTY"), "EMPTY does not contain a secret"),
        (f"[alerts]\n{LEAST}".replace("ALERTS", "SHORT"), "at least 16"),
        (f"[alerts]\n{LEAST}".replace("ALERTS", "THREE"), "more than 2 secrets"),
        (f'[alerts]\n{LEAST}signed = "none"', "signed cannot be none"),
        (f'[alerts]\n{LEAST}signed = "standard"', "whsec_"),
        (f'[alerts]\n{LEAST}signed = "basic"', "user:password"),
        (f'[alerts]\n{LEAST}do = "run"', "do cannot be run"),
        (f'[alerts]\n{LEAST}do = "ask"', "needs a question"),
        (f'[alerts]\n{LEAST}ask = "why?"', 'only with do = "ask"'),
        (f'[alerts]\n{LEAST}tools = ["recall"]', 'only with do = "ask"'),
        (f'[alerts]\n{LEAST}do = "ask"\nask = "why?"\ntools = "recall"', "tools must be a list"),
        (f'[alerts]\n{LEAST}do = "ask"\nask = "why?"\ntools = ["re call"]', "tools must be a list of tool names"),
        (f"[alerts]\n{LEAST.replace('slack:C0123456789', '#alerts')}", "a platform and a channel ID"),
        (f"[alerts]\n{LEAST.replace('slack:C0123456789', 'slack:D0123456789')}", "a platform and a channel ID"),
        (f"[alerts]\n{LEAST}per_minute = 0", "whole number from 1"),
        (f"[alerts]\n{LEAST}per_minute = 1.5", "whole number"),
        (f"[alerts]\n{LEAST}per_minute = true", "whole number"),
        (f"[alerts]\n{LEAST}dollars_per_day = nan", "a number from"),
        (f"[alerts]\n{LEAST}dollars_per_day = -1", "a number from"),
        (f'[alerts]\n{LEAST}quiet = "at night"', "time span"),
        (f'[alerts]\n{LEAST}quiet = "25:00-07:00"', "time span"),
        (f'[alerts]\n{LEAST}quiet = "07:00-07:00"', "time span"),
        (f'[alerts]\n{LEAST}quiet = "22:00-07:00 Europe/Atlantis"', "time span"),
        (f'[alerts]\n{LEAST}mention = ["@here"]', "mention must be a list of IDs"),
        (f'[alerts]\n{LEAST}mention = ["<!channel>"]', "mention must be a list of IDs"),
        (f'[alerts]\n{LEAST}text = "{{{{ payload.x() }}}}"', "its template text is invalid: line 1"),
        (f"[alerts]\n{LEAST}text = 1", "text must be a string in quotes"),
        ("\n".join(f"[a{number}]\n{LEAST}" for number in range(101)), "more than 100 webhooks"),
    ],
)
def test_a_mistake_is_an_error_that_says_what_to_do_and_shows_no_secret(text: str, why: str) -> None:
    with pytest.raises(SettingsError, match=r".") as refused:
        parse(text)
    message = str(refused.value)
    assert why in message
    assert message.startswith("hooks.toml")
    assert SECRET not in message
    assert message.endswith(".")


@pytest.mark.parametrize("secret", ["whsec_MDEyMzQ1Njc4OWFiY2RlZg", "a1" * 16, "A" * 101, "A-B", "Ä"])
def test_a_secret_in_place_of_a_variables_name_is_not_repeated(secret: str) -> None:
    with pytest.raises(SettingsError, match=r"secret_env must be the name of an environment variable") as refused:
        parse(f"[alerts]\n{LEAST}".replace("ALERTS", secret))
    assert secret not in str(refused.value)


def test_a_secret_may_stand_in_a_file_beside_hooks_toml(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "alerts").write_text(f"{SECRET}\n")
    file = tmp_path / "hooks.toml"
    text = f"[alerts]\n{LEAST}".replace('secret_env = "ALERTS"', 'secret_file = "secrets/alerts"')
    (hook,) = parse_file(text, str(file), {}, beside(file))
    assert hook.revealed == [SECRET]


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, 29, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hours", "now", "until"),
    [
        ("22:00-07:00", at(21, 59), None),
        ("22:00-07:00", at(22), datetime(2026, 11, 30, 7, tzinfo=UTC)),
        ("22:00-07:00", at(6, 59), at(7)),
        ("22:00-07:00", at(7), None),
        ("12:00-13:00", at(12, 30), at(13)),
        ("22:00-07:00 Europe/Berlin", at(21, 30), datetime(2026, 11, 30, 6, tzinfo=UTC)),
    ],
)
def test_quiet_hours_last_until_their_end_on_their_own_clock(hours: str, now: datetime, until: datetime | None) -> None:
    quiet = one(f'quiet = "{hours}"').quiet
    assert isinstance(quiet, QuietHours)
    assert quiet.until(now) == until


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_a_hook_with_its_own_kind_of_secret(name: str) -> None:
    secret = {Scheme.STANDARD: "whsec_MDEyMzQ1Njc4OWFiY2RlZg==", Scheme.BASIC: f"u:{SECRET}"}.get(
        presets()[name].signed, SECRET
    )
    (hook,) = parse_file(f"[alerts]\n{LEAST.replace('alertmanager', name)}", "hooks.toml", {"ALERTS": secret}, no_files)
    assert hook.text.source


BLOCKS = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "webhooks.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_files_that_the_page_shows_are_read(block: str) -> None:
    read = block.replace('secret_file = "hooks.secrets/alerts"', 'secret_env = "ALERTS"')
    secrets = {"ALERTS": SECRET, "SHOP_SECRET": "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="}
    (hook,) = parse_file(read, "hooks.toml", secrets, no_files)
    assert hook.action is (Action.ASK if hook.name == "alerts" else Action.POST)


def test_the_template_that_the_page_shows_makes_a_message() -> None:
    (block,) = (block for block in BLOCKS if "[shop]" in block)
    (hook,) = parse_file(block, "hooks.toml", {"SHOP_SECRET": "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="}, no_files)
    order: Json = {"order": 17, "state": "late", "items": [{"name": "*Rope*", "url": "https://shop.example/1"}]}
    fields = {"payload": trimmed(order), "event": ""}
    assert hook.text.render(fields) == "**Order 17** is LATE\n- \\*Rope\\* https://shop.example/1"
    assert (hook.key.render(fields), hook.closes.render(fields)) == ("17", "")


def test_the_page_has_a_row_for_each_preset_key_and_filter() -> None:
    page = (ROOT / "docs" / "webhooks.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {*presets(), *KEYS}
    assert [name for name in (*Scheme, *FILTERS) if f"`{name}`" not in page] == []
