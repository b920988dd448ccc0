"""What a session is made of, checked before it is made or changed."""

from collections.abc import Mapping
from typing import Any

from shipmate.agent.profile import Profile
from shipmate.errors import NotFoundError, did_you_mean
from shipmate.handlers.errors import HttpError
from shipmate.handlers.house import House
from shipmate.handlers.reach import project_named
from shipmate.handlers.route import Call
from shipmate.session.projects import project_folder


def check_agent(known: Mapping[str, Profile], agent: str) -> str:
    if agent not in known:
        raise NotFoundError(f"There is no agent {agent!r}{did_you_mean(agent, known)}")
    return agent


def check_model(house: House, model: str) -> str:
    """`provider/model` as it is known; a model that cannot be used now is refused, with why."""
    if not model:
        raise HttpError(422, "invalid", "The body does not fit: `provider` is missing.")
    house.providers.model(model)
    return model


def check_project(call: Call[Any], project: str) -> str:
    """The project's id, for its id or its name; its folder must be there."""
    if not project:
        raise HttpError(422, "invalid", "The body does not fit: `project` is missing.")
    key = project_named(call, project)
    project_folder(call.house.config.settings.projects, key)
    return key
