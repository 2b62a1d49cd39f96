"""smolagents."""

import asyncio

from loop import jobs
from mcp import StdioServerParameters
from smolagents import MCPClient, OpenAIServerModel, ToolCallingAgent


def play(job):
    if job["transport"] == "http":
        server = {"url": job["url"], "transport": "streamable-http"}
    else:
        server = StdioServerParameters(command=job["command"][0], args=job["command"][1:])
    with MCPClient(server, structured_output=False) as tools:
        if not job["list"]:
            model = OpenAIServerModel(job["name"], api_base=job["model"], api_key="none")
            ToolCallingAgent(tools, model, max_steps=14, verbosity_level=-1).run("Meet the request.")
        return len(tools)


async def run(job):
    return await asyncio.to_thread(play, job)


jobs(run)
