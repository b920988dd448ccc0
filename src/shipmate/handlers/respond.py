"""What a handler gives back, as an HTTP response."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response


def json_answer(
    value: Any,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    kind: str = "application/json",
) -> Response:
    """JSON (bytes are JSON already); None becomes an empty 204."""
    if value is None:
        return Response(status_code=204, headers=headers)
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return Response(body, status, headers, media_type=kind)
