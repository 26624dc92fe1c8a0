"""A WebSocket server with one tool, on the last line of the Python SDK that has that transport."""

import sys

import mcp.types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.websocket import websocket_server
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute

server = Server("echo-by-websocket")
SCHEMA = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}


@server.list_tools()
async def list_tools():
    return [types.Tool(name="echo", description="Says it again.", inputSchema=SCHEMA)]


@server.call_tool()
async def call_tool(name, arguments):
    return [types.TextContent(type="text", text="Echo: " + arguments["message"])]


async def serve(socket):
    async with websocket_server(socket.scope, socket.receive, socket.send) as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    app = Starlette(routes=[WebSocketRoute("/ws", serve)])
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
