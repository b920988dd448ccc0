"""Whether arguments fit the schema that a server gave, which may be hostile itself.

References are followed within the schema only and a bounded number of times; patterns are left to
the server, as one can be written to take for ever. Where the schema is no schema, anything fits.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from shipmate.tools.tool import Fits

STEPS = 2_000
"""References that are followed for one check."""


class _TooMuchError(Exception):
    pass


def fits(schema: Any) -> Fits:
    """A check of arguments; made when the first ones come."""
    made: list[Callable[[Mapping[str, Any]], str]] = []

    def check(arguments: Mapping[str, Any]) -> str:
        if not isinstance(schema, dict) or not schema:
            return ""
        if not made:
            made.append(_check(cast("dict[str, Any]", schema)))
        return made[0](arguments)

    return check


def _check(schema: dict[str, Any]) -> Callable[[Mapping[str, Any]], str]:
    # heavy, and needed by the first call of a server's tool only
    from jsonschema import Draft202012Validator, validators
    from jsonschema import exceptions as failures
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    left = [0]
    followed: Any = Draft202012Validator.VALIDATORS["$ref"]

    def reference(validator: Any, ref: Any, instance: Any, here: Any) -> Iterator[Any]:
        left[0] -= 1
        if left[0] < 0:
            raise _TooMuchError
        yield from followed(validator, ref, instance, here) or ()

    def nothing(*_: Any) -> None:
        return None

    kind: Any = cast("Any", validators).extend(
        Draft202012Validator,
        {
            "$ref": reference,
            "$dynamicRef": nothing,
            "pattern": nothing,
            "patternProperties": nothing,
        },
    )
    registry: Any = cast("Any", Registry)()
    validator = kind(schema, registry=registry)
    exceptions: Any = failures

    def check(arguments: Mapping[str, Any]) -> str:
        left[0] = STEPS
        try:
            error = exceptions.best_match(validator.iter_errors(dict(arguments)))
        except (_TooMuchError, RecursionError, Unresolvable, exceptions.UnknownType):
            return ""
        except (TypeError, ValueError, AttributeError, KeyError):
            return ""  # a schema that is none
        if error is None:
            return ""
        place = ".".join(str(part) for part in error.absolute_path)
        return f"`{place}`: {error.message[:300]}" if place else str(error.message)[:300]

    return check
