"""Formulas: drawn as MathML without a style or a request, and never in the way of the text."""

import threading

from playwright.sync_api import expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.provider import Answer, text_reply

TEXT = r"""The root is $x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$, for $5 and $10.

$$
\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}
+ \sum_{i=0}^{n} i
$$

\[
e^{i\pi} = -1
\]

Wrong: $\nosuch{x}$. Untrusted: $\href{https://example.com}{x}$.

That is all.
"""


def test_formulas_are_drawn_and_what_is_none_is_words(desk: Desk) -> None:
    desk.provider.queue(text_reply(TEXT))
    desk.say("Solve it")
    text = desk.page.locator("[data-kind=message] .md")
    expect(text.locator("math")).to_have_count(3)
    expect(text.locator("math[display=block]")).to_have_count(2)
    expect(text.locator("mfrac")).to_have_count(1)
    expect(text.locator("mtr")).to_have_count(2)
    expect(text).to_contain_text("for $5 and $10.")
    expect(text.locator("code").get_by_text(r"\nosuch{x}")).to_be_visible()
    expect(text.locator("code").get_by_text(r"\href{https://example.com}{x}")).to_be_visible()
    expect(text.locator("a")).to_have_count(0)
    assert faults(desk.page) == []


def test_a_formula_cut_anywhere_is_its_source_until_it_is_whole(desk: Desk) -> None:
    rest = threading.Event()
    body = text_reply(*TEXT)
    free = len(text_reply(*TEXT[: TEXT.index("+ \\sum")]))
    desk.provider.queue(Answer(body, split=100, gate=rest, free=free))
    desk.say("Solve it")
    text = desk.page.locator("[data-kind=message] .md")
    expect(text.locator("code").get_by_text(r"\begin{pmatrix} 1 & 2")).to_be_visible()
    expect(text.locator("mfrac")).to_have_count(1)  # the one that is whole
    rest.set()
    expect(text.locator("math")).to_have_count(3)
    expect(text).to_contain_text("That is all.")


def test_a_list_goes_on_at_its_number_and_cells_stand_where_they_were_set(desk: Desk) -> None:
    table = "| a | b |\n|---|--:|\n| 1 | 2 |"
    code = "- it is\n\n  ```python\n  def f(): pass\n  ```"
    desk.provider.queue(text_reply(f"3. three\n4. four\n\n{table}\n\n{code}\n"))
    desk.say("List it")
    desk.done()
    text = desk.page.locator("[data-kind=message] .md")
    expect(text.locator("ol")).to_have_attribute("start", "3")
    expect(text.locator("td").last).to_have_css("text-align", "end")
    expect(text.locator("li pre span.hljs-keyword, li pre span[class]").first).to_have_text("def")
