"""The user calls an agent with `CALL: <agent> <task>` in a message."""

from shipmate.agent.profile import Agent
from shipmate.agent.transcript import Transcript
from shipmate.llm.directions import directions
from shipmate.protocol import ToolCall
from shipmate.tools.agents import call_agent


def directed(transcript: Transcript, agent: Agent) -> list[ToolCall]:
    """The calls that the user made in messages the model has not heard yet, and that are not
    recorded. Their ids follow from the message, so that none is made twice."""
    if agent.team is None:
        return []
    return [
        ToolCall(
            id=f"{said.id}-call{number}",
            message=said.id,
            name=call_agent.name,
            provider=call_agent.provider,
            arguments={"agent": one.agent, "task": one.task},
        )
        for said in transcript.unheard
        if not transcript.called(said.id)
        for number, one in enumerate(directions(said.text, agent.team.agents), 1)
    ]
