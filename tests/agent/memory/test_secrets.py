"""Keys, passwords and card numbers are found; similar text is not."""

import time

import pytest

from agent.memory.secrets import HIDDEN, has_secret, without_secrets
from tests.patience import cpu_s

# Put together here, so that nobody who scans the sources for keys is alarmed.
SECRETS = [
    "my key is " + "sk-" + "ant-api03-" + "Qz7RtY2mKp9xLw4nVb8c",
    "use " + "AKIA" + "IOSFODNN7EXAMPLE" + " for the bucket",
    "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "xox" + "b-" + "123456789012-abcdefghijkl",
    "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "dozjgNryP4J3jVmNHl0w",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
    "my password is hunter2",
    "Password: swordfish",
    "the password for the router is 'correct'",
    "remember that the wifi password is xK9!pq",
    "API_KEY=abcdef",
    "mein Passwort ist geh3im!",
    "パスワードは hanabi7 です",
    "我的密码是 abc123",
    "postgresql://app:tops3cret@db.example.test/app",
    "https://example.test/hook?token=abcdef123456",
    "card 4111 1111 1111 1111, expires 10/29",
    "5500-0055-5555-5559",
    "378282246310005",
    "it is wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
]
HARMLESS = [
    "I prefer Vim, and tabs of four characters",
    "the password is stored in the safe",
    "my password is expired",
    "Our password policy asks for twelve characters",
    "the token bucket is empty",
    "call me on +44 20 7946 0958",
    "order 4111 1111 1111 1112 has not come",
    "the invoice is 2026-1121-0042",
    "see https://docs.example.test/d/1AbC2dEf3GhI4jKl5MnO6pQr7StU8vWx/edit",
    "the run 123e4567-e89b-12d3-a456-426614174000 failed",
    "class AbstractSingletonProxyFactoryBean2 is too long",
    "deploy_configuration_manager_for_2026_release",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk",
    "at commit 6b7a213",
    "1234567890 and 3.14159265358979323846",
    "",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_found_and_hidden(text: str) -> None:
    assert has_secret(text)
    assert HIDDEN in without_secrets(text)
    assert not has_secret(without_secrets(text))


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_is_left_as_it_is(text: str) -> None:
    assert not has_secret(text)
    assert without_secrets(text) == text


def test_what_stands_around_a_secret_stays() -> None:
    assert without_secrets("my password is hunter2, please log in") == f"my password is {HIDDEN} please log in"
    assert without_secrets("a postgresql://u:pw1234@db/x b") == f"a postgresql://u:{HIDDEN}@db/x b"


@pytest.mark.parametrize("piece", ["a-", "a.", "a+", "https:/"])
def test_a_long_text_is_searched_in_no_time(piece: str) -> None:
    began = time.process_time()
    assert not has_secret(piece * 30_000)
    assert time.process_time() - began < cpu_s(1)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["eyJ-", "eyJa-", "eyJ.eyJ.", "a.b-", "http://a.b/ aaaaaaaaaaaaaaaaaaaaaaaa "])
def test_text_that_begins_a_secret_again_and_again_is_read_in_linear_time(piece: str) -> None:
    text = (piece * 200_000)[:400_000]
    begun = time.process_time()
    has_secret(text)
    assert time.process_time() - begun < cpu_s(5)


def test_a_signed_token_is_found_behind_other_characters_of_a_word() -> None:
    token = "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0."
    assert without_secrets(f"session-{token} is mine").endswith(f"{HIDDEN} is mine")
    assert token[:12] not in without_secrets(f"session-{token}")
    assert not has_secret("the_eyJ.example.host and heyJude.example.hostname")
