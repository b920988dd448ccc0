"""A GitHub for tests: a real HTTP server on loopback. Its answers are GitHub's own examples with
other values in them, each held against GitHub's own description; what it is asked is, too."""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.github.git import receive, refs
from tests.github.shapes import example, faults, operation

REPO = "/repos/{owner}/{repo}"
WHEN = "2026-11-{:02}T09:00:00Z"
TOKEN = "tests-own-token-1"
CHECKED = 40
"""Answers of one operation that are held against the description; the others are made alike."""


@dataclass(frozen=True)
class Asked:
    """A request that arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    """Names in lower case."""
    body: Any


@dataclass
class Fault:
    """An answer in place of the right one."""

    status: int
    body: Any = field(default_factory=lambda: {"message": "Not so"})
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    path: str = ""
    """A part of the path; empty: any."""
    times: int = 1


@dataclass
class FakeGitHub:
    """`url` is the base of the API; its one repository is `octo/demo`."""

    private: bool = False
    token: str = TOKEN
    git: Path | None = None
    """A bare repository that is pushed to."""
    issues: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    comments: dict[int, list[dict[str, Any]]] = field(
        default_factory=dict[int, list[dict[str, Any]]]
    )
    files: dict[int, list[dict[str, Any]]] = field(default_factory=dict[int, list[dict[str, Any]]])
    reviews: dict[int, list[Any]] = field(default_factory=dict[int, list[Any]])
    remarks: dict[int, list[Any]] = field(default_factory=dict[int, list[Any]])
    faults: list[Fault] = field(default_factory=list[Fault])
    asked: list[Asked] = field(default_factory=list[Asked])
    broken: list[str] = field(default_factory=list[str])
    """Where a request, or an answer of ours, is not as GitHub describes it."""
    per_page: int = 100
    """A test may have fewer on a page than is asked for."""
    counts: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def routes(self) -> "tuple[Route, ...]":
        from tests.github.routes import ROUTES  # they are made of the handler below

        return ROUTES

    def __enter__(self) -> "FakeGitHub":
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def web(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"{self.web}/api/v3"

    # --- what there is ----------------------------------------------------------------------

    def add_issue(self, number: int, title: str, body: str | None = "", **more: Any) -> None:
        made = example("get", f"{REPO}/issues/{{issue_number}}")
        made.pop("pull_request", None)
        made |= {
            "number": number,
            "title": title,
            "body": body,
            "labels": [],
            "comments": 0,
            "created_at": WHEN.format(number % 28 + 1),
            "updated_at": WHEN.format(number % 28 + 1),
            "html_url": f"{self.web}/octo/demo/issues/{number}",
            "state": "open",
            "closed_at": None,
        }
        made |= {**more, "labels": [label(name) for name in more.get("labels", ())]}
        self.issues[number] = made

    def add_pull(self, number: int, title: str, body: str | None = "", **more: Any) -> None:
        """Stands in the list of issues, too, as at GitHub."""
        merged = more.pop("merged_at", None)
        state = {"state": "closed"} if merged else {}
        self.add_issue(number, title, body, **{**state, **more})
        issue = self.issues[number]
        url = f"{self.url}/repos/octo/demo/pulls/{number}"
        page = f"{self.web}/octo/demo/pull/{number}"
        issue["html_url"] = page
        told = {"url": url, "html_url": page, "diff_url": page, "patch_url": page}
        issue["pull_request"] = {**told, "merged_at": merged}
        pull = example("get", f"{REPO}/pulls/{{pull_number}}")
        shared = ("number", "title", "body", "state", "created_at", "updated_at", "html_url")
        pull |= {name: issue[name] for name in shared}
        pull["labels"] = [
            {**example("get", f"{REPO}/labels")[0], **label} for label in issue["labels"]
        ]
        pull |= {"merged_at": merged, "draft": more.get("draft", False), "merged": bool(merged)}
        pull["head"] |= {"ref": "fix", "label": "octo:fix", "sha": "a" * 40}
        pull["base"] |= {"ref": "main", "label": "octo:main"}
        self.pulls[number] = pull

    def add_comment(self, number: int, body: str, author: str = "octocat") -> dict[str, Any]:
        made = example("get", f"{REPO}/issues/{{issue_number}}/comments")[0]
        known = self.comments.setdefault(number, [])
        made |= {"id": number * 1000 + len(known), "body": body}
        made["user"]["login"] = author
        made["html_url"] = f"{self.web}/octo/demo/issues/{number}#issuecomment-{made['id']}"
        known.append(made)
        self.issues[number]["comments"] = len(known)
        return made

    def add_file(self, number: int, name: str, patch: str | None, **more: Any) -> None:
        made = example("get", f"{REPO}/pulls/{{pull_number}}/files")[0]
        made |= {"filename": name, "status": "modified", "additions": 1, "deletions": 1, **more}
        made.pop("patch")
        if patch is not None:
            made["patch"] = patch
        self.files.setdefault(number, []).append(made)

    def fill(self, count: int) -> None:
        """Issues 1 to `count`, every fifth of them a pull request in the list."""
        self.add_issue(0, "")
        plain = self.issues.pop(0)
        for number in range(1, count + 1):
            one = {**plain, "number": number, "title": f"Issue {number}: the thing breaks"}
            if number % 5 == 0:
                page = f"{self.web}/octo/demo/pull/{number}"
                one["pull_request"] = dict.fromkeys(
                    ("url", "html_url", "diff_url", "patch_url"), page
                )
            self.issues[number] = one

    # --- answers ----------------------------------------------------------------------------

    def fault_for(self, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.path in path and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def check(self, method: str, path: str, asked: Asked, answer: Any) -> None:
        told = operation(method, path)
        unknown = set(asked.query) - set(told["parameters"]) - {"after"}
        self.broken += [f"{path}: there is no parameter {name}" for name in sorted(unknown)]
        if told["body"] and asked.body is not None:
            self.broken += [f"{path}: {fault}" for fault in faults(told["body"], asked.body)]
        self.counts[path] = self.counts.get(path, 0) + 1
        if self.counts[path] <= CHECKED:
            self.broken += [f"{path} answers {one}" for one in faults(told["schema"], answer)]


def label(name: str) -> dict[str, Any]:
    return {**example("get", f"{REPO}/labels")[0], "name": name, "color": "f29513"}


Handle = Callable[["Handler", Asked, re.Match[str]], Any]
Route = tuple[str, str, str, Handle]
Paged = tuple[Any, dict[str, str]]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, github: FakeGitHub) -> None:
        self.github = github
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def github(self) -> FakeGitHub:
        return self.server.github

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self._answer("get")

    def do_POST(self) -> None:
        self._answer("post")

    def _answer(self, method: str) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        is_json = "json" in headers.get("content-type", "")
        asked = Asked(method, parts.path, query, headers, json.loads(raw) if is_json else None)
        self.github.asked.append(asked)
        if fault := self.github.fault_for(parts.path):
            self._send(fault.status, fault.body, fault.headers)
        elif ".git/" in parts.path:
            self._git(parts.path, query, raw)
        elif not self._let_in(headers.get("authorization", "")):
            return
        else:
            self._api(method, parts.path.removeprefix("/api/v3"), asked)

    def _let_in(self, given: str) -> bool:
        if given and given != f"Bearer {self.github.token}":
            self._send(401, {"message": "Bad credentials"}, {})
            return False
        if self.github.private and not given:
            self._send(404, {"message": "Not Found"}, {})
            return False
        return True

    def _api(self, method: str, path: str, asked: Asked) -> None:
        for route_method, pattern, name, handle in self.github.routes:
            found = re.fullmatch(pattern, path)
            if route_method != method or found is None:
                continue
            answer = handle(self, asked, found)
            if answer is None:
                break
            items, headers = cast("Paged", answer) if isinstance(answer, tuple) else (answer, {})
            self.github.check(method, name, asked, items)
            self._send(201 if method == "post" else 200, items, headers, asked)
            return
        self._send(404, {"message": "Not Found"}, {})

    def _git(self, path: str, query: dict[str, str], raw: bytes) -> None:
        folder = self.github.git
        expected = f"x-access-token:{self.github.token}"
        if folder is None:
            return self._send(404, {"message": "Not Found"}, {})
        if not _basic(self.headers.get("Authorization", ""), expected):
            return self._send(401, {"message": "Bad credentials"}, {})
        kind = "advertisement" if path.endswith("/info/refs") else "result"
        content = refs(folder) if kind == "advertisement" else receive(folder, raw)
        self.send_response(200)
        self.send_header("Content-Type", f"application/x-git-receive-pack-{kind}")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    def _send(
        self, status: int, body: Any, headers: Mapping[str, str], asked: Asked | None = None
    ) -> None:
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        etag = f'W/"{hashlib.sha256(content).hexdigest()}"'
        if asked and asked.headers.get("if-none-match") == etag:
            status, content = 304, b""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if asked:
            self.send_header("ETag", etag)
            self.send_header("X-RateLimit-Limit", "5000")
            self.send_header("X-RateLimit-Remaining", str(5000 - len(self.github.asked)))
            self.send_header("X-RateLimit-Reset", "1796000000")
        self.send_header("Content-Type", "application/json; charset=utf-8")
        if status != 304:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def page(self, items: list[Any], asked: Asked) -> tuple[list[Any], dict[str, str]]:
        """One page, with the link to the next one as GitHub writes it."""
        size = min(int(asked.query.get("per_page", "30")), self.github.per_page)
        number = int(asked.query.get("page", "1"))
        shown = items[(number - 1) * size : number * size]
        if number * size >= len(items):
            return shown, {}
        query = urlencode({**asked.query, "page": number + 1})
        url = f"{self.github.web}{asked.path}?{query}"
        return shown, {"Link": f'<{url}>; rel="next", <{url}>; rel="last"'}


def _basic(given: str, expected: str) -> bool:
    import base64

    return given == f"Basic {base64.b64encode(expected.encode()).decode()}"
