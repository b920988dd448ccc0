"""The tools of agents: what they read is strangers' words, what they write is shown whole first."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shipmate.github.failures import GitHubError, TokenError
from shipmate.github.remote import Repositories
from shipmate.github.tools import GitHubTools
from shipmate.network.client import Client
from shipmate.protocol import PostDetail
from shipmate.safety.redaction import known
from shipmate.safety.sandbox.room import SandboxSettings
from shipmate.safety.verdict import Level, Verdict
from shipmate.tools.arguments import parse_arguments
from shipmate.tools.tool import Tool, ToolContext, ToolError, ToolOutput, Workspace
from tests.github.conftest import github_of
from tests.github.fake import TOKEN, FakeGitHub
from tests.github.git import bare, git


class Hand:
    """Calls tools as the agent does: judged, then run with what the judge bound them to."""

    def __init__(self, tools: Mapping[str, Tool], project: Path) -> None:
        self.tools = tools
        self.context = ToolContext(Workspace(project, repository="octo/demo"), call="c1")

    async def judge(self, name: str, **given: Any) -> Verdict:
        tool = self.tools[name]
        return await tool.judge(self.context, **parse_arguments(tool, given))

    async def use(self, name: str, **given: Any) -> ToolOutput:
        verdict = await self.judge(name, **given)
        tool = self.tools[name]
        context = replace(self.context, binds=verdict.binds)
        output = await tool.run(context, **parse_arguments(tool, given))
        assert isinstance(output, ToolOutput)
        return output


def hand_of(fake: FakeGitHub, client: Client, folder: Path, token: str | None = TOKEN) -> Hand:
    github = github_of(fake, client, folder, token)
    repositories = Repositories(github, (), SandboxSettings)
    project = folder / "project"
    project.mkdir(exist_ok=True)
    tools = {tool.name: tool for tool in GitHubTools(repositories).all()}
    return Hand(tools, project.resolve())


@pytest.fixture
def hand(fake: FakeGitHub, client: Client, tmp_path: Path) -> Hand:
    fake.git = bare(tmp_path / "there.git")
    made = hand_of(fake, client, tmp_path)
    git(made.context.root, "init", "-q", "-b", "main")
    commit(made.context.root, "a.py", "one\n", "First")
    return made


def commit(folder: Path, name: str, text: str, said: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", said)


def detail_of(verdict: Verdict) -> PostDetail:
    assert isinstance(verdict.details, PostDetail)
    return verdict.details


async def test_what_is_read_is_what_strangers_wrote(fake: FakeGitHub, hand: Hand) -> None:
    fake.add_issue(1, "Login fails", "Please fix", labels=["bug"])
    fake.add_comment(1, "Me too")
    fake.add_pull(2, "A fix")
    fake.add_file(2, "a.py", "@@ -1 +1 @@\n-one\n+two")
    listed = await hand.use("list_issues")
    issue = await hand.use("read_issue", number=1)
    diff = await hand.use("read_pull_request", number=2, part="diff")
    checks = await hand.use("read_pull_request", number=2, part="checks")
    pull = await hand.use("read_pull_request", number=2)
    assert listed.text == "octo/demo:\n#2 [PR, open] A fix\n#1 [open] Login fails (bug)"
    assert all(part in issue.text for part in ("Login fails", "Please fix", "Me too"))
    assert "+two" in diff.text
    assert "failed: tests (failure)" in checks.text
    assert "From fix into main" in pull.text
    assert all(one.untrusted for one in (listed, issue, diff, checks, pull))
    for name in ("list_issues", "read_issue", "read_pull_request"):
        assert not hand.tools[name].effect


async def test_a_comment_is_shown_whole_and_no_rule_allows_it_ahead(
    fake: FakeGitHub, hand: Hand
) -> None:
    fake.add_issue(1, "Broken")
    body = "Found it.\n\n" + "Details. " * 2_000
    verdict = await hand.judge("comment_on_issue", number=1, body=body)
    told = detail_of(verdict)
    assert (verdict.level, told.place, told.text) == (Level.ASK, "octo/demo#1", body)
    assert (verdict.covers, verdict.bypassable) == ((), False)
    assert [one.name for one in verdict.touches] == ["comment_on_issue"]
    await hand.use("comment_on_issue", number=1, body=body)
    assert fake.comments[1][0]["body"] == body
    with pytest.raises(ToolError, match="empty"):
        await hand.judge("comment_on_issue", number=1, body=" ")


async def test_a_secret_that_is_known_is_not_written(hand: Hand) -> None:
    known("canary-of-the-provider-9")
    verdict = await hand.judge("comment_on_issue", number=1, body="Key: canary-of-the-provider-9")
    assert (verdict.level, verdict.rule) == (Level.REFUSE, "secret")


async def test_a_branch_is_pushed_as_it_was_shown(fake: FakeGitHub, hand: Hand) -> None:
    project, there = hand.context.root, fake.git
    assert there is not None
    git(project, "checkout", "-q", "-b", "fix")
    commit(project, "a.py", "two\n", "Second")
    verdict = await hand.judge("push_branch", branch="fix")
    told = detail_of(verdict)
    assert (verdict.level, told.branch) == (Level.ASK, "fix")
    assert [line.partition(" ")[2] for line in told.commits] == ["First", "Second"]
    (file,) = told.files
    assert (file.path, file.change, file.hunks[0].lines) == ("a.py", "create", ("+two",))
    output = await hand.use("push_branch", branch="fix")
    assert output.text.startswith("Pushed fix")
    assert git(there, "rev-parse", "fix") == git(project, "rev-parse", "fix")
    git(there, "fsck", "--strict")

    commit(project, "b.py", "new\n", "Third")
    await hand.use("push_branch", branch="fix")
    assert git(there, "show", "fix:b.py") == b"new\n"
    again = await hand.use("push_branch", branch="fix")
    assert "already" in again.text


async def test_what_is_there_is_never_overwritten(fake: FakeGitHub, hand: Hand) -> None:
    project, there = hand.context.root, fake.git
    assert there is not None
    git(project, "checkout", "-q", "-b", "fix")
    await hand.use("push_branch", branch="fix")
    other = git(there, "commit-tree", "-m", "Theirs", "fix^{tree}").decode().strip()
    git(there, "update-ref", "refs/heads/fix", other)
    commit(project, "a.py", "mine\n", "Mine")
    with pytest.raises(ToolError, match="Nothing is forced"):
        await hand.use("push_branch", branch="fix")
    assert git(there, "rev-parse", "fix").decode().strip() == other


@pytest.mark.parametrize("branch", ["-x", "a..b", "../x", "x.lock", "nowhere", "a b", "a\nb"])
async def test_a_branch_that_is_none_is_told(hand: Hand, branch: str) -> None:
    with pytest.raises(ToolError, match="branch"):
        await hand.judge("push_branch", branch=branch)


async def test_what_others_build_on_and_what_github_runs_is_dangerous(hand: Hand) -> None:
    project = hand.context.root
    assert (await hand.judge("push_branch", branch="main")).level is Level.DANGER
    git(project, "checkout", "-q", "-b", "ci")
    commit(project, ".github/workflows/ci.yml", "on: push\n", "Run it")
    verdict = await hand.judge("push_branch", branch="ci")
    assert (verdict.level, ".github/" in verdict.reason) == (Level.DANGER, True)


async def test_no_program_of_the_repository_runs_beside_the_token(
    fake: FakeGitHub, hand: Hand, tmp_path: Path
) -> None:
    project = hand.context.root
    git(project, "branch", "fix")
    trap, sprung = tmp_path / "trap.sh", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\nenv > {sprung}\nprintf '%s\\n' \"$*\" >> {sprung}\n")
    trap.chmod(0o755)
    for name in ("pre-push", "post-index-change", "reference-transaction"):
        (project / ".git/hooks").mkdir(exist_ok=True)
        (project / ".git/hooks" / name).write_text(trap.read_text())
        (project / ".git/hooks" / name).chmod(0o755)
    for key in (
        *("credential.helper", "core.fsmonitor", "core.sshCommand", "core.askPass"),
        *("diff.external", "core.pager", "remote.origin.receivepack", "http.proxy"),
        *("diff.trap.textconv", "filter.trap.clean"),
    ):
        git(project, "config", key, str(trap))
    (project / ".gitattributes").write_text("* diff=trap filter=trap\n")
    await hand.use("push_branch", branch="fix")
    assert not sprung.exists()
    asked = [one for one in fake.asked if ".git/" in one.path]
    assert [one.method for one in asked] == ["get", "post"]


async def test_what_was_not_shown_is_not_pushed(fake: FakeGitHub, hand: Hand) -> None:
    """The commit is bound to the approval: what the branch has become meanwhile stays here."""
    project = hand.context.root
    git(project, "branch", "fix")
    before = await hand.judge("push_branch", branch="fix")
    git(project, "checkout", "-q", "fix")
    commit(project, "evil.py", "x\n", "Not shown")
    after = await hand.judge("push_branch", branch="fix")
    assert before.binds["commit"] != after.binds["commit"]
    tool = hand.tools["push_branch"]
    await tool.run(replace(hand.context, binds=before.binds), branch="fix")
    assert fake.git is not None
    assert "evil.py" not in git(fake.git, "ls-tree", "-r", "--name-only", "fix").decode()


async def test_a_pull_request_is_opened_with_the_issues_it_closes(
    fake: FakeGitHub, hand: Hand
) -> None:
    fake.add_issue(4, "Broken")
    given: dict[str, Any] = {"title": "Mend it", "body": "Because.", "head": "fix", "closes": [4]}
    verdict = await hand.judge("open_pull_request", **given)
    told = detail_of(verdict)
    assert (told.title, told.text) == ("Mend it", "Because.\n\nCloses #4")
    assert (told.branch, told.base, verdict.level) == ("fix", "main", Level.ASK)
    output = await hand.use("open_pull_request", **given)
    pull = fake.pulls[5]
    assert (pull["body"], pull["head"]["ref"], pull["base"]["ref"]) == (
        *("Because.\n\nCloses #4", "fix"),
        "main",
    )
    assert "#5 is open" in output.text


async def test_without_a_token_or_with_a_wrong_one_nothing_is_pushed(
    fake: FakeGitHub, client: Client, hand: Hand, tmp_path: Path
) -> None:
    git(hand.context.root, "branch", "fix")
    for token, words in ((None, "needs a token"), ("not-the-token", "refuses the token")):
        other = hand_of(fake, client, tmp_path, token)
        with pytest.raises(TokenError, match=words):
            await other.use("push_branch", branch="fix")


async def test_a_server_that_refuses_the_push_is_told(fake: FakeGitHub, hand: Hand) -> None:
    assert fake.git is not None
    hook = fake.git / "hooks" / "update"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    git(hand.context.root, "branch", "fix")
    with pytest.raises(GitHubError, match="did not take the push: ng refs/heads/fix"):
        await hand.use("push_branch", branch="fix")


async def test_several_look_at_once(fake: FakeGitHub, hand: Hand) -> None:
    fake.add_issue(1, "One")
    outputs = await asyncio.gather(*(hand.use("read_issue", number=1) for _ in range(20)))
    assert len({one.text for one in outputs}) == 1
