"""Checks what a run recorded of agents that asked the scripted provider: check.py RUN"""

import json
import sqlite3
import sys

run = sqlite3.connect(sys.argv[1])
wrong = []


def check(name, got, want):
    if got != want:
        wrong.append(f"{name}: {got!r}, want {want!r}")


episodes = run.execute("SELECT id, agent, end, input_tokens, output_tokens, cached_tokens, cost_usd FROM episodes").fetchall()
check("episodes", len(episodes), 6)
for episode, agent, end, *counts, cost in episodes:
    check(agent + ": end", end, "answered")
    check(agent + ": tokens", counts, [200, 40, 20])
    check(agent + ": cost", round(cost, 9), 0.00028)
    turns = [json.loads(text) for (text,) in run.execute(
        "SELECT json FROM events WHERE episode = ? AND kind = 'turn' ORDER BY seq", [episode])]
    first, last = turns[0]["decision"], turns[-1]["decision"]
    check(agent + ": retries", first.get("retries"), ["rate limit (429): Slow down."])
    check(agent + ": model", first["model"], "scripted-2026")
    check(agent + ": requests", first["usage"]["requests"], 1)
    check(agent + ": reply", last["reply"], "The answer is 42.")
    account = json.loads(run.execute("SELECT json FROM accounts WHERE episode = ?", [episode]).fetchone()[0])
    check(agent + ": prompt", [m["role"] for m in account["asked"][0]], ["system", "tools", "user"])
    check(agent + ": result", [m["role"] for m in account["asked"][-1]], ["tool"])
print("\n".join(wrong))
sys.exit(bool(wrong))
