"""The Python SDK, version 2."""

from loop import act, jobs
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


async def run(job):
    if job["transport"] == "http":
        transport = streamable_http_client(job["url"])
    else:
        transport = stdio_client(StdioServerParameters(command=job["command"][0], args=job["command"][1:]))
    async with Client(transport) as client:

        async def list_tools():
            tools, cursor = {}, None
            while True:
                page = await client.list_tools(cursor=cursor)
                tools |= {t.name: t.input_schema for t in page.tools}
                if (cursor := page.next_cursor) is None:
                    return tools

        async def call(name, arguments):
            try:
                return (await client.call_tool(name, arguments)).content[0].text
            except MCPError as error:
                return str(error)

        return await act(job, list_tools, call)


jobs(run, plain=True)
