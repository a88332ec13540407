"""Alerts as monitoring and build services post them to Slack and to Discord; hosts and names are invented.

Each has the words that a person who is asked to investigate needs from it.
"""

from dataclasses import dataclass
from typing import Any, Final

Payload = dict[str, Any]


@dataclass(frozen=True)
class Alert:
    """`payload`: the fields of the message beside those that every message has. `says`: what a person sees there."""

    service: str
    payload: Payload
    says: tuple[str, ...]

    def __str__(self) -> str:
        return self.service


def _section(words: str, **more: Any) -> Payload:
    return {"type": "section", "text": {"type": "mrkdwn", "text": words}, **more}


def _button(label: str, **more: Any) -> Payload:
    return {"type": "button", "text": {"type": "plain_text", "text": label}, "action_id": label, **more}


ON_SLACK: Final = (
    Alert(
        "Alertmanager",
        {
            "attachments": [
                {
                    "id": 1,
                    "color": "a30200",
                    "fallback": "[FIRING:2] HighErrorRate (checkout prod) | http://am.example:9093/#/alerts?receiver=ops",
                    "title": "[FIRING:2] HighErrorRate (checkout prod critical)",
                    "title_link": "http://am.example:9093/#/alerts?receiver=ops",
                    "text": "*Alert:* 5xx rate above 4.71 % - `critical`\n*Details:*\n • *pod:* `checkout-7f9`",
                    "fields": [{"title": "Runbook", "value": "<https://runbooks.example/5xx>", "short": True}],
                    "actions": [{"type": "button", "text": "Silence", "url": "http://am.example:9093/#/silences/new"}],
                    "mrkdwn_in": ["fallback", "pretext", "text"],
                }
            ],
        },
        (
            "[FIRING:2] HighErrorRate (checkout prod critical)",
            "4.71 %",
            "checkout-7f9",
            "runbooks.example/5xx",
            "Silence",
        ),
    ),
    Alert(
        "Grafana",
        {
            "attachments": [
                {
                    "id": 1,
                    "color": "D63232",
                    "fallback": "[FIRING:1] KubeJobFailed cluster-01",
                    "title": "[FIRING:1] KubeJobFailed cluster-01",
                    "title_link": "https://grafana.example/alerting/list",
                    "text": "**Firing**\n\nValue: B=95.5, C=1\nLabels:\n - job = batch-471",
                    "fields": [{"title": "severity", "value": "critical", "short": False}],
                    "image_url": "https://grafana.example/img/attachments/a1.png",
                    "footer": "Grafana v11.2.0",
                    "ts": 1790000000,
                }
            ],
        },
        ("[FIRING:1] KubeJobFailed cluster-01", "B=95.5", "job = batch-471", "severity: critical", "(picture)"),
    ),
    Alert(
        "PagerDuty",
        {
            "text": "",
            "attachments": [
                {
                    "id": 1,
                    "color": "CC3B3B",
                    "fallback": "[no preview available]",
                    "blocks": [
                        _section("*<https://acme.pagerduty.example/incidents/Q1|#4711 Disk full on db-3>*"),
                        {
                            "type": "section",
                            "fields": [
                                {"type": "mrkdwn", "text": "*Service:* Orders database"},
                                {"type": "mrkdwn", "text": "*Urgency:* High"},
                            ],
                        },
                        {
                            "type": "context",
                            "elements": [{"type": "mrkdwn", "text": "Triggered on <!date^1790000000^{date}|Sep 21>"}],
                        },
                        {"type": "actions", "elements": [_button("Acknowledge"), _button("Resolve")]},
                    ],
                }
            ],
        },
        ("#4711 Disk full on db-3", "Orders database", "*Urgency:* High", "Sep 21", "Acknowledge"),
    ),
    Alert(
        "Datadog",
        {
            "attachments": [
                {
                    "id": 1,
                    "color": "d50200",
                    "fallback": "Triggered: p95 latency on checkout",
                    "title": "Triggered: p95 latency on checkout is 4.7 s",
                    "title_link": "https://app.datadog.example/monitors/471?to_ts=1&amp;from_ts=0",
                    "text": "p95 over the last 5 minutes was above 2 s.\n@slack-ops\n*env:prod*, service:checkout",
                    "image_url": "https://p.datadog.example/snapshot.png",
                    "mrkdwn_in": ["text"],
                }
            ],
        },
        ("p95 latency on checkout is 4.7 s", "monitors/471?to_ts=1&from_ts=0", "service:checkout"),
    ),
    Alert(
        "Sentry",
        {
            "text": "[checkout] KeyError: 'cart_471'",
            "blocks": [
                _section(":red_circle: <https://acme.sentry.example/issues/471/|*KeyError: 'cart_471'*>"),
                {
                    "type": "rich_text",
                    "elements": [
                        {
                            "type": "rich_text_preformatted",
                            "elements": [{"type": "text", "text": "checkout/cart.py in total\n  raise KeyError(id)"}],
                        }
                    ],
                },
                {"type": "context", "elements": [{"type": "mrkdwn", "text": "Events: *312*   State: *Escalating*"}]},
                {
                    "type": "actions",
                    "elements": [
                        _button("Resolve"),
                        {"type": "static_select", "placeholder": {"type": "plain_text", "text": "Select Assignee…"}},
                    ],
                },
            ],
        },
        ("KeyError: 'cart_471'", "checkout/cart.py in total", "Events: *312*", "Select Assignee"),
    ),
    Alert(
        "GitHub",
        {
            "attachments": [
                {
                    "id": 1,
                    "color": "cb2431",
                    "fallback": "[acme/api] Workflow run failed",
                    "pretext": "<https://github.example/acme/api/actions/runs/471|deploy> failed on `main`",
                    "author_name": "ann",
                    "title": "#471 Cache the carts",
                    "title_link": "https://github.example/acme/api/pull/471",
                    "text": "Step *Run migrations* exited with code 137",
                    "fields": [{"title": "Reviewers", "value": "bob", "short": True}],
                    "footer": "<https://github.example/acme/api|acme/api>",
                    "ts": 1790000000,
                    "mrkdwn_in": ["pretext", "text"],
                }
            ],
        },
        (
            "[deploy](https://github.example/acme/api/actions/runs/471) failed",
            "#471 Cache the carts",
            "code 137",
            "acme/api",
        ),
    ),
    Alert(
        "Jenkins",
        {
            "attachments": [
                {
                    "id": 1,
                    "color": "a30200",
                    "fallback": "api - #471 Failure after 4 min 2 sec",
                    "text": "api - #471 Failure after 4 min 2 sec (<https://ci.example/job/api/471/|Open>)\n"
                    "*Changes:* Cache the carts [ann]",
                    "mrkdwn_in": ["pretext", "text"],
                }
            ],
        },
        ("#471 Failure after 4 min 2 sec", "https://ci.example/job/api/471/", "Cache the carts [ann]"),
    ),
)


def _embed(**more: Any) -> Payload:
    return {"type": "rich", "color": 15158332, **more}


ON_DISCORD: Final = (
    Alert(
        "Alertmanager",
        {
            "content": "",
            "embeds": [
                _embed(
                    title="[FIRING:2] HighErrorRate (checkout prod critical)",
                    description="**Alerts Firing:**\nLabels:\n - alertname = HighErrorRate\n - pod = checkout-7f9",
                )
            ],
        },
        ("[FIRING:2] HighErrorRate (checkout prod critical)", "pod = checkout-7f9"),
    ),
    Alert(
        "Grafana",
        {
            "content": "**Firing**\n\nValue: B=95.5, C=1\nLabels:\n - job = batch-471",
            "embeds": [
                _embed(
                    title="[FIRING:1] KubeJobFailed cluster-01",
                    url="https://grafana.example/alerting/list",
                    footer={"text": "Grafana v11.2.0"},
                    image={"url": "https://cdn.discordapp.com/attachments/1/2/a.png"},
                )
            ],
        },
        ("[FIRING:1] KubeJobFailed cluster-01", "job = batch-471", "Grafana v11.2.0", "(picture)"),
    ),
    Alert(  # through the webhook that takes Slack's form, which Discord turns into an embed
        "PagerDuty",
        {
            "content": "",
            "embeds": [
                _embed(
                    author={"name": "PagerDuty"},
                    title="#4711 Disk full on db-3",
                    url="https://acme.pagerduty.example/incidents/Q1",
                    fields=[
                        {"name": "Service", "value": "Orders database", "inline": True},
                        {"name": "\u200b", "value": "Urgency high", "inline": True},
                    ],
                    timestamp="2026-11-28T10:00:00+00:00",
                )
            ],
        },
        ("#4711 Disk full on db-3", "Service: Orders database", "Urgency high", "2026-11-28 10:00 UTC"),
    ),
    Alert(
        "Datadog",
        {
            "content": "",
            "embeds": [
                _embed(
                    title="Triggered: p95 latency on checkout is 4.7 s",
                    description="p95 over the last 5 minutes was above 2 s.\n[Monitor](https://app.datadog.example/471)",
                    thumbnail={"url": "https://p.datadog.example/snapshot.png"},
                )
            ],
        },
        ("p95 latency on checkout is 4.7 s", "above 2 s"),
    ),
    Alert(
        "Sentry",
        {
            "content": "",
            "embeds": [
                _embed(
                    title="KeyError: 'cart_471'",
                    url="https://acme.sentry.example/issues/471/",
                    description="```checkout/cart.py in total```",
                    fields=[{"name": "Events", "value": "312", "inline": True}],
                    footer={"text": "CHECKOUT-3F via new issues"},
                )
            ],
            "components": [
                {
                    "type": 1,
                    "id": 1,
                    "components": [{"type": 2, "id": 2, "style": 2, "label": "Resolve...", "custom_id": "resolve:1"}],
                }
            ],
        },
        ("KeyError: 'cart_471'", "checkout/cart.py in total", "Events: 312", "CHECKOUT-3F", "Resolve..."),
    ),
    Alert(
        "GitHub",
        {
            "content": "",
            "embeds": [
                _embed(
                    author={"name": "ann", "url": "https://github.example/ann"},
                    title="[acme/api] deploy failed on main",
                    url="https://github.example/acme/api/actions/runs/471",
                    description="Step **Run migrations** exited with code 137",
                )
            ],
        },
        ("[acme/api] deploy failed on main", "code 137", "actions/runs/471"),
    ),
    Alert(
        "Jenkins",
        {
            "content": "",
            "embeds": [
                _embed(
                    title="api #471",
                    url="https://ci.example/job/api/471/",
                    description="**Build:** [#471](https://ci.example/job/api/471/)\n**Status:** failure\n"
                    "**Changes:**\n - `3f2a9c1` *Cache the carts - ann*",
                    footer={"text": "Jenkins v2.479, Discord Notifier v1.6"},
                )
            ],
        },
        ("**Status:** failure", "Cache the carts - ann", "Jenkins v2.479"),
    ),
    Alert(  # as newer apps post: components alone
        "Components",
        {
            "content": "",
            "flags": 1 << 15,
            "components": [
                {
                    "type": 17,
                    "id": 1,
                    "components": [
                        {"type": 10, "id": 2, "content": "# Build 471 failed\nlinker error in <t:1790000000:R>"},
                        {
                            "type": 9,
                            "id": 3,
                            "components": [{"type": 10, "id": 4, "content": "branch carts"}],
                            "accessory": {
                                "type": 2,
                                "id": 5,
                                "style": 5,
                                "label": "Log",
                                "url": "https://ci.example/471/log",
                            },
                        },
                    ],
                }
            ],
        },
        ("# Build 471 failed", "branch carts", "[Log](https://ci.example/471/log)", "2026-09-21"),
    ),
)
