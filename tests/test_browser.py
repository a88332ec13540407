"""What tests of pages rest on: a browser that sees what is wrong with one."""

from tests.browser import PHONE, open_browser, open_page, overflows, violations
from tests.patience import until

WRONG = (
    "data:text/html,<title>A page</title><body style='width:600px'><p style='color:%23aaa'>Pale</p>"
    "<img src='https://example.com/a.png'><img src='http://192.0.2.1/b.png'><script>throw new Error('broken')</script>"
)
RIGHT = "data:text/html,<html lang='en'><title>A page</title><main><h1>Hello</h1><p>Read me.</p></main>"


async def test_a_browser_tells_what_is_wrong_with_a_page() -> None:
    async with open_browser() as browser:
        async with open_page(browser, size=PHONE) as opened:
            await opened.page.goto(WRONG)
            rules = {line.split(":")[0] for line in await violations(opened.page)}
            assert {"color-contrast", "html-has-lang", "image-alt"} <= rules
            assert await overflows(opened.page)
            assert {"asked https://example.com/a.png", "asked http://192.0.2.1/b.png"} <= {*opened.wrong}
            await until(lambda: sum("ERR_NAME_NOT_RESOLVED" in one for one in opened.wrong) == 2)  # both were refused
            assert "raised broken" in opened.wrong
        async with open_page(browser, size=PHONE, scheme="dark") as opened:
            await opened.page.goto(RIGHT)
            assert await violations(opened.page) == []
            assert not await overflows(opened.page)
            assert opened.wrong == []
