"""Where a browser comes back to when a person has signed in to an MCP server elsewhere."""

import html

import msgspec
from starlette.responses import Response

from shipmate.errors import NotFoundError
from shipmate.handlers.route import Answer, Call, Nothing, endpoint
from shipmate.mcp.sign_in import client_metadata

CALLBACK = "/mcp/callback"
DOCUMENT = "/mcp/client.json"
_SHOWN = 300
"""Characters of what the other server says."""
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


class ClientDocument(msgspec.Struct, frozen=True):
    """As draft-ietf-oauth-client-id-metadata-document says."""

    client_id: str
    client_name: str
    redirect_uris: list[str]
    grant_types: list[str]
    response_types: list[str]
    token_endpoint_auth_method: str


@endpoint("GET", CALLBACK, scope="public", query=Back, answer=str)
async def mcp_callback(call: Call[Back]) -> Answer:
    """Take the code of a sign-in that this server has begun: only who was sent away from here
    knows its `state`. Cookies of ours do not come along from another site."""
    given, sign_ins = call.given, call.house.pool.around.sign_ins
    if not given.state:
        return _page("Not signed in", "The sign-in has no `state`; begin again.", 400)
    try:
        if given.error or not given.code:
            why = given.error_description or given.error or "There was no code in the answer."
            sign_ins.refused(given.state, f"{given.error or 'no code'}: {why[:_SHOWN]}")
            return _page("Not signed in", why, 400)
        sign_ins.back(given.state, given.code, given.iss)
    except NotFoundError as error:
        return _page("Not signed in", str(error), 404)
    return _page("Signed in", "You can close this tab and go back to shipmate.", 200)


@endpoint("GET", DOCUMENT, scope="public", answer=ClientDocument)
async def mcp_client_document(call: Call[Nothing]) -> Answer:
    """Shipmate's client id metadata document, where the configuration says under which address the
    public web finds it (`mcp.client_document`)."""
    sign_ins = call.house.pool.around.sign_ins
    address = sign_ins.client_document()
    if not address:
        raise NotFoundError("`mcp.client_document` is not set.")
    return msgspec.convert(
        {"client_id": address, **client_metadata(sign_ins.callback)}, ClientDocument
    )


def _page(title: str, text: str, status: int) -> Response:
    shown = _PAGE.format(title=html.escape(title), text=html.escape(text))
    return Response(shown, status, media_type="text/html")
