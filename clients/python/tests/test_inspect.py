"""The Inspect task: a scripted model plays plans in Inspect, and the score is Seatrial's grade."""

from __future__ import annotations

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")

from inspect_ai.model import ModelAPI, ModelOutput, get_model  # noqa: E402

from seatrial.inspect import suite as suite_task  # noqa: E402


@pytest.mark.parametrize("ending", ["submit", "text", "decline"])
def test_a_plan_in_inspect(server, plans, ending, tmp_path, monkeypatch):
    async def count(self, text):
        return len(text) // 4

    monkeypatch.setattr(ModelAPI, "count_text_tokens", count)  # Inspect's own fetches a table of tokens from the network
    instances = [i for i in server.client.instances(condition="clean", style="func") if len(plans[i["task"]]["calls"]) == 1]
    by_alias = {i["alias"]: plans[i["task"]] for i in instances}
    task = suite_task(url=server.url, agent="inspect-" + ending, style="func", condition="clean")
    task.dataset = task.dataset.filter(lambda sample: sample.id in by_alias)
    assert len(task.dataset) >= 5
    outputs = []
    for sample in task.dataset:
        call = by_alias[sample.id]["calls"][0]
        outputs.append(ModelOutput.for_tool_call("mockllm", call["tool"], call["arguments"]))
        if ending == "submit":
            outputs.append(ModelOutput.for_tool_call("mockllm", "submit_answer", {"answer": "$call_1$"}))
        elif ending == "decline":
            outputs.append(ModelOutput.for_tool_call("mockllm", "decline", {"reason": "no"}))
        else:
            outputs.append(ModelOutput.from_content("mockllm", "$call_1$"))
    log = inspect_ai.eval(
        task, model=get_model("mockllm/model", custom_outputs=outputs), log_dir=str(tmp_path), max_samples=1, display="none"
    )[0]
    assert log.status == "success", log.error
    wanted = 0.0 if ending == "decline" else 1.0
    assert log.results.scores[0].metrics["accuracy"].value == wanted
    for sample in log.samples:
        grade = sample.scores["graded"].metadata["seatrial"]
        assert grade["success"] == bool(wanted) and grade["calls"] == 1
        assert any(m.role == "tool" for m in sample.messages)
