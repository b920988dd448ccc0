"""Our client against a GitHub whose answers are GitHub's own: lists, details, limits, faults."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shipmate.github.failures import (
    ForbiddenError,
    GitHubError,
    InvalidError,
    NotThereError,
    RateLimitError,
    TokenError,
)
from shipmate.github.repository import Listing, Name, Repository, Wanted
from shipmate.network.client import Client
from shipmate.network.request import NetworkError
from tests.github.conftest import github_of
from tests.github.fake import REPO, FakeGitHub, Fault
from tests.github.shapes import described, example, faults
from tests.site import Site


def numbers(listing: Listing) -> list[int]:
    return [item.number for item in listing.items]


def test_every_example_of_the_description_fits_the_description() -> None:
    """What the fake is made of is as GitHub says, so its answers can be."""
    wrong = {
        f"{one['method']} {one['path']}": found
        for one in described()["operations"]
        if (found := faults(one["schema"], example(one["method"], one["path"])))
    }
    assert wrong == {}


async def test_issues_and_pull_requests_are_listed_by_number_with_state_and_labels(
    fake: FakeGitHub, repository: Repository
) -> None:
    fake.add_issue(7, "Login fails", labels=["bug", "area/ui"], user=None)
    fake.add_pull(9, "Draft of a fix", draft=True)
    fake.add_pull(8, "A fix", merged_at="2026-11-20T10:00:00Z")
    fake.add_issue(3, "Old", state="closed")
    everything = await repository.listing(Wanted(state="all"))
    seen = [(one.number, one.kind, one.state) for one in everything.items]
    assert seen == [
        (9, "pull_request", "draft"),
        (8, "pull_request", "merged"),
        (7, "issue", "open"),
        (3, "issue", "closed"),
    ]
    login = everything.items[2]
    assert (login.author, [label.name for label in login.labels]) == ("", ["bug", "area/ui"])
    assert numbers(await repository.listing(Wanted())) == [9, 7]
    assert numbers(await repository.listing(Wanted(state="closed"))) == [8, 3]
    assert numbers(await repository.listing(Wanted(kind="issue"))) == [7]
    assert numbers(await repository.listing(Wanted(kind="pull_request", state="all"))) == [9, 8]
    assert numbers(await repository.listing(Wanted(labels=("bug",)))) == [7]


async def test_what_is_searched_for_is_words_whatever_they_look_like(
    fake: FakeGitHub, repository: Repository
) -> None:
    fake.add_issue(1, 'The "quoted" word')
    fake.add_issue(2, "C++ is:pr state:closed repo:evil/other")
    fake.add_issue(3, "数据 lost", labels=["bug"])
    for search, expected in (
        ('"quoted"', [1]),
        ("C++ is:pr repo:evil/other", [2]),
        ("数据", [3]),
        ("nothing like it", []),
        ("#2", [2]),
        ("2", [2]),
        ("77", []),
    ):
        assert numbers(await repository.listing(Wanted(search=search))) == expected
    assert numbers(await repository.listing(Wanted(search="2", state="closed"))) == []
    queries = [asked.query["q"] for asked in fake.asked if "q" in asked.query]
    assert all(query.startswith("repo:octo/demo state:open in:title") for query in queries)
    assert not any("evil" in query.replace('"repo:evil/other"', "") for query in queries)


async def test_fifty_thousand_issues_are_read_page_by_page(
    fake: FakeGitHub, repository: Repository
) -> None:
    fake.fill(50_000)
    cursor, seen = "", list[int]()
    for _ in range(3):
        page = await repository.listing(Wanted(cursor=cursor))
        seen += numbers(page)
        cursor = page.cursor
    assert seen == list(range(50_000, 49_700, -1))
    last = await repository.listing(Wanted(cursor="page=500"))
    assert (numbers(last)[-1], last.cursor) == (1, "")
    issues = await repository.listing(Wanted(kind="issue"))
    assert len(issues.items) == 80
    with pytest.raises(ValueError, match="cursor"):
        await repository.listing(Wanted(cursor="q=repo:other/one"))


async def test_a_cursor_of_githubs_own_is_followed_on_our_host_alone(
    fake: FakeGitHub, repository: Repository
) -> None:
    fake.add_issue(1, "One")
    link = '<https://elsewhere.example/x?after=Y3Vyc29y&token=1>; rel="next"'
    body = [fake.issues[1]]
    fake.faults.append(Fault(200, body, {"Link": link}))
    page = await repository.listing(Wanted())
    assert page.cursor == "after=Y3Vyc29y"
    await repository.listing(Wanted(cursor=page.cursor))
    assert fake.asked[-1].query["after"] == "Y3Vyc29y"


async def test_a_pull_request_is_told_whole(fake: FakeGitHub, repository: Repository) -> None:
    fake.add_pull(5, "A fix", "It *fixes* #4", labels=["bug"])
    fake.add_comment(5, "Looks good")
    patch = "@@ -1,2 +1,2 @@ def f():\n-old\n+new\n kept\n\\ No newline at end of file"
    fake.add_file(5, "a.py", patch)
    fake.add_file(5, "big.bin", None, additions=0, deletions=0)
    fake.add_file(5, "new.py", None, status="renamed", previous_filename="old.py")
    review = example("get", f"{REPO}/pulls/{{pull_number}}/reviews")[0]
    fake.reviews[5] = [{**review, "state": "APPROVED", "user": None}]
    remark = example("get", f"{REPO}/pulls/{{pull_number}}/comments")[0]
    del remark["line"]  # of code that has changed since
    fake.remarks[5] = [{**remark, "path": "a.py", "original_line": 3}]
    detail = await repository.detail(5)
    assert (detail.kind, detail.base, detail.head, detail.comments) == (
        *("pull_request", "main", "fix"),
        1,
    )
    comments, _ = await repository.comments(5)
    assert [one.body for one in comments] == ["Looks good"]
    files = (await repository.files(5)).files
    (hunk,) = files[0].hunks
    assert (hunk.old_start, hunk.lines) == (1, ("-old", "+new", " kept"))
    assert "no text" in files[1].note
    assert (files[2].change, files[2].was) == ("rename", "old.py")
    (told,), (line,) = await repository.reviews(5)
    assert (told.state, told.author, line.path, line.line) == ("APPROVED", "", "a.py", 3)
    checks = await repository.checks(detail.head_sha)
    assert (checks[0].name, checks[0].state) == ("tests", "failed")
    assert any(one.state == "passed" for one in checks)


async def test_what_has_not_changed_is_not_sent_again(
    fake: FakeGitHub, repository: Repository
) -> None:
    fake.add_issue(1, "One")
    first = await repository.listing(Wanted())
    second = await repository.listing(Wanted())
    assert "if-none-match" in fake.asked[-1].headers
    fake.add_issue(2, "Two")
    third = await repository.listing(Wanted())
    assert (first, numbers(third)) == (second, [2, 1])


async def test_without_a_token_a_public_repository_is_read_and_a_private_one_is_not_there(
    fake: FakeGitHub, client: Client, tmp_path: Path
) -> None:
    fake.add_issue(1, "One")
    open_one = Repository(github_of(fake, client, tmp_path, None), Name("octo", "demo"))
    assert numbers(await open_one.listing(Wanted())) == [1]
    assert "authorization" not in fake.asked[-1].headers
    fake.private = True
    with pytest.raises(NotThereError, match="There is no token: only public"):
        await open_one.listing(Wanted())


async def test_a_token_for_github_com_is_not_sent_to_another_host(
    fake: FakeGitHub, client: Client, tmp_path: Path
) -> None:
    fake.add_issue(1, "One")
    environ = {"GITHUB_TOKEN": "of-github-com-1", "GH_TOKEN": "of-github-com-2"}
    github = github_of(fake, client, tmp_path, None, **environ)
    await Repository(github, Name("octo", "demo")).listing(Wanted())
    assert "authorization" not in fake.asked[-1].headers
    named = github_of(fake, client, tmp_path, None, GH_ENTERPRISE_TOKEN=fake.token)
    await Repository(named, Name("octo", "demo")).listing(Wanted())
    assert fake.asked[-1].headers["authorization"] == f"Bearer {fake.token}"


async def test_the_token_of_gh_is_used_where_no_other_is(
    fake: FakeGitHub, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.add_issue(1, "One")
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    host = fake.web.removeprefix("http://")
    program.write_text(
        f'#!/bin/sh\n[ "$*" = "auth token --hostname {host}" ] && echo {fake.token}\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    github = github_of(fake, client, tmp_path, None)
    await Repository(github, Name("octo", "demo")).listing(Wanted())
    assert fake.asked[-1].headers["authorization"] == f"Bearer {fake.token}"
    assert (await github.token()).source == "gh auth token"
    assert fake.token not in repr(await github.token())


async def test_a_wrong_token_is_told(fake: FakeGitHub, client: Client, tmp_path: Path) -> None:
    wrong = Repository(github_of(fake, client, tmp_path, "not-the-token"), Name("octo", "demo"))
    with pytest.raises(TokenError, match=r"refuses the token \(env:MY_TOKEN\): Bad credentials"):
        await wrong.listing(Wanted())


async def test_once_the_limit_is_reached_nothing_is_asked_until_it_opens(
    fake: FakeGitHub, client: Client, tmp_path: Path
) -> None:
    now = 1_795_000_000.0
    fake.add_issue(1, "One")
    github = replace(github_of(fake, client, tmp_path), clock=lambda: now)
    ours = Repository(github, Name("octo", "demo"))
    spent = {
        "X-RateLimit-Limit": "60",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": "1795000720",
    }
    fake.faults.append(Fault(403, {"message": "API rate limit exceeded for 203.0.113.9."}, spent))
    with pytest.raises(
        RateLimitError, match=r"opens again in 12 minutes, at \d\d:\d\d UTC"
    ) as told:
        await ours.listing(Wanted())
    assert told.value.headers == {"Retry-After": "720"}
    asked = len(fake.asked)
    with pytest.raises(RateLimitError):
        await ours.detail(1)
    assert len(fake.asked) == asked
    now += 721
    assert numbers(await ours.listing(Wanted())) == [1]


async def test_the_secondary_limit_is_told_and_kept(
    fake: FakeGitHub, client: Client, tmp_path: Path
) -> None:
    now = 1_795_000_000.0
    fake.add_issue(1, "One")
    github = replace(github_of(fake, client, tmp_path), clock=lambda: now)
    ours = Repository(github, Name("octo", "demo"))
    slow = {"message": "You have exceeded a secondary rate limit."}
    fake.faults += [Fault(403, slow), Fault(429, slow, {"Retry-After": "30"})]
    for wait in ("60", "30"):
        with pytest.raises(RateLimitError, match="secondary rate limit") as told:
            await ours.listing(Wanted())
        assert told.value.headers == {"Retry-After": wait}
        now += int(wait)
    assert numbers(await ours.listing(Wanted())) == [1]
    rate = await github.rate()
    assert rate is not None
    assert (rate.limit, rate.resets_at) == (5000, 1_796_000_000)


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault(404, {"message": "Not Found"}), NotThereError, "there is no repository octo/demo"),
        (Fault(410, {"message": "Issues are disabled for this repo"}), NotThereError, "disabled"),
        (Fault(403, {"message": "Resource protected by SAML"}), ForbiddenError, "SAML"),
        (Fault(500, "<html>oops</html>"), GitHubError, r"fault of its own \(HTTP 500\)"),
        (Fault(502, ""), GitHubError, "HTTP 502"),
        (
            Fault(422, {"message": "Validation Failed", "errors": [{"field": "q", "code": "bad"}]}),
            InvalidError,
            "Validation Failed q bad",
        ),
        (Fault(200, "<html>a page</html>"), GitHubError, "check base_url"),
        (Fault(200, {"not": "a list"}), GitHubError, "check base_url"),
        (Fault(302, "", {"Location": "https://elsewhere.example/"}), GitHubError, "not asked"),
        (Fault(418, {"message": "teapot"}), GitHubError, "HTTP 418: teapot"),
    ],
)
async def test_each_fault_is_told_plainly(
    fake: FakeGitHub, repository: Repository, fault: Fault, kind: type[Exception], words: str
) -> None:
    fake.faults.append(replace(fault))
    with pytest.raises(kind, match=words):
        await repository.listing(Wanted())


async def test_the_token_goes_to_the_configured_host_alone(
    fake: FakeGitHub, repository: Repository
) -> None:
    with Site() as elsewhere:
        fake.faults.append(Fault(302, "", {"Location": f"{elsewhere.url}/take"}))
        with pytest.raises(NetworkError, match="this machine"):
            await repository.listing(Wanted())
        assert elsewhere.hits == []


async def test_a_host_that_is_not_there_is_told(client: Client, tmp_path: Path) -> None:
    with FakeGitHub() as fake:
        github = github_of(fake, client, tmp_path)
    with pytest.raises(NetworkError, match="cannot be reached"):
        await Repository(github, Name("octo", "demo")).listing(Wanted())


async def test_a_comment_and_a_pull_request_are_written(
    fake: FakeGitHub, repository: Repository
) -> None:
    fake.add_issue(4, "Broken")
    made = await repository.comment(4, "On it: “quoted”\n\n```\nx\n```")
    assert fake.comments[4][0]["body"] == made.body
    fields: dict[str, Any] = {"title": "Fix", "body": "Closes #4", "head": "fix", "base": "main"}
    pull = await repository.open_pull(**fields, draft=True)
    assert (pull.number, pull.state, pull.head, pull.base) == (5, "draft", "fix", "main")
    with pytest.raises(NotThereError):
        await repository.comment(77, "x")
