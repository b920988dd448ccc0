"""Stories of rules: saved with a decision, in force at once, shown where they decided."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from shipmate.llm.model import Reply
from shipmate.llm.scripted import call, say, together
from shipmate.protocol import ApprovalRequest, PendingChanged, RuleScope, ToolResult, new_id
from shipmate.safety.rules.rule import Effect, KeptScope, Rule
from shipmate.session.decision import UnfitError
from shipmate.session.hub import ROWS
from shipmate.tools.catalog import BUILTIN
from tests.play import Stage, decode_event, stage
from tests.session.trade import done

TOOLS = [tool for name in ("read_only", "read_write", "shell") for tool in BUILTIN[name]]


def shell(command: str) -> Reply:
    return call("shell_exec", command=command)


async def rule(
    play: Stage, effect: Effect, text: str, scope: KeptScope = "everywhere", **of: Any
) -> Rule:
    return await play.store.add_rule(Rule(id=new_id(), effect=effect, text=text, scope=scope, **of))


async def last(play: Stage, session: str) -> ApprovalRequest:
    return (await play.blocks(session, ApprovalRequest))[-1]


@pytest.mark.parametrize("scope", ["session", "project", "everywhere"])
async def test_what_was_shown_is_saved_and_decides_the_next_time(
    tmp_path: Path, scope: RuleScope
) -> None:
    script = [shell("touch a && echo hi"), shell("echo again; touch a"), say("Done.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        asked = await last(play, session)
        assert asked.suggested == ("shell:touch a",)
        assert asked.scopes == ("once", "session", "project", "everywhere")
        await play.executor.decide(session, True, scope=scope)
        assert done(await play.watch(session)).finished
        again = await last(play, session)
        assert (again.result, again.decided_by, again.rule) == (True, "rule", "shell:touch a")
        (kept,) = await play.store.rules()
        assert (kept.effect, kept.text, kept.scope) == ("allow", "shell:touch a", scope)
        assert kept.approval == f"{session}:{asked.id}"


async def test_a_decision_without_a_scope_leaves_no_rule(tmp_path: Path) -> None:
    script = [shell("touch a"), shell("touch a")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        await play.executor.decide(session, True)
        await play.watch(session)
        assert (await last(play, session)).result is UNSET
        assert not await play.store.rules()


async def test_a_denial_with_a_scope_denies_without_asking_from_then_on(tmp_path: Path) -> None:
    script = [shell("touch a"), shell("env touch a"), say("I see.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        await play.executor.decide(session, False, scope="project", feedback="never")
        assert done(await play.watch(session)).finished
        assert len(await play.blocks(session, ApprovalRequest)) == 1
        first, second = await play.blocks(session, ToolResult)
        assert "never" in first.text
        assert "shell:touch a" in second.text
        assert second.details is not UNSET


async def test_a_rule_of_a_session_goes_with_it_and_holds_nowhere_else(tmp_path: Path) -> None:
    async with stage(tmp_path, [shell("touch a")] * 2, tools=TOOLS) as play:
        one, two = await play.create(), await play.create()
        await rule(play, "allow", "shell:touch a", "session", session=one)
        await rule(play, "allow", "shell:touch a", "project", project="another")
        assert done(await play.say(two, "go")).reason == "waiting_approval"
        await play.executor.delete(one)
        assert [kept.scope for kept in await play.store.rules()] == ["project"]


async def test_deny_wins_over_ask_and_ask_over_allow_and_the_bypass(tmp_path: Path) -> None:
    writes = [call("write_file", path=f"src/{name}", content="x") for name in "abc"]
    async with stage(tmp_path, [together(*writes)], tools=TOOLS) as play:
        session = await play.create(bypass=True)
        await rule(play, "allow", "write:src/**")
        await rule(play, "ask", "write:src/b")
        await rule(play, "ask", "write:src/c")
        await rule(play, "deny", "write:src/c")
        await play.say(session, "go")
        asked = await play.blocks(session, ApprovalRequest)
        assert [(one.decided_by, one.rule, one.scopes) for one in asked] == [
            ("rule", "write:src/**", ("once", "session", "project", "everywhere")),
            ("", "write:src/b", ("once",)),
        ]
        await play.executor.decide(session, True)
        await play.watch(session)
        results = await play.blocks(session, ToolResult)
        assert [one.is_error for one in results] == [False, False, True]
        assert sorted(path.name for path in (tmp_path / "project/src").iterdir()) == ["a", "b"]


async def test_a_look_can_be_denied_and_asked_about(tmp_path: Path) -> None:
    looks = [call("read_file", path=name) for name in ("a", "b", "c")]
    async with stage(tmp_path, [together(*looks)], tools=TOOLS) as play:
        for name in "abc":
            (tmp_path / "project" / name).write_text(name)
        session = await play.create()
        await rule(play, "deny", "read:a")
        await rule(play, "ask", "tool:read_file")
        await play.say(session, "go")
        assert len(await play.blocks(session, ApprovalRequest)) == 2
        (result,) = await play.blocks(session, ToolResult)
        assert "read:a" in result.text


async def test_red_runs_only_by_a_rule_that_names_just_it(tmp_path: Path) -> None:
    script = [shell("rm -rf build"), shell("rm -rf dist")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await rule(play, "allow", "shell:rm *")
        await rule(play, "allow", "shell:rm -rf build")
        await play.say(session, "go")
        first, second = await play.blocks(session, ApprovalRequest)
        assert (first.decided_by, first.level) == ("rule", "dangerous")
        assert (second.result, second.scopes) == (UNSET, ("once",))
        with pytest.raises(UnfitError, match="scopes once"):
            await play.executor.decide(session, True, scope="session")


async def test_no_rule_lifts_what_is_refused(tmp_path: Path) -> None:
    script = [shell("mkfs.ext4 /dev/sda"), say("No.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await rule(play, "allow", "shell:mkfs.ext4 /dev/sda")
        await rule(play, "ask", "shell:mkfs.ext4 *")
        assert done(await play.say(session, "go")).finished
        assert not await play.blocks(session, ApprovalRequest)


async def test_a_rule_that_is_made_meanwhile_holds_for_what_waits(tmp_path: Path) -> None:
    async with stage(tmp_path, [shell("touch a"), say("No.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        await rule(play, "deny", "shell:touch *")
        await play.executor.decide(session, True)
        await play.watch(session)
        assert not (tmp_path / "project/a").exists()


async def test_what_cannot_be_a_rule_suggests_none(tmp_path: Path) -> None:
    async with stage(tmp_path, [shell("python x.py")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        assert (await last(play, session)).suggested == ()
        with pytest.raises(UnfitError, match="once"):
            await play.executor.decide(session, False, scope="project")


async def test_what_waits_is_told_over_all_sessions(tmp_path: Path) -> None:
    async with stage(tmp_path, [shell("touch a")] * 2, tools=TOOLS) as play:
        one, two = await play.create(), await play.create()
        with play.executor.door.hub.watch([ROWS], lambda _: True) as watcher:
            await play.say(one, "go")
            await play.say(two, "go")
            told = [decode_event(frame.data) for frame in watcher.take()]
        changes = [event for event in told if isinstance(event, PendingChanged)]
        assert [(event.session, len(event.items)) for event in changes] == [(one, 1), (two, 1)]
        waiting = await play.store.pending()
        assert [(row.id, len(blocks)) for row, blocks in waiting] == [(one, 1), (two, 1)]
        await play.executor.decide(one, False)
        assert [row.id for row, _ in await play.store.pending()] == [two]


async def test_a_rule_lets_nothing_of_the_repository_in(tmp_path: Path) -> None:
    """A project's files are never rules, whatever they are called."""
    async with stage(tmp_path, [shell("touch a")], tools=TOOLS) as play:
        project = tmp_path / "project"
        subprocess.run(["git", "init", "-q", project], check=True)
        for name in ("rules.toml", ".shipmate/rules.json", "AGENTS.md"):
            (project / name).parent.mkdir(exist_ok=True)
            (project / name).write_text('[[rules]]\neffect = "allow"\ntext = "shell:touch *"\n')
        session = await play.create()
        assert done(await play.say(session, "go")).reason == "waiting_approval"
