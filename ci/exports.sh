#!/usr/bin/env bash
# Writes a run in every format of `seatrial export` and has each read by the readers of its own ecosystem: trajectories by
# Harbor's models, logs by Inspect, chats by Hugging Face's datasets. It needs Python with venv, and installs pinned versions from the
# package index into a temporary folder, or into SEATRIAL_READERS, which is kept. Where they cannot be installed it says
# so and checks nothing.
#
#   SEATRIAL=PROGRAM ci/exports.sh
set -euo pipefail

seatrial="${SEATRIAL:-seatrial}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
readers="${SEATRIAL_READERS:-$work/readers}"
unset SEATRIAL_READERS # the program refuses variables that it does not know

# Harbor's models need nothing of what Harbor needs but pydantic.
install() {
  python3 -m venv "$readers" &&
    "$readers/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.3 datasets==5.2.0 \
      inspect_ai==0.3.285 pandas==3.1.1 &&
    "$readers/bin/pip" install --quiet --disable-pip-version-check --no-deps --ignore-requires-python harbor==0.25.0
}
if [[ ! -e "$readers/done" ]]; then
  if ! install; then
    echo "The readers cannot be installed here: skipped." >&2
    exit 0
  fi
  touch "$readers/done"
fi

"$seatrial" build --corpus demo --limit 20 --style func --style rest --style sel --fault exec.timeout \
  --fault out.truncated --fault out.reordered --fault-limit 10 --seed 7 --out "$work/suite" >/dev/null
"$seatrial" run "$work/suite" --agent gold --agent blind --agent recover --trials 2 --out "$work/run" >/dev/null
for format in atif inspect openai trl trl-pairs; do
  "$seatrial" export "$work/run" --format "$format" --out "$work/$format" --json >"$work/$format.summary"
done
HF_HUB_OFFLINE=1 HF_HOME="$work/hf" "$readers/bin/python" - "$work" <<'PYTHON'
import json, pathlib, sys

import datasets
import inspect_ai.analysis
import inspect_ai.log
from harbor.models.trajectories.trajectory import Trajectory

work = pathlib.Path(sys.argv[1])
datasets.disable_progress_bars()
for name in ("atif", "inspect", "openai", "trl", "trl-pairs"):
    written = json.loads((work / f"{name}.summary").read_text())["written"]
    if name == "atif":
        files = list((work / name).rglob("*.json"))
        for file in files:
            Trajectory.model_validate_json(file.read_text())
        read = len(files)
    elif name == "inspect":
        read = 0
        for file in sorted((work / name).iterdir()):
            log = inspect_ai.log.read_eval_log(str(file))
            assert log.status == "success" and log.results.total_samples == len(log.samples), file
            assert len(inspect_ai.log.read_eval_log_sample_summaries(str(file))) == len(log.samples), file
            read += len(log.samples)
            for sample in log.samples:
                called = [c.id for m in sample.messages if m.role == "assistant" for c in m.tool_calls or []]
                assert called == [e.id for e in sample.events if e.event == "tool"], sample.id
        folder = str(work / name)
        assert len(inspect_ai.analysis.samples_df(folder)) == read
        assert len(inspect_ai.analysis.evals_df(folder)) == 3
        assert len(inspect_ai.analysis.messages_df(folder)) > read < len(inspect_ai.analysis.events_df(folder))
    else:
        rows = datasets.load_dataset("json", data_files=str(work / name), split="train")
        read = len(rows)
        columns = {"prompt", "chosen", "rejected"} if name == "trl-pairs" else {"messages"}
        assert columns <= set(rows.column_names), rows.column_names
        for row in rows:  # every list of messages has its roles, and calls and tools are JSON
            for column in columns:
                for message in row[column]:
                    assert message["role"] in ("system", "user", "assistant", "tool"), message
                    for call in message.get("tool_calls") or []:
                        assert isinstance(json.loads(call["function"]["arguments"]), dict), call
            if isinstance(row["tools"], str):
                json.loads(row["tools"])
    assert read == written > 0, f"{name}: {read} read, {written} written"
    print(f"{name}: {read} records read")
PYTHON
