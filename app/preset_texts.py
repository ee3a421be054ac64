"""Names the errors and exceptions that the rule editor offers to start from. Pure."""

from __future__ import annotations

from http import HTTPStatus

from pydantic import JsonValue

_CODES = (400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504)
_RETRY_AFTER = {429: 30, 503: 10}
_SENTENCES = {
    400: "The request is not valid.",
    401: "Authentication is required.",
    403: "You are not allowed to do this.",
    404: "Not found.",
    408: "The request took too long.",
    409: "This conflicts with the current state.",
    422: "The request cannot be processed as it is.",
    429: "Too many requests; try again later.",
    500: "Internal server error.",
    502: "Bad gateway.",
    503: "Service unavailable.",
    504: "Gateway timeout.",
}

HTTP: dict[int, str] = {code: HTTPStatus(code).phrase for code in _CODES}
"""HTTP statuses that a tool's backend may answer with."""

EXCEPTIONS = (
    "TimeoutError",
    "ConnectionError",
    "ConnectionResetError",
    "ConnectionRefusedError",
    "PermissionError",
    "FileNotFoundError",
    "ValueError",
    "KeyError",
    "TypeError",
    "RuntimeError",
    "NotImplementedError",
)
"""Exceptions that tools raise."""


def http_seeds(code: int) -> dict[str, JsonValue]:
    """Give what the inputs of an error hold for an HTTP status."""
    after = _RETRY_AFTER.get(code)
    return {
        "error.code": code,
        "error.message": _SENTENCES[code],
        "error.details": f'{{"retry_after": {after}}}' if after else "",
    }
