"""What text is found by, and what people type: the same words for both."""

import pytest

from shipmate.database.query import MOST_TERMS, Term, parse
from shipmate.database.words import indexed


@pytest.mark.parametrize(
    ("text", "parts", "wholes"),
    [
        ("Where is getUserName?", "where is get user name", "getusername username"),
        (
            "HTTPServer user_name foo-bar",
            "http server user name foo bar",
            "httpserver username foobar",
        ),
        ("C++ and C#, i++", "c++ and c# i++", ""),
        ("issue#4 100% a_b", "issue 4 100 a b", "ab"),
        ("don't, don’t", "don t don t", "dont"),
        ("café CAFE\u0301 naïve Straße İ", "cafe cafe naive strasse i", ""),
        ("数据库", "数据 据库 库", ""),
        ("步2 重跑gen-itgc后", "步 2 重跑 跑 gen itgc 后", "genitgc"),
        ("が ガ 서울", "が ガ 서울 울", ""),
        ("done 🎉🎉", "done 🎉 🎉", ""),
        ("Ｆｕｌｌ ﬁne", "full fine", ""),
        ("\0 \ud800 ... --- ___ +++", "", ""),
        ("a" * 100, "a" * 64, ""),
    ],
)
def test_a_text_is_found_by_its_words_and_the_parts_of_identifiers(
    text: str, parts: str, wholes: str
) -> None:
    assert indexed(text) == (parts, wholes)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("login loop", [("login", True), ("loop", True)]),
        ('"login loop"', [("login loop", False)]),
        ("“login loop”", [("login loop", False)]),
        ('"unbalanced', [("unbalanced", True)]),
        ("go C++ c*", [("go", False), ("c++", False), ("c", True)]),
        ("foo:bar", [("foo bar", True)]),
        ("数据库", [("数据 据库", False)]),
        ("数", [("数", True)]),
        ("步2", [("步 2", False)]),
        (
            "NEAR AND a OR b -x",
            [
                ("near", True),
                ("and", True),
                ("a", False),
                ("or", False),
                ("b", False),
                ("x", False),
            ],
        ),
        ("\" * ( ) % ' \\ ; -- ^ { }", []),
        ("", []),
    ],
)
def test_whatever_is_typed_is_terms(text: str, terms: list[tuple[str, bool]]) -> None:
    assert [(" ".join(term.parts), term.prefix) for term in parse(text)] == terms


def test_an_identifier_is_found_by_its_whole_too_and_terms_are_counted() -> None:
    assert [term.whole for term in parse("getUserName foo-bar plain")] == [
        "getusername",
        "foobar",
        "",
    ]
    assert parse("same same Same") == (Term(("same",), prefix=True, shown=("same",)),)
    assert len(parse(" ".join(f"w{n}" for n in range(200)))) == MOST_TERMS
