"""Inspect AI: its react agent in a task of one sample."""

import tempfile

from inspect_ai import Task, eval_async
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.tool import mcp_connection, mcp_server_http, mcp_server_stdio, mcp_tools
from loop import jobs

logs = tempfile.TemporaryDirectory()


async def run(job):
    if job["transport"] == "http":
        server = mcp_server_http(name="seatrial", url=job["url"])
    else:
        server = mcp_server_stdio(name="seatrial", command=job["command"][0], args=job["command"][1:])
    source = mcp_tools(server)
    if job["list"]:
        async with mcp_connection(source):
            return len(await source.tools())
    model = get_model("openai-api/scripted/" + job["name"], base_url=job["model"], api_key="none", memoize=False)
    task = Task(dataset=[Sample(input="Meet the request.")], solver=react(tools=[source], submit=False, prompt=None))
    done = await eval_async(task, model=model, log_dir=logs.name, message_limit=40)
    if done[0].status != "success":
        raise RuntimeError(done[0].error.message)


jobs(run)
