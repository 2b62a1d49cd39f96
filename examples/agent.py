"""An agent in twenty lines: it calls the tool whose description shares most words with the request, once."""
import json, os, re, sys, urllib.request

def send(path, body=None):
    headers = {"Authorization": "Bearer " + os.environ["SEATRIAL_TOKEN"], "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(os.environ["SEATRIAL_URL"] + path, data, headers)) as reply:
        return json.load(reply)

def words(text):
    return set(re.findall("[a-z]{3,}", text.lower()))

request = sys.stdin.read()
tool = max(send("/tools?limit=1000")["tools"], key=lambda t: len(words(request) & words(t["description"])))
numbers, names = re.findall(r"\d+", request), re.findall(r"(?<=[a-z] )[A-Z]\w*(?: [A-Z]\w*)*", request)
arguments = {}
for name, parameter in tool["parameters"].get("properties", {}).items():
    if parameter.get("type") in ("integer", "number"):
        arguments[name] = int(numbers.pop(0)) if numbers else 1
    else:
        arguments[name] = names.pop(0) if names else ""
result = send("/tools/" + tool["name"], arguments)
print(json.dumps({"answer": "$" + result["label"] + "$"}))  # the whole result of that call
