"""Every case of a path, decided in both modes; and the places that must stay ordinary."""

from pathlib import Path
from typing import Any

import pytest

from shipmate.safety.paths import Op, PathDecision, decide_path
from shipmate.safety.paths_places import danger_of, secret_of
from tests.board import BOARD
from tests.safety.path_cases import CASES, LINES, Place

OPS: dict[str, Op] = {
    "read_files": "read",
    "view_image": "read",
    "attach": "read",
    "download": "create",
    "multi_replace": "write",
}
DECIDED = [case for case in CASES if case["op"] != "file_search" and case["path"] is not None]
"""Glob patterns and missing arguments never reach the decision; their tools have tests."""

LOOK_ALIKES = """
    docs/git/config src/environment.py gitconfig.md .gitignore .gitattributes .gitkeep
    .github/README.md .github/CODEOWNERS workflows/ci.yml .env.example .env.local.sample env.py
    .envoy.yaml ssh/config.py vscode/tasks.json id_rsa.pub keys.py monkey.py path.py bin/tool
    src/bin/main.rs docs/bashrc.txt profile.md npmrc.md credentials.py src/identity.ts x.pt
    node_modules/left-pad/index.js .docker/Dockerfile app/routes/$slug.tsx a~b.txt
"""
RED = """
    .git .Git/HOOKS/x .g\u200cit/config .git./config .env.production .ENV.local .envrc
    .github/workflows/ci.yml .claude/settings.json .venv/bin/python VENV/Scripts/activate
    site-packages/evil.pth .ſsh/config app.code-workspace .gitmodules sub/.husky/pre-push
    id_ed25519 cert.PEM gıt/\u202egnp.exe git~1/config
"""


def op_of(case: dict[str, Any]) -> Op:
    op: Op = case["op"]
    return OPS.get(op, op)


def paths_of(case: dict[str, Any]) -> list[str]:
    path: Any = case["path"]
    return [path] if isinstance(path, str) else list(path)


def decide(place: Place, case: dict[str, Any], path: str) -> PathDecision:
    op = op_of(case)
    platform = case["platform"] if case["platform"] in {"windows", "macos"} else "linux"
    return decide_path(op, place.fill(path), place.root, protected=[place.data], platform=platform)


@pytest.mark.safety("path cases")
@pytest.mark.parametrize("case", DECIDED, ids=lambda case: case["id"])
def test_a_path_is_decided_as_the_case_says_in_both_modes(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    place = Place(tmp_path)
    place.apply(case["setup"])
    order = ["allow", "ask", "ask_danger", "error", "deny"]
    worst = max((decide(place, case, path).verdict for path in paths_of(case)), key=order.index)
    written = op_of(case) in {"write", "create", "mkdir"}
    assert worst in case["accept_normal"]
    assert ("allow" if worst == "ask" and written else worst) in case["accept_bypass"]


@pytest.mark.safety
def test_our_own_paths_get_accepted_verdicts(tmp_path: Path) -> None:
    wrong = list[str]()
    for at, case in enumerate(LINES):
        base = tmp_path / f"p{at}"
        place = Place(base)
        place.apply(case.get("setup", []))
        verdict = decide(place, case, case["path"]).verdict
        if verdict not in case["accept"]:
            wrong.append(f"{case['op']} {case['path']!r} ({case['platform']}) was {verdict}")
    BOARD.put("paths of our own", len(LINES), len(wrong))
    assert wrong == []


@pytest.mark.parametrize("path", LOOK_ALIKES.split())
def test_a_look_alike_of_a_dangerous_place_is_an_ordinary_file(tmp_path: Path, path: str) -> None:
    assert decide_path("write", path, tmp_path).verdict == "ask"
    assert secret_of(path.split("/")) == ""


@pytest.mark.parametrize("path", RED.split())
def test_a_dangerous_place_is_red_in_any_spelling(tmp_path: Path, path: str) -> None:
    assert decide_path("write", path, tmp_path).verdict == "ask_danger"
    assert danger_of(path.split("/"))


def test_a_leading_slash_means_the_project_only_for_what_is_there_alone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert decide_path("read", "/src/a.py", place.root).relative == "src/a.py"
    assert decide_path("read", "/src/missing.py", place.root).verdict == "deny"
    assert decide_path("read", "/etc/passwd", place.root).verdict == "deny"


def test_a_refusal_does_not_tell_whether_something_exists_outside(tmp_path: Path) -> None:
    place = Place(tmp_path)
    there, missing, below = (
        decide_path("read", f"../outside/{name}", place.root).reason.replace(name, "")
        for name in ("secret.txt", "nosuch.txt", "secret.txt/x")
    )
    assert there == missing == below


def test_secret_shaped_files_are_read_unasked_where_the_setting_is_off(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1")
    assert decide_path("read", ".env", tmp_path).verdict == "ask"
    assert decide_path("read", ".env", tmp_path, ask_secrets=False).verdict == "allow"


def test_a_windows_path_inside_the_project_is_the_same_place(tmp_path: Path) -> None:
    place = Place(tmp_path)
    inside = str(place.root).replace("/", "\\") + "\\SRC\\a.py"
    for path in ("src\\a.py", "SRC/A.py", inside):
        found = decide_path("write", path, place.root, platform="windows")
        assert (found.verdict, found.relative) == ("ask", "src/a.py")


def test_the_decision_names_where_a_link_leads(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.root / "link").symlink_to("src")
    found = decide_path("write", "link/new.py", place.root)
    assert (found.relative, found.through_link) == ("src/new.py", True)
    assert not decide_path("write", "./src/../src/a.py", place.root).through_link


def test_what_the_project_s_own_folder_is_called_does_not_matter(tmp_path: Path) -> None:
    root = tmp_path / ".claude/worktrees/one"
    (root / ".vscode").mkdir(parents=True)
    (root / "link").symlink_to(".vscode")
    for path, verdict in (("a.py", "ask"), (".vscode/x", "ask_danger"), ("link/x", "ask_danger")):
        for asked in (path, str(root / path)):
            found = decide_path("write", asked, root)
            assert found.verdict == verdict
            assert found.through_link == path.startswith("link")


def test_a_link_to_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad\udcff.txt").write_text("x")
    (tmp_path / "link").symlink_to("bad\udcff.txt")
    for path in ("link", "bad\udcff.txt"):
        assert decide_path("read", path, tmp_path).verdict == "error"


@pytest.mark.parametrize(
    "path",
    ["~/x", "~", "~root/x", "$HOME/x", "${TMPDIR}/x", "%TEMP%\\x", "C:/x", "file:///x", "a\\b"],
)
def test_what_a_shell_would_expand_is_not_created_as_a_folder(tmp_path: Path, path: str) -> None:
    assert decide_path("create", path, tmp_path).verdict == "error"


@pytest.mark.parametrize("path", ["~backup", "$slug.tsx", "$lib/x.ts", "a$HOME", "100%/x", "c:x"])
def test_names_that_only_resemble_an_expansion_are_names(tmp_path: Path, path: str) -> None:
    assert decide_path("create", path, tmp_path).verdict == "ask"


def test_a_folder_that_is_really_called_so_can_be_used(tmp_path: Path) -> None:
    for name in ("~", "$HOME", "C:"):
        (tmp_path / name).mkdir()
        assert decide_path("create", f"{name}/x", tmp_path).verdict == "ask"
