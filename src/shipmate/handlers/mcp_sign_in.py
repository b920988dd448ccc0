"""Where a browser comes back to when a person has signed in to an MCP server elsewhere."""

import html

import msgspec
from starlette.responses import Response

from shipmate.handlers.errors import HttpError
from shipmate.handlers.route import Answer, Call, endpoint

CALLBACK = "/mcp/callback"
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>shipmate</title>
<h1>{title}</h1><p>{text}</p>
</html>
"""


class Back(msgspec.Struct, frozen=True, kw_only=True):
    """What the other server sends along; it may send more."""

    state: str = ""
    code: str = ""
    iss: str = ""
    error: str = ""
    error_description: str = ""


@endpoint("GET", CALLBACK, scope="public", query=Back, answer=str)
async def mcp_callback(call: Call[Back]) -> Answer:
    """Take the code of a sign-in that this server has begun: only who was sent away from here
    knows its `state`. Cookies of ours do not come along from another site."""
    given = call.given
    if given.error or not given.code:
        text = given.error_description or given.error or "There was no code in the answer."
        return _page("Not signed in", text, 400)
    if not given.state:
        raise HttpError(400, "invalid", "The sign-in has no `state`; start it again.")
    call.house.pool.around.sign_ins.back(given.state, given.code, given.iss)
    return _page("Signed in", "You can close this tab and go back to shipmate.", 200)


def _page(title: str, text: str, status: int) -> Response:
    shown = _PAGE.format(title=html.escape(title), text=html.escape(text))
    return Response(shown, status, media_type="text/html")
