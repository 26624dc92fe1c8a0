"""The Python SDK as a client: lists the tools, calls one, prints both. `client.py http URL` or `client.py stdio COMMAND…`."""

import asyncio
import sys

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main():
    kind, *words = sys.argv[1:]
    if kind == "http":
        target = words[0]
    else:
        target = stdio_client(StdioServerParameters(command=words[0], args=words[1:]))
    async with Client(target) as client:
        listed = await client.list_tools()
        print(len(listed.tools), "tools", client.protocol_version)
        result = await client.call_tool("Glob", {"pattern": "*.md"})
        for block in result.content:
            print(block.text)


asyncio.run(main())
