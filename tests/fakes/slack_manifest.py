"""The manifests of apps that Slack accepts, as a closed JSON schema with Slack's own limits.

It has only the part that we use; everything else would be an error.
"""

from typing import Any


def _text(maximum: int, minimum: int = 1, **more: str) -> dict[str, Any]:
    return {"type": "string", "minLength": minimum, "maxLength": maximum, **more}


def _closed(required: str = "", **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties, "additionalProperties": False}


def _several(item: dict[str, Any], maximum: int, minimum: int = 1) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": minimum, "maxItems": maximum, "uniqueItems": True}


YES_OR_NO = {"type": "boolean"}
ADDRESS = _text(3_000, pattern="^https://")

ACCEPTED = _closed(
    "display_information",
    _metadata=_closed(major_version={"enum": [1, 2]}),
    display_information=_closed(
        "name",
        name=_text(35),
        description=_text(140),
        long_description=_text(4_000, 175),
        background_color=_text(7, pattern="^#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?$"),
    ),
    features=_closed(
        app_home=_closed(
            home_tab_enabled=YES_OR_NO, messages_tab_enabled=YES_OR_NO, messages_tab_read_only_enabled=YES_OR_NO
        ),
        bot_user=_closed("display_name", display_name=_text(80, pattern="^[a-z0-9_.-]+$"), always_online=YES_OR_NO),
        agent_view=_closed(
            agent_description=_text(300),
            suggested_prompts=_several(_closed("title message", title=_text(100), message=_text(1_000)), 4),
        ),
        shortcuts=_several(
            _closed(
                "name type callback_id description",
                name=_text(24),
                type={"enum": ["message", "global"]},
                callback_id=_text(255),
                description=_text(150),
            ),
            10,
        ),
        slash_commands=_several(
            _closed(
                "command description",
                command=_text(32, 2, pattern="^/[a-z0-9_-]+$"),
                url=ADDRESS,
                description=_text(2_000),
                usage_hint=_text(1_000),
                should_escape=YES_OR_NO,
            ),
            50,
        ),
    ),
    oauth_config=_closed(scopes=_closed(bot=_several(_text(50), 255), bot_optional=_several(_text(50), 255))),
    settings=_closed(
        event_subscriptions=_closed(request_url=ADDRESS, bot_events=_several(_text(50), 100)),
        interactivity=_closed("is_enabled", is_enabled=YES_OR_NO, request_url=ADDRESS),
        org_deploy_enabled=YES_OR_NO,
        socket_mode_enabled=YES_OR_NO,
        token_rotation_enabled=YES_OR_NO,
    ),
)
