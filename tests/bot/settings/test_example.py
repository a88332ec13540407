"""`.env.example` shows every setting with its description and an example that can be used as it stands."""

import re
from itertools import pairwise
from pathlib import Path

from bot.app.settings import Settings, all_settings, load_settings, setting_names
from bot.settings.example import example_file

SETTING = re.compile(r"# ([A-Z][A-Z_]*)=(.*)")


def lines() -> list[str]:
    return example_file(all_settings()).splitlines()


def test_the_example_file_lists_every_setting_once_each_after_its_description() -> None:
    named = [match[1] for line in lines() if (match := SETTING.fullmatch(line))]
    assert named == list(setting_names())
    for before, line in pairwise(lines()):
        if SETTING.fullmatch(line):
            assert before.startswith("# ")
            assert not SETTING.fullmatch(before)


def test_the_example_file_groups_the_settings_under_headings() -> None:
    headings = [line for line in lines() if line.startswith("## ")]
    first_setting = next(number for number, line in enumerate(lines()) if SETTING.fullmatch(line))
    assert len(headings) == len({*headings}) >= 5
    assert lines().index(headings[0]) < first_setting
    assert all(lines()[lines().index(heading) - 1] == "" for heading in headings)


def test_the_example_file_is_valid_when_every_line_is_uncommented(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("\n".join(line[2:] for line in lines() if SETTING.fullmatch(line)), encoding="utf-8")
    settings = load_settings({}, dotenv)
    assert settings.chat.channel_instructions == {"C0123": "Answer formally."}
    assert settings.chat.language == "Japanese"
    assert settings.discord.gateway_url == Settings().discord.gateway_url
    assert settings.models.first_token_timeout_s == Settings().models.first_token_timeout_s
