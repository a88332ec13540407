"""Code of an answer arrives as the model wrote it, on both platforms, and nothing in it notifies anybody."""

import re
from collections.abc import Sequence

import pytest

from bot.chat.reply.attached_files import LONG_LINES
from bot.platforms.slack.surface import LIMITS, STREAM_LIMITS
from tests.fakes.clock import FakeClock
from tests.fakes.discord_bot import on_discord, pings
from tests.fakes.discord_world import ANN, DM_OF
from tests.fakes.reader import read_back
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.fakes.typist import typed
from tests.flows.test_discord_answers import PAGE, answered, slowly, talking
from tests.flows.test_slack_stream import workspace

# What people ask bots about, with the signs that links, mentions and emphasis have elsewhere.
CODES = (
    ("powershell", "[Environment]::SetEnvironmentVariable('Path', $p, 'User')\n[Convert]::FromBase64String($s)\n"),
    ("bash", 'rest=("${words[@]:2}")\necho "${map[key]:-none}" ${list[*]::2} &>/dev/null\n'),
    ("python", 'NAME = re.compile(r"^[a-z](?:[a-z0-9_]{0,30})$")\n@channel.group()\ndef f(*args, **more): ...\n'),
    ("python", "rows[0](key=1)[1:2]; d[a]: int = 3; x = y[::-1]; print(f'<@{user}>')\n"),
    ("sh", "npm i @here/maps-api @everyone/tools\ngit log --author=@channel\n"),
    ("java", "List<@NonNull String> names = map.<@Nullable Integer>get();\n"),
    ("sed", "s/[0-9](\\.[0-9]+)?/&#64;here &lt;!channel&gt;/g\n"),
    ("text", "http://[fe80::1]:8080/a//b and [::1]:443 and mailto:[x](y)\n"),
    ("html", '<a href="https://wiki.example/start">wiki</a> <!-- a note --> <!DOCTYPE html> &amp;\n'),
    ("latex", "\\left[\\frac{a}{b}\\right](\\alpha:\\beta) \\[ x \\]: y\n"),
    ("markdown", "[our wiki](https://wiki.example/start) and ![](//cdn.example/x.png)\n[1]: https://wiki.example/\n"),
    ("cpp", "auto f = [&](auto&& x) { return std::move(x); }; a[i](b::c(d)); *p = &q; x || y;\n"),
    ("", "\ttab\n    four\n\n\n| a | b |\n|---|---|\n> quoted\n# heading\n* star_ _under_ ~~no~~ \\* \\\\\n"),
    ("js", "const t = `${a[0](`${b}`)} [x](https://wiki.example/${id})`;\n"),
)
STEPS = [
    f"{step}. Step `[x](https://a.example/{step})`:\n\n```{code[0]}\n{code[1]}```" for step, code in enumerate(CODES)
]
ANSWER = "\n\n".join(
    [
        *STEPS,
        "- In a list:\n  ```sh\n  npm i @here/maps\n  [a](https://b.example/)\n  ```",
        "> ```sh\n> echo [a](https://b.example/)\n> ```\n",
        "And `[Convert]::ToBase64String`, `@here/x` and ``a ` [b](https://c.example/)``.",
    ]
)


def sent_by(slack_pages: Sequence[FakeMessage], limit: int) -> str:
    return read_back([page.text for page in slack_pages], limit)


@pytest.mark.parametrize("direct", [True, False])
async def test_code_arrives_in_slack_as_it_was_written(*, direct: bool) -> None:
    async with workspace([typed(ANSWER)], FakeClock()) as world, world.running():
        if direct:
            pages = await world.asked()
        else:
            question = await world.slack.say(world.ann, world.general, f"<@{BOT_USER}> code?")
            await world.answered()
            pages = world.pages(world.general, question.ts)
    assert bool(world.count("chat.appendStream")) is direct
    assert sent_by(pages, STREAM_LIMITS.page_chars if direct else LIMITS.page_chars) == ANSWER


async def test_code_arrives_on_discord_as_it_was_written() -> None:
    async with talking([slowly(ANSWER, 3.0)]) as (fake, host):
        await fake.write(ANN, "code?")
        await answered(fake, host)
        assert read_back(fake.world.shown(DM_OF[ANN]), PAGE) == ANSWER


@pytest.mark.parametrize(("language", "code"), CODES)
async def test_long_code_arrives_in_its_file_as_it_was_written(language: str, code: str) -> None:
    long = code * (LONG_LINES // code.count("\n") + 1)
    answer = f"So:\n\n```{language}\n{long}```"
    async with workspace([answer]) as world, world.running():
        await world.slack.say(world.ann, world.dm, "code?")
        await world.answered()
        assert [content for _, _, content in world.slack.state.files] == [long.encode()]


TRICKS = (
    *("@everyone", "@here", "(@channel)", "@Everyone!", "<!channel>", "<!here|here>", "<!EVERYONE>"),
    *("<!subteam^S0ABC|crew>", "<@U0BOB>", "<@W0BOB|bob>", "&lt;!channel&gt;", "&#60;@U0BOB&#62;", "<\\!here>"),
    *("<!&#104;ere>", "&commat;here"),
    "an unclosed `<!channel> @here",
    "\\`@here &lt;!channel>\\`",
    "``@channel` <!here>",
    "a ` b\n`@here` <@U0BOB>",
    "    @here &lt;@U0BOB>",
    "~~~\n@here &lt;!channel>\n~~~",
    "- a\nlazy\n  ```\n@here &lt;!channel>\n  ```",
    "> ```\n> x\n@channel &lt;!here>",
    "<div>\n```\n\n@here &lt;!channel>\n```",
    "| a` | `@here` | `c |\n|---|---|---|",
    "```\n<!channel> <@U0BOB>\n```",
    "`<!here>`",
    "https://x.example/`@here `&lt;!channel>",
    "<@&123456789012345678> <@123456789012345678>",
    "@\u200beveryone @here\u200b",
)
# Slack's forms of a mention anywhere, and its words outside of what is code for every reader.
MENTION = re.compile(r"<@[UW]|<!(?:channel|here|everyone|group|subteam)", re.IGNORECASE)
SPAN = re.compile(r"(?<!`)(`+)(?!`)[^\n|]*?(?<!`)\1(?!`)")
WORD = re.compile(
    r"(?<!\w)@(?:channel|here|everyone|group)\b|&(?:lt|#60|#x3c);?\\?(?:@|!(?:channel|here))", re.IGNORECASE
)


@pytest.mark.parametrize("trick", TRICKS)
async def test_no_trick_notifies_anybody_in_slack(trick: str) -> None:
    answer = f"Look:\n\n{trick}"
    async with workspace([typed(answer)] * 2, FakeClock()) as world, world.running():
        streamed = await world.asked()
        question = await world.slack.say(world.ann, world.general, f"<@{BOT_USER}> look?")
        await world.answered(2)
        for page in (*streamed, *world.pages(world.general, question.ts)):
            for _, text in page.versions:
                assert not MENTION.search(text)
                assert not WORD.search(SPAN.sub("", text))


@pytest.mark.parametrize("trick", TRICKS)
async def test_no_trick_notifies_anybody_on_discord(trick: str) -> None:
    async with talking([f"Look:\n\n{trick}"]) as (fake, host):
        await fake.write(ANN, "look?")
        await answered(fake, host)
        assert fake.world.shown(DM_OF[ANN])
        assert pings(fake) == []


@pytest.mark.parametrize("rows", [3, 120])
async def test_a_table_on_discord_never_shows_its_pipes_while_it_grows(rows: int) -> None:
    table = "".join(f"| boat {row} | {row} m | 海鷗 |\n" for row in range(rows))
    text = f"The boats:\n\n| Boat | Length | Name |\n|---|---:|---|\n{table}\nThat is all."
    async with talking([slowly(text, 4.0)]) as (fake, host):
        await fake.write(ANN, "boats?")
        await answered(fake, host)
        shown = [call.body["content"] for call in fake.calls if "content" in call.body]
        assert len(shown) > 2
        assert not any("|" in page for page in shown)
        assert all(page.count("```") % 2 == 0 for page in shown)
        pages = fake.world.shown(DM_OF[ANN])
        assert all(page.count("Boat") == page.count("```") // 2 for page in pages)
        assert read_back(pages, PAGE) == on_discord(text)
