"""The command line of MCP Inspector, which starts a process and a session for each call."""

import asyncio
import json
import os

from loop import act, jobs


async def run(job):
    binary = os.environ["MCP_CLIENTS"] + "/inspector/node_modules/.bin/mcp-inspector"
    if job["transport"] == "http":
        target = [job["url"] + job["each"], "--transport", "http"]
    elif job["list"]:
        target = job["command"]
    else:
        raise SystemError("over stdio each call is a server of its own")

    async def command(*arguments):
        process = await asyncio.create_subprocess_exec(binary, "--cli", *target, *arguments, stdout=asyncio.subprocess.PIPE,
                                                       stderr=asyncio.subprocess.PIPE)
        out, err = await process.communicate()
        try:
            return json.loads(out)
        except ValueError:
            return {"error": (out + err).decode()}

    async def list_tools():
        listed = await command("--method", "tools/list")
        if "tools" not in listed:
            raise RuntimeError(listed)
        return {t["name"]: t["inputSchema"] for t in listed["tools"]}

    async def call(name, arguments):
        pairs = [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in arguments.items()]
        result = await command("--method", "tools/call", "--tool-name", name, *[a for p in pairs for a in ("--tool-arg", p)])
        return result["content"][0]["text"] if "content" in result else str(result)

    return await act(job, list_tools, call)


jobs(run, plain=True)
