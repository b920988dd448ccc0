"""The page, and that the server is there."""

from pathlib import PurePosixPath

from starlette.responses import Response

from shipmate.handlers.errors import HttpError
from shipmate.handlers.route import Answer, Call, Nothing, endpoint

NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>shipmate</title>
<h1>The page is not built yet</h1>
<p>The server works, its page is missing. In a clone, run <code>./dev setup</code>
and load this page again. The API and <code>shipmate run</code> work without it.</p>
</html>
"""
KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".map": "application/json",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain",
}
FOREVER = "public, max-age=31536000, immutable"
"""For files whose name has the hash of their content."""


@endpoint("GET", "/", scope="public", answer=str)
async def page(call: Call[Nothing]) -> Answer:
    """The page, or how to build it."""
    found = call.house.pages.find("index.html")
    if found is None:
        return Response(NOT_BUILT, 503, media_type="text/html")
    return _file(call, "index.html", found, "no-cache")


@endpoint("GET", "/assets/{name:path}", scope="public", answer=bytes)
async def asset(call: Call[Nothing]) -> Answer:
    """A file of the page."""
    name = f"assets/{call.path['name']}"
    return _file(call, name, _found(call, name), FOREVER)


@endpoint("GET", "/{name}", scope="public", answer=bytes)
async def top_file(call: Call[Nothing]) -> Answer:
    """A file beside the page: its icon."""
    name = call.path["name"]
    return _file(call, name, _found(call, name), "no-cache")


@endpoint("GET", "/healthz", scope="public", answer=str)
async def healthz(_call: Call[Nothing]) -> Answer:
    """The server answers."""
    return Response("ok\n", media_type="text/plain")


def _found(call: Call[Nothing], name: str) -> tuple[bytes, str]:
    found = call.house.pages.find(name)
    if found is None:
        raise HttpError(404, "not_found", "There is no such file.")
    return found


def _file(call: Call[Nothing], name: str, found: tuple[bytes, str], caching: str) -> Response:
    content, etag = found
    headers = {"ETag": etag, "Cache-Control": caching}
    if call.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    kind = KINDS.get(PurePosixPath(name).suffix, "application/octet-stream")
    return Response(content, headers=headers, media_type=kind)
