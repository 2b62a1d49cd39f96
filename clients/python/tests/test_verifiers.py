"""The verifiers taskset, run by verifiers itself with a scripted model server: plans are rewarded, declines are not."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

import pytest

vf = pytest.importorskip("verifiers.v1", reason="verifiers is not installed")

from seatrial.verifiers import SeatrialConfig, SeatrialTask, SeatrialTaskConfig, SeatrialTaskset  # noqa: E402


class Model(http.server.BaseHTTPRequestHandler):
    """Answers chat completions: the plan of the request's task, then its answer, or a decline at once."""

    plans: dict[str, dict] = {}
    declines = False

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = next(m["content"] for m in body["messages"] if m["role"] == "user")
        asked = asked if isinstance(asked, str) else asked[0]["text"]
        plan = self.plans[asked]
        made = sum(len(m.get("tool_calls") or []) for m in body["messages"] if m["role"] == "assistant")
        by_end = {t["function"]["name"].split("__")[-1]: t["function"]["name"] for t in body["tools"]}
        if self.declines:
            name, arguments = "decline", {"reason": "no"}
        elif made < len(plan["calls"]):
            name, arguments = plan["calls"][made]["tool"], plan["calls"][made]["arguments"]
        else:
            name, arguments = "submit_answer", {"answer": f"${plan['answer']}$"}
        message = {"role": "assistant", "content": "Done."}
        if made <= (0 if self.declines else len(plan["calls"])):
            function = {"name": by_end[name], "arguments": json.dumps(arguments)}
            message = {"role": "assistant", "content": None, "tool_calls": [
                {"id": f"c{made}", "type": "function", "function": function}]}
        if body.get("stream"):
            return self.stream(message)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        reply = json.dumps({
            "id": "r", "object": "chat.completion", "created": 1, "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def stream(self, message: dict) -> None:
        calls = [{"index": 0, **c} for c in message.get("tool_calls", [])]
        delta = {**message, "tool_calls": calls} if calls else message
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for part, reason in ((delta, None), ({}, "tool_calls" if calls else "stop")):
            chunk = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
                     "choices": [{"index": 0, "delta": part, "finish_reason": reason}]}
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *args) -> None:
        pass


@pytest.fixture
def model():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()


def test_tasks_of_a_selection(server):
    taskset = SeatrialTaskset(SeatrialConfig(url=server.url, style="rest", condition="clean"))
    tasks = list(taskset)
    wanted = list(server.client.instances(style="rest", condition="clean"))
    assert [t.data.alias for t in tasks] == [i["alias"] for i in wanted]
    assert all(t.data.prompt for t in tasks) and len({t.key for t in tasks}) == len(tasks)


def test_an_address_may_end_with_a_slash(server):
    (tools,) = SeatrialTask.toolsets(SeatrialTaskConfig(url=server.url + "/"))
    assert tools.config.url == server.url + "/mcp"
    tasks = [list(SeatrialTaskset(c)) for c in (
        SeatrialConfig(url=server.url + "/", style="rest"), SeatrialConfig(task=SeatrialTaskConfig(url=server.url + "/"), style="rest"))]
    assert tasks[0] and [t.key for t in tasks[0]] == [t.key for t in tasks[1]]


@pytest.mark.parametrize("declines", [False, True])
def test_rollouts(server, plans, model, declines, monkeypatch, tmp_path):
    if not (pathlib.Path(sys.executable).parent / "uv").exists():
        pytest.skip("verifiers starts its harness by uv, which is not installed")
    monkeypatch.chdir(tmp_path)
    Model.declines = declines
    Model.plans = {}
    instances = [i for i in server.client.instances(condition="clean", style="func", view="true")]
    for i in instances:
        Model.plans[i["view"]["messages"][0]["content"]] = plans[i["task"]]
    command = [
        pathlib.Path(sys.executable).parent / "vf-eval", "seatrial-verifiers", "--env.taskset.url", server.url, "--env.taskset.style",
        "func", "--env.taskset.condition", "clean", "--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess",
            "-m", "scripted", "--client.base-url", model,
        "--client.api-key-var", "SCRIPTED_KEY", "--no-push", "--no-rich", "-n", "8", "-o", "outputs", "--run.name", "one",
    ]
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(command, env={**os.environ, "SCRIPTED_KEY": "none", "PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    traces = [t for line in pathlib.Path("outputs/one/traces.jsonl").read_text().splitlines() for t in json.loads(line)["traces"]]
    assert len(traces) == 8
    for trace in traces:
        assert trace["ok"], trace["errors"]
        assert trace["rewards"]["success"]["score"] == (0.0 if declines else 1.0), trace
        assert trace["info"]["seatrial"]["grade"]["outcome"] == ("declined" if declines else "success")
