"""A hand-written MCP server: raw lines of JSON, so that it can misbehave as no real server does. Run it as a process.

It speaks the protocol of before 2026. Its first argument selects how it starts; each tool is one kind of behaviour.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any

NAMES = [
    "echo",
    "hang",
    "die",
    "flood",
    "babble",
    "endless",
    "big",
    "deep",
    "wrong",
    "slow",
    "spawn",
    "change",
    "fail",
    "ask",
    "wonder",
    "quiz",
    "hurry",
    "pages",
    "more",
    "odd",
    "deaf",
    "busy",
]
ODD_FIELDS: dict[str, Any] = {
    "type": "object", "properties": {"uids[]": {"type": "array"}, "größe": {"type": "number"}}, "required": ["uids[]"]
}  # fmt: skip
TOOLS: list[dict[str, Any]] = [
    *({"name": name, "inputSchema": {"type": "object"}} for name in NAMES),
    {"name": "中文工具", "inputSchema": ODD_FIELDS},
]
STRANGE: list[Any] = [
    {"name": "echo", "description": "Says\nit \u202eagain\u200b.", "inputSchema": {"type": "object"}},
    {"name": "echo", "inputSchema": {"type": "object"}},
    {"name": "wipe\x1b[2J", "inputSchema": {"type": "object"}},
    {"name": "no_schema", "inputSchema": {"type": "array"}},
    {"name": "round", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#"}}}},
    {"name": "away", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}},
    {"name": "slow_pattern", "inputSchema": {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}},
    {"name": "list_what_was_said_of_pull_requests_and_threads_in_full_or_half", "inputSchema": {"type": "object"}},
    {"name": "list_what_was_said_of_pull_requests_and_threads_in_full_or_short", "inputSchema": {"type": "object"}},
    {"name": "long", "description": "x" * 1_000_000, "inputSchema": {"type": "object"}},
]


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(content: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": content}]}


cancelled: list[Any] = []
wondering: dict[str, Any] = {}  # The calls that wait for an answer, by the id of their request
opened: list[Any] = []


COLOUR: dict[str, Any] = {"type": "object", "properties": {"colour": {"type": "string"}}}


def ask(name: str, message: str = "Which colour?", schema: dict[str, Any] = COLOUR) -> None:
    say({"id": name, "method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})


def read_no_more(name: str, params: dict[str, Any]) -> None:
    if name == "deaf":
        os.close(0)
        say({"method": "notifications/tools/list_changed"})  # so that its lists are asked for again
    else:
        say({"method": "notifications/progress", "params": {**params["_meta"], "progress": 1}})
    time.sleep(600)


def call(name: str, params: dict[str, Any], number: Any) -> dict[str, Any] | None:  # noqa: C901, PLR0912 -- one case for each behaviour
    match name:
        case "odd":
            return {"content": [{"type": "text", "text": "good"}, {"type": "video"}], "structuredContent": [1]}
        case "echo" | "中文工具":
            return text(json.dumps([params.get("arguments"), len(cancelled)]))
        case "hang":
            return None
        case "deaf" | "busy":
            return read_no_more(name, params)
        case "die":
            os._exit(3)
        case "flood":
            while True:
                say({"method": "notifications/tools/list_changed"})
        case "babble":
            while True:
                sys.stdout.write("Loading…\n")
        case "endless":
            while True:
                sys.stdout.write("x" * 65_536)
        case "big":
            return text("word " * 200_000)
        case "deep":
            sys.stdout.write('{"jsonrpc": "2.0", "id": 99, "result": ' + "[" * 100_000 + "\n")
            sys.stdout.flush()
            return None
        case "wrong":
            return {"content": "no list", "isError": "perhaps"}
        case "slow":
            token = params["_meta"]["progressToken"]
            for done in (1, 2, 3):
                progress = {"progressToken": token, "progress": done, "total": 4, "message": "swordfish"}
                say({"method": "notifications/progress", "params": progress})
                time.sleep(0.01)
            return text("done")
        case "spawn":
            child = subprocess.Popen(["/bin/sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            return text(str(child.pid))
        case "change":
            TOOLS.append({"name": "fresh", "inputSchema": {"type": "object"}})
            say({"method": "notifications/tools/list_changed"})
            return text("changed")
        case "ask":
            ask("900")
            return text(json.dumps(json.loads(sys.stdin.readline())))
        case "wonder":
            given = params["arguments"]
            wondering[f"w{number}"] = number, "fails" in given
            ask(f"w{number}", given.get("about", "Which colour?"), given.get("schema", COLOUR))
            return None
        case "hurry":
            ask("h1")
            time.sleep(0.3)  # a request that is cancelled at once would never be shown
            say({"method": "notifications/cancelled", "params": {"requestId": "h1", "reason": "too slow"}})
            return None
        case "quiz":
            for question in range(20):
                ask(str(question))
            return text(json.dumps([json.loads(sys.stdin.readline())["result"]["action"] for _ in range(20)]))
        case "pages":
            opened.append(number)
            page = {"mode": "url", "message": "First this.", "url": "https://example.com/go", "elicitationId": "e1"}
            return (
                text("opened")
                if len(opened) > 1
                else {"code": -32042, "message": "!", "data": {"elicitations": [page]}}
            )
        case _:
            return {"content": [{"type": "text", "text": f"no such thing: {name}"}], "isError": True}


def answer(begins: str, method: str, params: dict[str, Any], number: Any) -> dict[str, Any] | None:
    match method:
        case "initialize":
            capabilities = {"tools": {"listChanged": True}}
            about = {"name": "raw", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": about}
        case "tools/list" if begins == "many":
            return {"tools": [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(10_000)]}
        case "tools/list" if begins == "strange":
            return {"tools": STRANGE}
        case "tools/list" if begins == "broken":
            return {"tools": [*TOOLS, {"name": "no_schema_at_all"}, "what", {"name": 7, "inputSchema": "none"}]}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return call(params["name"], params, number)
        case _:
            return None


def main(begins: str) -> None:
    if begins == "exit":
        sys.exit("no key is set")
    if begins == "leak":
        sys.exit("mallory, password: swordfish-7 and opensesame are refused; sk-proj-0123456789abcdefghij")
    if begins == "stubborn":
        import signal  # noqa: PLC0415 -- only here

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        if begins == "silent":
            continue
        if "method" not in message:
            number, fails = wondering.pop(message["id"])
            result = json.dumps(message.get("result"))
            say({"id": number} | ({"error": {"code": 1, "message": result}} if fails else {"result": text(result)}))
            continue
        if message["method"] == "notifications/cancelled":
            cancelled.append(message["params"]["requestId"])
        if "id" not in message:
            continue
        if message["method"] == "server/discover":
            say({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        elif (result := answer(begins, message["method"], message.get("params", {}), message["id"])) is not None:
            say({"id": message["id"], "error" if "code" in result else "result": result})
    if begins == "stubborn":
        time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1])
