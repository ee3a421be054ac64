"""An MCP server over standard input and output that leaves a line in a file, its argument, whenever a tool runs."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("desk")


@server.tool()
def find_order(order_id: str, verbose: bool = False) -> dict[str, str]:
    """Find an order."""
    with Path(sys.argv[1]).open("a") as traces:
        traces.write(f"find_order {order_id} {verbose}\n")
    return {"order_id": order_id, "status": "really open"}


if __name__ == "__main__":
    server.run()
