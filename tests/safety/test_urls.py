"""A URL is read in one way, or refused with a reason."""

import ipaddress
import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.safety.net import refused_address
from shipmate.safety.urls import RefusedUrl, check_url, read_url
from tests.board import BOARD

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "ssrf.jsonl").read_text().split("\n")
    if line
]
LINES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "url_lines.jsonl").read_text().split("\n")
    if line
]
"""Lines of the same kinds, written from the rules before they were tried."""
READ = {
    "https://münchen.de/ä b?q=ü#part": "https://xn--mnchen-3ya.de/%C3%A4%20b?q=%C3%BC",
    " HTTP://EXAMPLE.com:80\n": "http://example.com/",
    "https://example.com:0443": "https://example.com/",
    "https://example.com:": "https://example.com/",
    "http://example.com.": "http://example.com/",
    "http://a_b.example.com?x": "http://a_b.example.com/?x",
    "http://[::ffff:8.8.8.8]/": "http://8.8.8.8/",
    "http://[2606:4700:0::1111]:8080/": "http://[2606:4700::1111]:8080/",
    'https://example.com/%41%zz?a="b\\c d"': "https://example.com/%41%zz?a=%22b%5Cc%20d%22",
    "http://\u24b6.example/": "http://a.example/",
    "https://example.com/a@b": "https://example.com/a@b",
    "https://[2001:4860:4860::8888]": "https://[2001:4860:4860::8888]/",
}
REFUSED = {
    "scheme": "javascript:alert(1) ws://example.com/ example.com httpx://x.com/ //x.com/ HTTPS",
    "no_host": "http: http:/example.com http:///example.com https:127.0.0.1 http://?x http://#x",
    "userinfo": "http://a:b@example.com/ http://@example.com/ http://example.com@127.0.0.1 "
    "http://a%40b@example.com/ http://example.com\uff20127.0.0.1/",
    "backslash": "http://example.com\\@127.0.0.1/ http:\\\\127.0.0.1/ http://example.com/a\\b",
    "host": "http://%31.example.com/ http://example.com%00/ http://example.com../ http://..com/ "
    "http://a!b.com/ http://-a.com/ http://\u2100.example/ http://a..b/ http://<a>.com/ http://./",
    "address": "http://2130706433/ http://127.1/ http://0x7f.1/ http://0177.0.0.1/ http://0/ "
    "http://127.0.0.1./ http://1.2.3.4.5/ http://example.0x7f/ http://[::1]/ http://[::1 "
    "http://[::1]x/ http://[v1.x]/ http://[fe80::1%25eth0]/ http://[::ffff:127.0.0.1]/ "
    "http://\uff11\uff12\uff17.0.0.1/ http://127\uff0e0\u30020\uff611/ http://999.1.1.1/ "
    "http://08.8.8.8/ http://169.254.169.254/latest/meta-data/ http://[]/ http://0x/",
    "name": "http://localhost/ http://LOCALHOST./ http://a.localhost/ http://db/ http://x.lan/ "
    "http://printer.local/ http://127.0.0.1.nip.io/ http://\u24c1ocalhost/ http://nas.home.arpa/",
    "port": "http://example.com:0/ http://example.com:65536/ http://example.com:8a/ "
    "http://example.com:22/ http://example.com:6379/ http://example.com:\u0661/ http://x.com:+80/",
}


@pytest.mark.safety("ssrf cases")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_request_to_a_forbidden_place_is_refused_as_the_case_says(case: dict[str, Any]) -> None:
    url, target = (str(case[key] or "").replace("$P", "8123") for key in ("url", "redirect_to"))
    found = check_url(url, case["resolver"] or (), target)
    assert found.verdict == case["expect"], found
    assert found.reason or found.verdict == "ask"


@pytest.mark.safety
def test_our_own_urls_get_the_verdict_that_was_written_down() -> None:
    wrong = list[str]()
    for case in LINES:
        found = check_url(case["url"], case["resolver"] or (), case["redirect_to"] or "")
        if found.verdict != case["expect"]:
            wrong.append(f"{case!a} was {found.verdict}")
    BOARD.put("URLs of our own", len(LINES), len(wrong))
    assert wrong == []


@pytest.mark.parametrize("text", READ)
def test_a_url_is_normalised_to_plain_ascii(text: str) -> None:
    assert str(read_url(text)) == READ[text]


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, url) for rule, urls in REFUSED.items() for url in urls.split(" ")]
)
def test_a_spelling_that_two_readers_take_for_two_places_is_refused(rule: str, text: str) -> None:
    with pytest.raises(RefusedUrl) as refused:
        read_url(text)
    assert refused.value.rule == rule


@pytest.mark.parametrize("mark", ["\t", "\n", "\r", "\0", "\x7f", "\x85", "\u2028", "\ud800"])
def test_a_control_character_is_refused_wherever_it_stands(mark: str) -> None:
    for text in ("ht?tp://x.com/", "http://x?.com/", "http://x.com/a?b", "http://x.com/?q=?x"):
        with pytest.raises(RefusedUrl):
            read_url(text.replace("?", mark, 1))


def test_a_host_the_user_named_may_be_private_and_nothing_else_is_forgiven() -> None:
    exempt = {"127.0.0.1:8080", "wiki", "fd00::1"}
    for text in ("http://127.0.0.1:8080/x", "http://wiki:6379/", "http://[fd00::1]:1234/"):
        assert read_url(text, exempt)
    for text in (
        "http://127.0.0.1:8081/",
        "http://127.0.0.2:8080/",
        "http://a@wiki/",
        "http://wiki.local/",
        "ftp://wiki/",
        "http://10.0.0.1/",
    ):
        with pytest.raises(RefusedUrl):
            read_url(text, exempt)


PIECES = st.sampled_from(
    "http:// https:// http:/ // / \\ @ : # ? % . .. [ ] :: ::1 ffff: 127 0 1 0x7f 0177 127.0.0.1 "
    "2130706433 localhost example.com 169.254.169.254 10.0.0.1 %00 %2f %40 \t \n \u3002 \uff0e "
    "\u2100 \uff20 \u24c1 \u00ad \u200d xn--a 80 8080 a b user pass é".split(" ")
)


HOSTILE = st.lists(PIECES | st.characters(), max_size=14).map("".join)
FUZZED = 10_000


@given(HOSTILE)
def test_what_is_read_is_the_same_for_every_reader_and_never_private(tail: str) -> None:
    """What comes out is read again to the same, and by Python's own reader to the same host."""
    read_the_same(tail)


@pytest.mark.safety
@pytest.mark.timeout(1800)
def test_fuzzed_urls_lead_nowhere_private(in_full: bool) -> None:
    tried = Counter[str]()

    @settings(max_examples=FUZZED if in_full else 100, database=None)
    @given(HOSTILE)
    def fuzz(tail: str) -> None:
        tried["urls"] += 1
        tried["wrong"] += 1
        read_the_same(tail)
        tried["wrong"] -= 1

    try:
        fuzz()
    finally:
        BOARD.put("fuzzed URLs", tried["urls"], tried["wrong"])


def read_the_same(tail: str) -> None:
    try:
        url = read_url(f"http://{tail}")
    except RefusedUrl:
        return
    text = str(url)
    assert text.isascii()
    assert text.isprintable()
    assert not set(text) & set(' "<>`\\')
    assert str(read_url(text)) == text
    other = urlsplit(text)
    assert (other.hostname, other.port or 80, other.username) == (url.host, url.port, None)
    try:
        ipaddress.ip_address(url.host)
    except ValueError:
        assert not url.host.rpartition(".")[2].isdigit()
    else:
        assert refused_address(url.host) == ""
