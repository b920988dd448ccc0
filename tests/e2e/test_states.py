"""The states that every view has: loading, failed, offline, without script, on a plain address."""

import re
import threading

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.e2e.test_sidebar import begin, talk
from tests.provider import text_reply

FAILED = {"code": "storage", "detail": "The disk is full. Make room, then try again."}
INSECURE = """
Object.defineProperty(window, 'isSecureContext', { value: false });
Object.defineProperty(navigator, 'clipboard', { value: undefined });
delete window.Notification;
crypto.randomUUID = undefined;
"""


@pytest.mark.parametrize(
    ("place", "call", "words"),
    [
        ("#/settings/agents", "**/api/agents", "The agents could not be read."),
        ("#/settings/usage", "**/api/usage*", "What was used could not be read."),
        ("#/settings/limits", "**/api/settings", "The settings could not be read."),
        ("#/settings/about", "**/api/doctor", "The state could not be read."),
        ("#/inbox", "**/api/agent/pending*", "could not be read"),
    ],
)
def test_what_cannot_be_read_says_why_and_is_asked_for_again(
    desk: Desk, place: str, call: str, words: str
) -> None:
    desk.expected.append("507")
    desk.page.route(call, lambda route: route.fulfill(status=507, json=FAILED))
    desk.open("healthz")
    desk.open(place)
    main = desk.page.get_by_role("main")
    expect(main.get_by_role("alert")).to_contain_text(words)
    expect(main.get_by_role("alert")).to_contain_text("Make room")
    assert faults(desk.page) == []
    desk.page.unroute(call)
    main.get_by_role("button", name="Try again").click()
    expect(main.get_by_role("alert")).to_have_count(0)


def test_what_takes_long_has_a_skeleton(desk: Desk) -> None:
    held = threading.Event()

    def hold(route: Route) -> None:
        if held.is_set():
            route.continue_()
        else:
            waiting.append(route)

    waiting: list[Route] = []
    desk.page.route("**/api/agents", hold)
    desk.open("#/settings/agents")
    main = desk.page.get_by_role("main")
    expect(main.get_by_text("Loading")).to_be_attached()
    assert faults(desk.page) == []
    held.set()
    waiting[0].continue_()
    expect(main.get_by_text("Loading")).to_have_count(0)
    expect(main.get_by_role("button", name="Edit explorer")).to_be_visible()


def test_a_part_of_the_page_that_is_gone_says_that_there_is_a_newer_one(desk: Desk) -> None:
    desk.expected += ["404", "Failed to fetch dynamically imported module", "Unable to preload"]
    desk.page.route(re.compile(r"/assets/Usage-.*\.js"), lambda route: route.fulfill(status=404))
    desk.open("#/settings/usage")
    expect(desk.page.get_by_text("shipmate was updated.")).to_be_visible()


def test_what_is_sent_before_the_models_are_known_goes_once_they_are(desk: Desk) -> None:
    waiting: list[Route] = []
    desk.page.route("**/api/agent/info", lambda route: waiting.append(route))  # noqa: PLW0108 - a builtin takes no mark
    desk.page.reload()
    desk.write("Early bird")
    desk.page.keyboard.press("Control+Enter")
    expect(desk.page.get_by_text("It is sent as soon as")).to_be_visible()
    desk.provider.queue(text_reply("Here."), text_reply("Early"))
    for route in waiting:
        route.continue_()
    expect(desk.page.get_by_text("Here.")).to_be_visible()
    assert len(desk.server.api("GET", "/api/agent/sessions")["sessions"]) == 1


def test_without_script_the_page_says_what_it_needs(desk: Desk, browser: Browser) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(desk.server.url)
    expect(page.locator("noscript")).to_be_visible()
    assert "shipmate needs JavaScript." in page.content()
    page.close()


def test_on_a_plain_address_it_copies_sends_and_says_what_it_cannot(desk: Desk) -> None:
    desk.page.add_init_script(INSECURE)
    begin(desk)
    talk(desk, "Plain address")
    desk.page.locator("[data-kind=foot]").get_by_role("button", name="Copy").first.click()
    box = desk.page.get_by_role("textbox", name="Message")
    box.focus()
    desk.page.keyboard.press("Control+v")
    expect(box).to_have_value("Well.")
    desk.open("#/settings")
    expect(desk.page.get_by_role("switch", name="Notify me")).to_be_disabled()


def test_offline_is_told_at_once_and_a_refused_message_stays(desk: Desk) -> None:
    talk(desk, "On the train")
    desk.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to load"]
    desk.page.context.set_offline(True)
    desk.write("still here")
    desk.page.keyboard.press("Control+Enter")
    expect(desk.page.get_by_role("main").get_by_role("alert")).to_be_visible()
    expect(desk.page.get_by_role("textbox", name="Message")).to_have_value("still here")
    desk.page.context.set_offline(False)
    desk.provider.queue(text_reply("There you are."))
    desk.page.keyboard.press("Control+Enter")
    expect(desk.page.get_by_text("There you are.")).to_be_visible()


def test_it_can_be_installed_and_its_icons_are_its_own(desk: Desk) -> None:
    found = desk.page.evaluate(
        """async () => {
            const link = document.querySelector('link[rel=manifest]').href
            const manifest = await (await fetch(link)).json()
            const sizes = await Promise.all(manifest.icons.map(async ({ src }) => {
                const image = new Image()
                image.src = src
                await image.decode()
                return image.naturalWidth
            }))
            return [manifest.name, sizes]
        }"""
    )
    assert found[0] == "shipmate"
    assert found[1][1:] == [192, 512, 512]


def test_forced_colours_and_reduced_motion_keep_what_is_chosen_in_sight(desk: Desk) -> None:
    desk.page.emulate_media(forced_colors="active", reduced_motion="reduce")
    desk.page.keyboard.press("Control+k")
    option = desk.page.get_by_role("dialog").get_by_role("option", selected=True)
    expect(option).to_be_visible()
    assert option.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    assert faults(desk.page) == []
