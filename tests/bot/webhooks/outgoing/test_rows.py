"""The file of outgoing webhooks is read strictly, and each error names the row and what to do."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import SettingsError
from agent.outgoing import OutgoingEvent
from bot.app.from_settings import for_play
from bot.app.settings import load_settings
from bot.webhooks.outgoing.rows import MAX_ROWS, OutgoingRow, SecretSources, parse_rows
from bot.webhooks.outgoing.settings import outgoing_rows
from bot.webhooks.outgoing.signing import parse_secret
from tests.examples import examples

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OLD = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
ROW = """
[[webhook]]
name = "crm"
url = "https://crm.example/hooks?from=bot"
events = ["turn.finished", "forgotten"]
secret_env = "CRM_SECRET"
"""
FILE = Path("/etc/webhooks.toml")
FILES = {"/etc/old": f"{OLD}\n"}


def read_file(what: str, name: str) -> str:
    assert what == "old_secret_file of the webhook crm in /etc/webhooks.toml"
    return FILES[name]


SOURCES = SecretSources({"CRM_SECRET": f"{SECRET}\n", "EMPTY": " "}, read_file)


def parsed(content: str) -> tuple[OutgoingRow, ...]:
    return parse_rows(content, FILE, SOURCES)


def test_a_row_has_its_address_events_and_secret_and_by_default_all_places_and_no_words() -> None:
    (row,) = parsed(ROW)
    assert (row.name, row.target.address) == ("crm", "https://crm.example/hooks?from=bot")
    assert row.events == {OutgoingEvent.TURN_FINISHED, OutgoingEvent.FORGOTTEN}
    assert (row.secrets, row.places, row.words) == ((parse_secret(SECRET),), frozenset(), False)
    assert SECRET not in repr(row)
    assert "crm.example" not in repr(row.subscription)


def test_a_row_may_have_an_old_secret_places_and_words() -> None:
    (row,) = parsed(ROW + 'old_secret_file = "old"\nplaces = ["slack:T1", "slack:T1:C1", "discord"]\nwords = true')
    assert row.secrets == (parse_secret(SECRET), parse_secret(OLD))
    assert (row.places, row.words) == ({"slack:T1", "slack:T1:C1", "discord"}, True)
    assert row.secret_files == (Path("/etc/old"),)


def changed(old: str, new: str) -> str:
    assert old in ROW
    return ROW.replace(old, new)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("[[webhook", "is not valid TOML"),
        ("", "does not contain any webhooks"),
        ("webhook = []", "does not contain any webhooks"),
        ("webhook = 3", "does not contain any webhooks"),
        ("webhook = [3]", "webhook 1: it must be a table"),
        (f"{ROW}\n[webhooks]", "contains webhooks, which is not valid there"),
        (ROW + ROW, "contains two webhooks named crm"),
        (ROW * (MAX_ROWS + 1), f"more than {MAX_ROWS} webhooks"),
        (changed('"crm"', '"CRM!"'), "webhook 1: its name must be"),
        (changed('name = "crm"\n', ""), "webhook 1: the value of name must be a quoted string"),
        (ROW + 'secret = "whsec_x"', "webhook crm: secret is not a valid key; the valid keys are name, url"),
        (changed("https://crm.example", "ftp://crm.example"), "url is not valid: it must begin with https://"),
        (changed("https://crm.example", "crm.example"), "url is not valid: it must begin with https://"),
        (changed("https://crm.example", "https://user@crm.example"), "url is not valid: its address is ambiguous"),
        (changed('["turn.finished", "forgotten"]', "[]"), "events is empty; list at least one of turn.finished"),
        (changed('["turn.finished", "forgotten"]', '"turn.finished"'), "the value of events must be a list"),
        (changed('"forgotten"]', "3]"), "the value of events must be a list"),
        (changed('"forgotten"]', '"turn.began"]'), "turn.began is not an event; the events are turn.finished"),
        (changed('secret_env = "CRM_SECRET"', ""), "secret_env or secret_file is missing"),
        (changed('"CRM_SECRET"', '"NOT_SET"'), "secret_env names the environment variable NOT_SET, which is not set"),
        (changed('"CRM_SECRET"', '"EMPTY"'), "secret_env names the environment variable EMPTY, which is not set"),
        (changed('"CRM_SECRET"', f'"{SECRET}="'), "secret_env must be the name of an environment variable, not the"),
        (changed('"CRM_SECRET"', f'"{SECRET}"'), "secret_env must be the name of an environment variable, not the"),
        (changed('"CRM_SECRET"', f'"{"a1" * 16}"'), "secret_env must be the name of an environment variable, not the"),
        (ROW + 'secret_file = "old"', "secret_env and secret_file are both set; remove one of them"),
        (ROW + "places = []", "places must list between 1 and 1000 places"),
        (ROW + 'places = ["#general"]', "#general is not the ID of a place"),
        (ROW + 'words = "yes"', "words must be true or false, without quotes"),
        (ROW + "words = true", "with words = true, list the channels in places"),
    ],
)
def test_a_fault_is_refused_with_the_row_and_what_to_do(content: str, error: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parsed(content)
    assert error in str(refused.value)
    assert str(refused.value).startswith(f"COGENCY_OUTGOING_WEBHOOKS: {FILE}")
    assert SECRET not in str(refused.value)


@settings(max_examples=examples(100))
@given(st.text(max_size=200) | st.text('[]"=.\n webhooknameurl', max_size=200))
def test_any_text_is_rows_or_a_settings_error(content: str) -> None:
    with suppress(SettingsError):
        assert parsed(content)


def test_the_setting_names_the_file_whose_secrets_come_from_the_environment_and_are_known_as_secrets(
    tmp_path: Path,
) -> None:
    file = tmp_path / "webhooks.toml"
    file.write_text(ROW)
    file.chmod(0o600)
    settings = load_settings({"COGENCY_OUTGOING_WEBHOOKS": str(file), "CRM_SECRET": SECRET})
    (row,) = outgoing_rows(settings.outgoing, settings.webhook_variables)
    assert row.secrets == (parse_secret(SECRET),)
    assert SECRET in settings.secrets()
    assert SECRET not in repr(settings)
    assert load_settings({"CRM_SECRET": SECRET}).webhook_variables == {}
    played = for_play(settings, tmp_path / "play.db")
    assert outgoing_rows(played.outgoing, played.webhook_variables) == ()


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "webhooks.toml"
    file.write_text(ROW)
    file.chmod(0o666)
    settings = load_settings({"COGENCY_OUTGOING_WEBHOOKS": str(file), "CRM_SECRET": SECRET})
    with pytest.raises(SettingsError, match="can be written by other users"):
        outgoing_rows(settings.outgoing, settings.webhook_variables)
