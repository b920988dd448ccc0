"""What the fake GitHub answers with, by path."""

import re
from typing import Any

from tests.github.fake import REPO, Asked, Handle, Handler, Route, label
from tests.github.shapes import example


def _fits(issue: dict[str, Any], asked: Asked) -> bool:
    state = asked.query.get("state", "open")
    names = {label["name"] for label in issue["labels"]}
    wanted = set(filter(None, asked.query.get("labels", "").split(",")))
    return state in ("all", issue["state"]) and wanted <= names


def _about(handler: Handler, _asked: Asked, _found: re.Match[str]) -> Any:
    return example("get", REPO) | {"full_name": "octo/demo", "default_branch": "main"}


def _issues(handler: Handler, asked: Asked, _found: re.Match[str]) -> Any:
    ours = handler.github.issues
    fitting = [ours[n] for n in sorted(ours, reverse=True) if _fits(ours[n], asked)]
    return handler.page(fitting, asked)


def _pulls(handler: Handler, asked: Asked, _found: re.Match[str]) -> Any:
    ours = handler.github.pulls
    fitting = [ours[n] for n in sorted(ours, reverse=True) if _fits(ours[n], asked)]
    simple = example("get", f"{REPO}/pulls")[0]
    return handler.page([{k: one.get(k, v) for k, v in simple.items()} for one in fitting], asked)


def _one(what: str) -> Handle:
    def handle(handler: Handler, _asked: Asked, found: re.Match[str]) -> Any:
        return getattr(handler.github, what).get(int(found[1]))

    return handle


def _several(what: str) -> Handle:
    def handle(handler: Handler, asked: Asked, found: re.Match[str]) -> Any:
        if int(found[1]) not in handler.github.issues:
            return None
        return handler.page(getattr(handler.github, what).get(int(found[1]), []), asked)

    return handle


def _labels(handler: Handler, asked: Asked, _found: re.Match[str]) -> Any:
    names = {label["name"] for issue in handler.github.issues.values() for label in issue["labels"]}
    return handler.page([label(name) for name in sorted(names)], asked)


def _runs(handler: Handler, _asked: Asked, _found: re.Match[str]) -> Any:
    made = example("get", f"{REPO}/commits/{{ref}}/check-runs")
    made["check_runs"][0] |= {"name": "tests", "status": "completed", "conclusion": "failure"}
    return made


def _status(handler: Handler, _asked: Asked, _found: re.Match[str]) -> Any:
    return example("get", f"{REPO}/commits/{{ref}}/status")


def _search(handler: Handler, asked: Asked, _found: re.Match[str]) -> Any:
    query = asked.query["q"]
    words = re.findall(r'(?:^| )"([^"]*)"', query)
    labels = re.findall(r'label:"([^"]*)"', query)
    outside = re.sub(r'"[^"]*"', "", query)
    state = (re.findall(r"state:(\w+)", outside) or ["all"])[0]
    kind = (re.findall(r"is:(issue|pr)", outside) or [""])[0]
    plain = example("get", "/search/issues")["items"][0]
    plain.pop("pull_request", None)
    found: list[dict[str, Any]] = []
    ours = handler.github.issues
    for number in sorted(ours, reverse=True):
        one = ours[number]
        names = {label["name"] for label in one["labels"]}
        is_pull = "pull_request" in one
        fits = kind in ("", "pr" if is_pull else "issue") and state in ("all", one["state"])
        has = all(word.lower() in one["title"].lower() for word in words)
        if fits and has and set(labels) <= names:
            shared = {k: one[k] for k in {*plain, "pull_request"} & set(one)}
            found.append({**plain, **shared})
    shown, headers = handler.page(found, asked)
    made = {"total_count": len(found), "incomplete_results": False, "items": shown}
    return {**example("get", "/search/issues"), **made}, headers


def _comment(handler: Handler, asked: Asked, found: re.Match[str]) -> Any:
    number = int(found[1])
    if number not in handler.github.issues:
        return None
    return handler.github.add_comment(number, asked.body["body"])


def _open(handler: Handler, asked: Asked, _found: re.Match[str]) -> Any:
    github = handler.github
    number = max([*github.issues, 0]) + 1
    github.add_pull(number, asked.body["title"], asked.body["body"], draft=asked.body["draft"])
    pull = github.pulls[number]
    head = asked.body["head"]
    pull["head"] |= {"ref": head, "label": f"octo:{head}"}
    pull["base"] |= {"ref": asked.body["base"], "label": f"octo:{asked.body['base']}"}
    return pull


_R = "/repos/octo/demo"
ROUTES: tuple[Route, ...] = (
    ("get", _R, REPO, _about),
    ("get", f"{_R}/issues", f"{REPO}/issues", _issues),
    ("get", rf"{_R}/issues/(\d+)", f"{REPO}/issues/{{issue_number}}", _one("issues")),
    (
        "get",
        rf"{_R}/issues/(\d+)/comments",
        f"{REPO}/issues/{{issue_number}}/comments",
        _several("comments"),
    ),
    ("get", f"{_R}/labels", f"{REPO}/labels", _labels),
    ("get", f"{_R}/pulls", f"{REPO}/pulls", _pulls),
    ("get", rf"{_R}/pulls/(\d+)", f"{REPO}/pulls/{{pull_number}}", _one("pulls")),
    ("get", rf"{_R}/pulls/(\d+)/files", f"{REPO}/pulls/{{pull_number}}/files", _several("files")),
    (
        "get",
        rf"{_R}/pulls/(\d+)/reviews",
        f"{REPO}/pulls/{{pull_number}}/reviews",
        _several("reviews"),
    ),
    (
        "get",
        rf"{_R}/pulls/(\d+)/comments",
        f"{REPO}/pulls/{{pull_number}}/comments",
        _several("remarks"),
    ),
    ("get", rf"{_R}/commits/[0-9a-f]+/check-runs", f"{REPO}/commits/{{ref}}/check-runs", _runs),
    ("get", rf"{_R}/commits/[0-9a-f]+/status", f"{REPO}/commits/{{ref}}/status", _status),
    ("get", "/search/issues", "/search/issues", _search),
    (
        "post",
        rf"{_R}/issues/(\d+)/comments",
        f"{REPO}/issues/{{issue_number}}/comments",
        _comment,
    ),
    ("post", f"{_R}/pulls", f"{REPO}/pulls", _open),
)
