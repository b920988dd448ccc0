"""Pages that people find their way by."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        assert target.endswith(".png") or (page.parent / target).exists(), target


def test_the_architecture_fits_on_a_page() -> None:
    assert (ROOT / "docs/architecture.md").read_text("utf-8").count("\n") <= 120


def test_each_decision_is_listed() -> None:
    notes = {note.name for note in ROOT.glob("docs/decisions/[0-9]*.md")}
    listed = set(LINK.findall((ROOT / "docs/decisions/README.md").read_text("utf-8")))
    assert listed == notes


def test_both_readmes_name_the_same_commands() -> None:
    def commands(name: str) -> list[str]:
        text = (ROOT / name).read_text("utf-8")
        blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        return [re.sub(r"#.*|\".*?\"", "", line).strip() for b in blocks for line in b.splitlines()]

    assert commands("README.md") == commands("README.zh-CN.md") != []


def test_both_readmes_have_the_same_parts_and_lead_to_the_same_pages() -> None:
    def parts(name: str) -> tuple[list[str], list[str], list[int]]:
        text = (ROOT / name).read_text("utf-8")
        code = sorted(re.findall(r"`[^`\n]+`", text.replace("```", "")))
        items = [len(re.findall(r"^(?:- |\d\. |\|)", p, re.MULTILINE)) for p in text.split("\n## ")]
        return code, LINK.findall(text), items

    assert parts("README.md") == parts("README.zh-CN.md")
