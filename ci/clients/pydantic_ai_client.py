"""pydantic-ai."""

from loop import jobs
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

try:
    from pydantic_ai.mcp import MCPServerStdio, MCPServerStreamableHTTP
except ImportError:
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    def MCPServerStreamableHTTP(url, **_):
        return MCPToolset(url)

    def MCPServerStdio(command, args, **_):
        return MCPToolset(StdioTransport(command=command, args=args, keep_alive=False))


async def run(job):
    if job["transport"] == "http":
        server = MCPServerStreamableHTTP(job["url"], max_retries=8)
    else:
        server = MCPServerStdio(job["command"][0], args=job["command"][1:], max_retries=8)
    model = OpenAIChatModel(job["name"], provider=OpenAIProvider(base_url=job["model"], api_key="none"))
    async with server:
        if job["list"]:
            return len(await server.list_tools())
        await Agent(model, toolsets=[server], retries=8).run("Meet the request.")


jobs(run)
