"""Calls a server of the Model Context Protocol with the official Python client, and prints what it answered.

Arguments: the command of the server, as a JSON list. Standard input: a JSON list of steps, each ["call", NAME,
ARGUMENTS], ["read", URI], or ["until", NAME, ARGUMENTS, PART, FIELD]: calls until that field is a number above 0, for
a minute at most. Output: a JSON object.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client


def plain(result):
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def step(session, kind, *rest):
    if kind == "until":
        name, arguments, part, field = rest
        for _ in range(120):
            answer = plain(await session.call_tool(name, arguments))
            if answer.get("structuredContent", {}).get(part, {}).get(field):
                break
            await asyncio.sleep(0.5)
        return answer
    try:
        if kind == "call":
            return plain(await session.call_tool(rest[0], rest[1]))
        return plain(await session.read_resource(rest[0]))
    except MCPError as error:
        return {"refused": str(error)}


async def main():
    command = json.loads(sys.argv[1])
    steps = json.load(sys.stdin)
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with stdio_client(server) as streams:
        async with ClientSession(*streams) as session:
            hello = plain(await session.initialize())
            tools = plain(await session.list_tools())
            resources = plain(await session.list_resources())
            answers = [await step(session, *one) for one in steps]
    print(json.dumps({"hello": hello, "tools": tools, "resources": resources, "answers": answers}))


asyncio.run(main())
