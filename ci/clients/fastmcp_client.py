"""fastmcp."""

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from loop import act, jobs


async def run(job):
    if job["transport"] == "http":
        transport = StreamableHttpTransport(job["url"])
    else:
        transport = StdioTransport(command=job["command"][0], args=job["command"][1:], keep_alive=False)
    async with Client(transport) as client:

        async def list_tools():
            return {t.name: getattr(t, "inputSchema", None) or t.input_schema for t in await client.list_tools()}

        async def call(name, arguments):
            try:
                return (await client.call_tool(name, arguments)).content[0].text
            except ToolError as error:
                return str(error)
            except Exception as error:
                if type(error).__name__ not in ("MCPError", "McpError"):  # an error of the protocol is an answer too
                    raise
                return str(error)

        return await act(job, list_tools, call)


jobs(run, plain=True)
