"""Several Slack apps in one file: how it is read, and the errors."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import SettingsError
from agent.spending import NANO, Money
from bot.app.from_settings import budgets, manifest_text, slack_apps
from bot.app.settings import Settings, load_settings
from bot.budgets.budgets import Budget
from bot.platforms.slack.options import EVERYTHING, HttpEvents, SocketMode
from bot.settings.secret import Secret
from bot.setup.file_rights import kept_files

TWO = """
[acme]
bot_token_file = "acme-token"
app_token = "xapp-acme"
managers = ["S01"]

[beta-eu]
bot_token = "xoxb-beta"
signing_secret = "beta-secret"
app_id = "A0BETA"
command_prefix = "beta-"
dollars_per_day = 2.5
"""
DOCS = Path(__file__).parents[3] / "docs" / "slack.md"
HTTP = "127.0.0.1:3000"


def written(folder: Path, text: str) -> str:
    (folder / "acme-token").write_text("xoxb-acme\n")
    file = folder / "apps.toml"
    file.write_text(text)
    return str(file)


def settings_of(file: str, **more: str) -> Settings:
    return load_settings({"COGENCY_SLACK_APPS": file, "COGENCY_SLACK_HTTP": HTTP, **more}, None)


def test_each_app_has_its_own_tokens_and_way_and_what_is_common_stands_once(tmp_path: Path) -> None:
    acme, beta = slack_apps(settings_of(written(tmp_path, TWO), COGENCY_SLACK_COMMAND_PREFIX="all-"))
    assert (acme.name, acme.bot_token, acme.command_prefix) == ("acme", Secret("xoxb-acme"), "all-")
    assert acme.delivery == SocketMode(Secret("xapp-acme"), 2)
    assert acme.managers == {"S01"}
    assert (beta.name, beta.app_id, beta.command_prefix) == ("beta-eu", "A0BETA", "beta-")
    assert beta.delivery == HttpEvents(Secret("beta-secret"), "127.0.0.1", 3000)
    assert "xoxb" not in repr((acme, beta))


def test_an_app_may_have_a_budget_of_its_own_and_what_it_does_not_say_is_the_usual(tmp_path: Path) -> None:
    file = written(tmp_path, TWO)
    settings = settings_of(file, COGENCY_SLACK_SERVE="acme", COGENCY_WORKSPACE_TOKENS_PER_DAY="900")
    assert budgets(settings).workspace == Budget(tokens=900)
    assert budgets(settings).apps == {"beta-eu": Budget(900, Money(5 * NANO // 2))}, "served or not"


def test_a_process_may_name_the_apps_that_it_serves(tmp_path: Path) -> None:
    file = written(tmp_path, TWO)
    assert [app.name for app in slack_apps(settings_of(file, COGENCY_SLACK_SERVE="beta-eu"))] == ["beta-eu"]
    with pytest.raises(SettingsError, match=r"apps.toml does not describe an app named gamma"):
        slack_apps(settings_of(file, COGENCY_SLACK_SERVE="gamma"))


def test_the_one_app_of_the_environment_and_a_file_of_several_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^COGENCY_SLACK_APPS cannot be combined with .*remove"):
        slack_apps(settings_of(written(tmp_path, TWO), SLACK_BOT_TOKEN="xoxb-one"))


WRONG = {
    "[acme\n": r"apps.toml is not valid TOML: .*line 1",
    "": r"apps.toml does not describe any apps",
    "acme = 1": r"apps.toml, app acme: it must be a table",
    "[Acme]": r"apps.toml, app Acme: its name must be 1 to 32 lowercase letters",
    "[a]\ntoken = 'x'": r"apps.toml, app a: token is not a valid key; the valid keys are bot_token, ",
    "[a]\napp_id_file = 'x'": r"app a: app_id_file is not a valid key",
    "[a]\nbot_token = 'xoxp-1'": r'apps.toml, app a: bot_token must start with "xoxb-"',
    "[a]\ndollars_per_day = -1": r"app a: dollars_per_day must be an amount in US dollars",
    "[a]\ntokens_per_day = true": r"app a: the value of tokens_per_day must be",
    "[a]\nbot_token = 1": r"app a: the value of bot_token must be a quoted string",
    "[a]\nbot_token = ''": r"app a: the value of bot_token must be a quoted string",
    "[a]\nbot_token = 'xoxb-1'\nbot_token_file = 'acme-token'": r"bot_token and bot_token_file are both set",
    "[a]\nbot_token_file = 'nowhere'": r"bot_token_file of the app a in .*nowhere",
    "[a]\napp_token = 'xapp-1'": r"app a: bot_token or bot_token_file is missing",
    "[a]\nbot_token = 'xoxb-1'": r"app a: set either app_token, for Socket Mode, or signing_secret",
    "[a]\nbot_token = 'xoxb-1'\napp_token = 'xapp-1'\n[b]\nbot_token = 'xoxb-1'\napp_token = 'xapp-2'": (
        r"the apps a and b have the same bot_token"
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_read_is_one_sentence_with_the_file_and_the_app(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=WRONG[text]) as raised:
        slack_apps(settings_of(written(tmp_path, text)))
    assert "xoxp-1" not in str(raised.value)


def test_an_app_over_http_says_that_nothing_listens_for_it(tmp_path: Path) -> None:
    settings = settings_of(written(tmp_path, TWO))
    settings = replace(settings, slack=replace(settings.slack, http=None))
    with pytest.raises(SettingsError, match=r"app beta-eu: .*set COGENCY_SLACK_HTTP"):
        slack_apps(settings)


def test_a_file_that_others_may_write_is_not_read(tmp_path: Path) -> None:
    file = written(tmp_path, TWO)
    Path(file).chmod(0o666)
    with pytest.raises(SettingsError, match="can be written by other users"):
        slack_apps(settings_of(file))


def test_the_doctor_looks_at_the_file_of_apps_and_at_those_that_it_names(tmp_path: Path) -> None:
    settings = settings_of(written(tmp_path, TWO))
    assert {tmp_path / "apps.toml", tmp_path / "acme-token"} <= {one.path for one in kept_files(settings, None)}


def test_a_token_in_a_home_folder_of_nobody_is_told_and_the_doctor_looks_at_the_others(tmp_path: Path) -> None:
    file = written(tmp_path, '[acme]\nbot_token_file = "~nobody-of-that-name/x"\napp_token = "xapp-1"\n')
    with pytest.raises(SettingsError, match="bot_token_file of the app acme"):
        slack_apps(settings_of(file))
    assert tmp_path / "apps.toml" in {one.path for one in kept_files(settings_of(file), None)}
    elsewhere = kept_files(settings_of("~nobody-of-that-name/apps.toml"), None)
    assert tmp_path / "apps.toml" not in {one.path for one in elsewhere}


def test_tokens_of_the_file_go_to_no_address_that_a_folders_env_alone_has_moved(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text(f"COGENCY_SLACK_APPS={written(tmp_path, TWO)}\nSLACK_API_BASE_URL=https://evil.example/api\n")
    with pytest.raises(SettingsError, match="SLACK_API_BASE_URL"):
        load_settings({}, dotenv)


def test_each_app_has_a_manifest_with_its_prefix_and_its_own_address(tmp_path: Path) -> None:
    settings = settings_of(written(tmp_path, TWO))

    def made(app: str, prefix: str | None = None) -> str:
        return manifest_text(settings, EVERYTHING, prefix, "https://bot.example", app, "Bot", as_json=True)

    assert '"https://bot.example/slack/events/beta-eu"' in made("beta-eu")
    assert '"/beta-ask"' in made("beta-eu")
    assert '"/ask"' in made("new"), "one that is not described yet is about to be"
    assert '"/x-ask"' in made("beta-eu", "x-")


def test_the_file_that_docs_slack_md_shows_is_read(tmp_path: Path) -> None:
    shown = DOCS.read_text("utf-8").partition("```toml\n")[2].partition("```")[0]
    for name in ("bot-token", "app-token", "signing-secret"):
        (tmp_path / f"labs-{name}").write_text({"bot-token": "xoxb-labs", "app-token": "xapp-labs"}.get(name, "secret"))
        (tmp_path / f"acme-{name}").write_text({"bot-token": "xoxb-acme", "app-token": "xapp-acme"}.get(name, "secret"))
    acme, labs = slack_apps(settings_of(written(tmp_path, shown.replace("/run/secrets/", ""))))
    assert (acme.name, labs.name, labs.app_id, labs.managers) == ("acme", "acme-labs", "A0123ABCD", {"S0123"})
