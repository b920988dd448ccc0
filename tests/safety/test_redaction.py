"""Secrets are found where text leaves, however they are spelled and wherever they are cut."""

import json
import logging
from pathlib import Path

import msgspec
import pytest

from shipmate.database.store import Kept
from shipmate.handlers.errors import HttpError, problem
from shipmate.llm.model import ModelError
from shipmate.protocol import BlockedDetail, SessionRow, ToolResult, User, encode
from shipmate.safety.redaction import (
    GONE,
    LINE,
    Redacting,
    Redactor,
    counted,
    known,
    redacted,
    redacted_struct,
)
from shipmate.safety.secrets import Secrets
from shipmate.session.exports import Format, export
from shipmate.session.titles import provisional
from shipmate.tools.collected import Collected
from shipmate.tools.output import border, spill_file
from shipmate.tools.tool import Limits, ToolOutput, Workspace

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE1\nabc+/=\n-----END RSA PRIVATE KEY-----"
SHAPES = [
    "sk-proj-4f9dkeKD93kdkDKE93k",
    "sk_live_4f9dkeKD93kdkDKE93k",
    "ghp_0123456789abcdefghijABCDEFGHIJ",
    "github_pat_11AAAAAAA0abcdefghijkl",
    "glpat-abcdefghij1234567890",
    "xoxb-123456789012-abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "hf_abcdefghijklmnopqrstuv",
    "npm_abcdefghijklmnopqrstuvwxyz012345",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "sm_abcdefghijklmnopqrstuvwxyz",
    PEM,
]
HARMLESS = [
    "git commit -m 'ask-the-user-about-everything'",
    "sk-learn-is-a-very-long-name-of-a-style",
    "Bearer authentication-is-what-it-needs",
    "see https://example.org:8080/a@b and a:b@c",
    "http://localhost:8765/#frag",
    "-----BEGIN PUBLIC KEY-----",
    "xoxo, ghp_ and AKIA are how keys begin",
]


@pytest.mark.parametrize("secret", SHAPES)
def test_a_key_is_recognised_by_its_shape(secret: str) -> None:
    for text in (f"key={secret}", f"a\n{secret}\nb", secret, f'{{"k": "{secret}"}}'):
        cleared, gone = counted(text)
        assert secret not in cleared
        assert gone == 1
        inside = json.dumps({"text": f"line\n{text}"})
        assert json.loads(redacted(inside)) == {"text": f"line\n{cleared}"}
    assert redacted(secret, shapes=False) == secret


def test_what_stands_around_a_credential_stays() -> None:
    assert redacted("Authorization: Bearer abc123def456ghi789==") == f"Authorization: Bearer {GONE}"
    assert redacted("postgres://ada:hunter2@db/x") == f"postgres://{GONE}@db/x"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_key_stays(text: str) -> None:
    assert counted(text) == (text, 0)


def test_a_secret_that_is_known_is_found_in_every_spelling() -> None:
    secret = 'c4nary "quoted" \\ one'
    known(secret)
    for text in (secret, json.dumps([secret]), "q=c4nary%20%22quoted%22%20%5C%20one"):
        assert "c4nary" not in redacted(f"before {text} after", shapes=False)
    result = ToolResult(call="c", text=f"x {secret} y")
    assert redacted_struct(result).text == f"x {GONE} y"
    other = ToolResult(call="c", text="nothing here")
    assert redacted_struct(other) is other


@pytest.mark.parametrize("value", ["not-needed", "lm-studio", "EMPTY", "true", "ollama"])
def test_a_word_given_in_place_of_a_key_is_no_secret(value: str) -> None:
    known(value)
    assert redacted(f"it says {value}.") == f"it says {value}."


@pytest.mark.parametrize("before", ["", "x" * (LINE + 5000), "word " * 14_000, "line\n" * 3])
def test_a_secret_is_found_wherever_the_stream_is_cut(before: str) -> None:
    known("c4nary-in-the-stream")
    text = f"{before}c4nary-in-the-stream and ghp_0123456789abcdefghijABCDEF\n{PEM}\nend\n"
    wanted = redacted(text)
    assert wanted.count(GONE) == 3
    for cut in range(len(before), len(text)):
        flow = Redactor()
        assert flow.feed(text[:cut]) + flow.feed(text[cut:]) + flow.end() == wanted
    flow = Redactor()
    pieces = [flow.feed(text[at : at + 7]) for at in range(len(before), len(text), 7)]
    assert "".join([*pieces, flow.end()]) == redacted(text[len(before) :])


def test_a_long_line_is_given_on_before_it_ends() -> None:
    known("c4nary-in-a-long-line")
    flow, given, fed = Redactor(), "", ""
    for n in range(40):
        piece = f"{'y' * 9_000}c4nary-in-a-long-line{n}"
        fed += piece
        given += flow.feed(piece)
    assert 0 < len(fed) - len(given) < 2 * LINE
    assert given + flow.end() == fed.replace("c4nary-in-a-long-line", GONE)


@pytest.mark.parametrize("cut", range(1, 20))
def test_what_a_command_prints_has_no_secret_wherever_it_is_cut(cut: int) -> None:
    secret = "c4nary-of-a-command"
    known(secret)
    collected = Collected(500, None)
    line = f"key {secret} x\n".encode()
    for _ in range(100):
        collected.add(line[:cut])
        collected.add(line[cut:])
    collected.end()
    text, left_out = collected.take()
    assert left_out
    assert text.startswith(f"key {GONE} x\n")
    assert "c4nary" not in text


def test_no_text_takes_long() -> None:
    """Each of these would take minutes where a pattern looked at a text more than once."""
    for word in ("sk-", "eyJ-", "eyJa.", "://a:", "Bearer ", "-----BEGIN PRIVATE KEY-----", "xoxb"):
        assert isinstance(redacted(word * (1_000_000 // len(word))), str)
    assert msgspec.json.decode(redacted(json.dumps(["\n".join(SHAPES)]))) is not None


def test_known_secrets_are_those_of_the_file_and_of_the_environment(tmp_path: Path) -> None:
    environ = {
        "BOX_TOKEN": "c4nary-of-the-box",
        "KEY_FILE": "/home/c4nary/keys",
        "PLAIN": "c4nary-of-no-key",
    }
    secrets = Secrets(tmp_path / "secrets.json", environ)
    Secrets(tmp_path / "secrets.json", {}).store("x", "c4nary-of-the-file")
    secrets.recall()
    text = "c4nary-of-the-box c4nary-of-the-file /home/c4nary/keys c4nary-of-no-key"
    assert redacted(text) == f"{GONE} {GONE} /home/c4nary/keys c4nary-of-no-key"


@pytest.mark.parametrize("hide_keys", [False, True])
async def test_a_result_and_its_card_carry_no_secret(tmp_path: Path, hide_keys: bool) -> None:
    known("c4nary-of-a-result")
    text = "c4nary-of-a-result sk-proj-4f9dkeKD93kdkDKE93k"
    limits = Limits(tool_result_chars=500, hide_keys=hide_keys)
    work = Workspace(tmp_path, "s", files=tmp_path / "files", limits=limits)
    card = BlockedDetail(reason=text, rule="")
    output = await border(ToolOutput(text * 100, card), work, "c1")
    assert output.truncated
    assert isinstance(output.details, BlockedDetail)
    for shown in (output.text, output.details.reason, spilled(work, "c1")):
        assert "c4nary" not in shown
        assert ("sk-proj" in shown) is not hide_keys


def spilled(work: Workspace, call: str) -> str:
    file = spill_file(work, call)
    assert file is not None
    return file.read_text()


def test_what_is_quoted_in_errors_and_titles_is_no_secret() -> None:
    known("c4nary-of-an-error")
    assert str(ModelError("401: c4nary-of-an-error is no key")) == f"401: {GONE} is no key"
    answer = problem(HttpError(400, "x", "no c4nary-of-an-error"))
    assert msgspec.json.decode(answer.body)["detail"] == f"no {GONE}"
    assert provisional("use sk-proj-4f9dkeKD93kdkDKE93k\nplease") == f"use {GONE}"


def test_a_log_has_no_secret_in_its_traceback() -> None:
    known("c4nary-of-a-traceback")
    with pytest.raises(ValueError, match="c4nary") as failure:
        int("c4nary-of-a-traceback")
    told = (failure.type, failure.value, failure.tb)
    record = logging.LogRecord("x", 40, "f", 1, "it failed", (), told)
    line = Redacting("%(message)s").format(record)
    assert "Traceback" in line
    assert f"base 10: '{GONE}'" in line


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_an_export_says_how_many_secrets_it_left_out(form: Format) -> None:
    known("c4nary-of-an-export")
    blocks = [
        User(id="u", text='a "c4nary-of-an-export" and\nsk-proj-4f9dkeKD93kdkDKE93k'),
        ToolResult(call="c", text="c4nary-of-an-export"),
    ]
    kinds = ("user", "tool_result")
    kept = [Kept(n, n, kinds[n], encode(block)) for n, block in enumerate(blocks)]
    row = SessionRow(id="s", agent="a", provider="p/m", project="p", title="c4nary-of-an-export")
    text = export(row, kept, form, lambda _: None).decode()
    assert "c4nary" not in text
    assert "sk-proj" not in text
    if form == "json":
        assert json.loads(text)["redacted"] == 3
        assert json.loads(text)["blocks"][0]["text"] == f'a "{GONE}" and\n{GONE}'
    else:
        assert "3 secrets left out" in text
    whole = export(row, kept[:0], form, lambda _: None).decode()
    assert "left out" not in whole
