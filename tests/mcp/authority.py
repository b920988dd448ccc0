"""An MCP server over HTTP that wants a sign-in, with the authorization server that gives it, in a
thread of its own. Its page asks a person: Allow, or Refuse."""

import base64
import hashlib
import html
import json
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "look", "description": "Looks.", "inputSchema": EMPTY},
    {"name": "write", "description": "Writes; wants more rights.", "inputSchema": EMPTY},
]


@dataclass
class Authority:
    url: str = ""
    expired: bool = False
    """Codes are not taken any more when they come."""
    clients: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Those that registered themselves."""
    used: list[str] = field(default_factory=list[str])
    """Client ids that tokens were given to."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    """The scope of each."""

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    def granted(self, asked: dict[str, str]) -> str:
        """Where the browser goes when the person allows it."""
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return back(asked, code=code)

    def token(self, given: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(given.get("code", ""), None)
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or self.expired or asked["code_challenge"] != proof:
            return 400, {"error": "invalid_grant", "error_description": "The code has expired."}
        self.used.append(asked["client_id"])
        made, scope = secrets.token_urlsafe(8), asked.get("scope", "look")
        self.tokens[made] = scope
        return 200, {"access_token": made, "token_type": "Bearer", "expires_in": 3600,
                     "scope": scope}  # fmt: skip

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }


def back(asked: dict[str, str], **more: str) -> str:
    return f"{asked['redirect_uri']}?{urlencode({'state': asked['state'], **more})}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    authority: Authority

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        here, asked = self.authority, dict(parse_qsl(urlsplit(self.path).query))
        match urlsplit(self.path).path:
            case "/.well-known/oauth-protected-resource":
                self.json(200, {"resource": here.mcp, "authorization_servers": [here.url],
                                "scopes_supported": ["look"]})  # fmt: skip
            case "/.well-known/oauth-authorization-server":
                self.json(200, here.metadata())
            case "/authorize":
                refused = back(asked, error="access_denied", error_description="You said no.")
                links = {"Allow": here.granted(asked), "Refuse": refused}
                made = [f'<a href="{html.escape(u)}">{w}</a>' for w, u in links.items()]
                self.answer(200, f"<!doctype html><title>Who are you?</title>{made}", "text/html")
            case _:
                self.json(404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        match urlsplit(self.path).path:
            case "/register":
                client = {**json.loads(body), "client_id": secrets.token_urlsafe(4)}
                client["token_endpoint_auth_method"] = "none"
                self.authority.clients.append(client)
                self.json(201, client)
            case "/token":
                status, answer = self.authority.token(dict(parse_qsl(body.decode())))
                self.json(status, answer)
            case _:
                self.mcp(json.loads(body))

    def mcp(self, message: dict[str, Any]) -> None:
        _, _, token = self.headers.get("authorization", "").partition(" ")
        scope = self.authority.tokens.get(token)
        where = f'resource_metadata="{self.authority.url}/.well-known/oauth-protected-resource"'
        if scope is None:
            self.json(401, {}, f"Bearer {where}")
            return
        tool = message.get("params", {}).get("name")
        if message.get("method") == "tools/call" and tool not in scope.split():
            wanted = f'error="insufficient_scope", scope="{tool}"'
            self.json(403, {}, f"Bearer {wanted}, {where}")
            return
        if "id" not in message:
            self.answer(202, "", "text/plain")
            return
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "authority", "version": "1"},
            },
            "tools/list": {"tools": TOOLS},
            "tools/call": {"content": [{"type": "text", "text": f"{tool} done"}]},
        }
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] in results:
            answer["result"] = results[message["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        self.json(200, answer)

    def json(self, status: int, body: Any, challenge: str = "") -> None:
        self.answer(status, json.dumps(body), "application/json", challenge)

    def answer(self, status: int, text: str, kind: str, challenge: str = "") -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        if challenge:
            self.send_header("www-authenticate", challenge)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def authority() -> Generator[Authority]:
    made = Authority()
    handler = type("Handler", (_Handler,), {"authority": made})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
