"""Folders of plug-ins: valid and invalid ones."""

import json
from pathlib import Path
from typing import Any

FORM = "https://agent-plugins.org/schemas/1.0.0/"
SECRET = "the launch code is 4711"


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def skill(name: str, description: str = "Does it. Use it often.", body: str = "Step one.", more: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n{body}\n"


def manifest(name: str = "office", **more: object) -> str:
    return json.dumps({"$schema": f"{FORM}plugin.schema.json", "name": name, **more}, indent=1)


def servers(**entries: Any) -> str:
    return json.dumps({"$schema": f"{FORM}mcp.schema.json", "mcpServers": entries}, indent=1)
