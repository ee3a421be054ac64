"""The functions of tools that note what really ran; alone in their module, as the code of a tool is read with all that its module imports."""

from __future__ import annotations

from typing import Any

RAN: list[tuple[str, Any]] = []
"""What really ran, with its arguments."""


def really_ran() -> list[tuple[str, Any]]:
    """Return what really ran since the last look."""
    ran = RAN[:]
    RAN.clear()
    return ran


def find_order(order_id: str) -> dict[str, Any]:
    """Find an order.

    Returns:
        A dict with order_id, status and total.
    """
    RAN.append(("find_order", order_id))
    return {"order_id": order_id, "status": "really open", "total": 1.0}


def create_order(item: str) -> dict[str, Any]:
    """Create an order.

    Returns:
        A dict with order_id, item and status.
    """
    RAN.append(("create_order", item))
    return {"order_id": "REAL-1", "item": item, "status": "really new"}


def breaks() -> dict[str, str]:
    """Break."""
    RAN.append(("breaks", None))
    raise ConnectionError("the line is dead")
