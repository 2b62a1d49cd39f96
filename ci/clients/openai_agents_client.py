"""The OpenAI Agents SDK."""

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from loop import jobs
from openai import AsyncOpenAI

set_tracing_disabled(True)


async def run(job):
    options = {"client_session_timeout_seconds": 20, "cache_tools_list": job["cached"]}
    if job["transport"] == "http":
        server = MCPServerStreamableHttp(params={"url": job["url"]}, **options)
    else:
        server = MCPServerStdio(params={"command": job["command"][0], "args": job["command"][1:]}, **options)
    async with server:
        if job["list"]:
            return len(await server.list_tools())
        model = OpenAIChatCompletionsModel(job["name"], AsyncOpenAI(base_url=job["model"], api_key="none", max_retries=0))
        await Runner.run(Agent(name="agent", model=model, mcp_servers=[server]), "Meet the request.", max_turns=20)


jobs(run)
