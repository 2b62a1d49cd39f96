"""LangGraph by langchain-mcp-adapters: get_tools() over HTTP, which opens a session for each call; one session over stdio."""

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI
from loop import jobs


async def run(job):
    if job["transport"] == "http":
        server = {"transport": "streamable_http", "url": job["url"] + job["each"]}
    else:
        server = {"transport": "stdio", "command": job["command"][0], "args": job["command"][1:]}
    client = MultiServerMCPClient({"seatrial": server})
    if job["transport"] == "http":
        return await play(job, await client.get_tools())
    async with client.session("seatrial") as session:
        return await play(job, await load_mcp_tools(session))


async def play(job, tools):
    if job["list"]:
        return len(tools)
    for tool in tools:
        tool.handle_tool_error = True
    model = ChatOpenAI(model=job["name"], base_url=job["model"], api_key="none", max_retries=0)
    await create_agent(model, tools).ainvoke({"messages": [("user", "Meet the request.")]}, {"recursion_limit": 60})
    return len(tools)


jobs(run)
