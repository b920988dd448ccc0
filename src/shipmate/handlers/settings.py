"""The settings of the interface."""

from typing import Any

import msgspec

from shipmate.handlers.errors import HttpError
from shipmate.handlers.house import House
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint


class ChangeSettings(Input, frozen=True, kw_only=True):
    interface: dict[str, Any]
    """Only what is to change; docs/configuration.md names the settings."""


class SettingsView(msgspec.Struct, frozen=True):
    interface: dict[str, Any]


def _view(house: House) -> SettingsView:
    return SettingsView(msgspec.to_builtins(house.config.settings.interface))


@endpoint("GET", "/api/settings", scope="read", answer=SettingsView)
async def settings(call: Call[Nothing]) -> Answer:
    """The interface's settings, defaults included."""
    return _view(call.house)


@endpoint(
    "PATCH",
    "/api/settings",
    scope="admin",
    body=ChangeSettings,
    answer=SettingsView,
    audit=("interface",),
)
async def change_settings(call: Call[ChangeSettings]) -> Answer:
    """Change settings, in the configuration file as well. If one value does not fit, none is
    changed and the answer says which and why."""
    if not call.given.interface:
        raise HttpError(422, "invalid", "The body does not fit: `interface` changes nothing.")
    current = _view(call.house).interface
    call.house.config.set("interface", {**current, **call.given.interface})
    return _view(call.house)
