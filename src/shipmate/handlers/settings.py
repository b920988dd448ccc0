"""The settings of the configuration file that a page changes, and those it only shows."""

from collections.abc import Mapping
from typing import Any

import msgspec

from shipmate.handlers.body import changes_nothing
from shipmate.handlers.house import House
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint

CHANGEABLE = ("interface", "limits", "budgets", "web", "sandbox")


class ChangeSettings(Input, frozen=True, kw_only=True):
    """Only what is to change; docs/configuration.md names the settings."""

    interface: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    budgets: dict[str, Any] = {}
    web: dict[str, Any] = {}
    sandbox: dict[str, Any] = {}


class SettingsView(msgspec.Struct, frozen=True):
    """Defaults included."""

    interface: dict[str, Any]
    limits: dict[str, Any]
    budgets: dict[str, Any]
    web: dict[str, Any]
    sandbox: dict[str, Any]
    server: dict[str, Any]
    """These hold from the next start on, and are changed in the file only."""
    file: str
    """The configuration file; empty, and the last three too, for who is no admin."""


def _view(house: House, *, all_of_it: bool) -> SettingsView:
    settings = house.config.settings

    def told(section: msgspec.Struct, *, admins_only: bool = False) -> dict[str, Any]:
        return msgspec.to_builtins(section) if all_of_it or not admins_only else {}

    return SettingsView(
        interface=told(settings.interface),
        limits=told(settings.limits),
        budgets=told(settings.budgets),
        web=told(settings.web, admins_only=True),
        sandbox=told(settings.sandbox, admins_only=True),
        server=told(settings.server, admins_only=True),
        file=str(house.config.data / "config.toml") if all_of_it else "",
    )


@endpoint("GET", "/api/settings", scope="read", answer=SettingsView)
async def settings(call: Call[Nothing]) -> Answer:
    """The settings, defaults included."""
    return _view(call.house, all_of_it=call.caller.may("admin"))


@endpoint(
    "PATCH",
    "/api/settings",
    scope="admin",
    body=ChangeSettings,
    answer=SettingsView,
    audit=CHANGEABLE,
)
async def change_settings(call: Call[ChangeSettings]) -> Answer:
    """Change settings, in the configuration file as well. If one value of a section does not fit,
    none of it is changed and the answer says which and why."""
    wanted: Mapping[str, dict[str, Any]] = msgspec.structs.asdict(call.given)
    if not any(wanted.values()):
        raise changes_nothing()
    current = msgspec.structs.asdict(_view(call.house, all_of_it=True))
    for section, values in wanted.items():
        if values:
            call.house.config.set(section, {**current[section], **values})
    return _view(call.house, all_of_it=True)
