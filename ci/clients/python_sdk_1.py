"""The Python SDK, version 1."""

from contextlib import AsyncExitStack

from loop import act, jobs
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def run(job):
    async with AsyncExitStack() as stack:
        if job["transport"] == "http":
            streams = await stack.enter_async_context(streamablehttp_client(job["url"]))
        else:
            streams = await stack.enter_async_context(
                stdio_client(StdioServerParameters(command=job["command"][0], args=job["command"][1:])))
        session = await stack.enter_async_context(ClientSession(*streams[:2]))
        await session.initialize()

        async def list_tools():
            tools, cursor = {}, None
            while True:
                page = await session.list_tools(cursor)
                tools |= {t.name: t.inputSchema for t in page.tools}
                if (cursor := page.nextCursor) is None:
                    return tools

        async def call(name, arguments):
            try:
                return (await session.call_tool(name, arguments)).content[0].text
            except McpError as error:
                return str(error)

        return await act(job, list_tools, call)


jobs(run, plain=True)
