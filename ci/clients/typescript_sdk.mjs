// The TypeScript SDK, with a loop like that of loop.py.
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"

const TURNS = 20
const SECONDS = 60 // for a job

const require = createRequire(process.env.MCP_CLIENTS + "/sdk/")
const load = (name) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/" + name)).href)
const { Client } = await load("client/index.js")
const { StdioClientTransport } = await load("client/stdio.js")
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js")

async function listTools(client) {
  const tools = []
  let cursor
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor })
    tools.push(...page.tools)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return tools
}

async function ask(job, messages, tools) {
  const body = { model: job.name, messages, tools: tools.map((t) => ({ type: "function", function: { name: t.name, parameters: t.inputSchema } })) }
  const response = await fetch(job.model + "/chat/completions", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })
  return (await response.json()).choices[0].message
}

async function play(job) {
  const transport = job.transport === "http"
    ? new StreamableHTTPClientTransport(new URL(job.url))
    : new StdioClientTransport({ command: job.command[0], args: job.command.slice(1), env: process.env })
  const client = new Client({ name: "trial", version: "1" })
  try {
    await client.connect(transport)
    const tools = await listTools(client)
    if (job.list) return tools.length
    const messages = [{ role: "user", content: "Meet the request." }]
    for (let turn = 0; turn < TURNS; turn++) {
      const message = await ask(job, messages, await listTools(client))
      messages.push(message)
      const wanted = message.tool_calls?.[0]
      if (!wanted) break
      let text
      try {
        const result = await client.callTool({ name: wanted.function.name, arguments: JSON.parse(wanted.function.arguments) })
        text = result.content[0].text
      } catch (error) {
        text = String(error) // the model sees every failure
      }
      messages.push({ role: "tool", tool_call_id: wanted.id, content: text })
    }
    return tools.length
  } finally {
    if (job.transport === "http") await transport.terminateSession().catch(() => {})
    await client.close()
  }
}

let input = ""
for await (const chunk of process.stdin) input += chunk
for (const job of JSON.parse(input)) {
  const report = { name: job.name }
  let timer
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error("the job took too long")), SECONDS * 1000) })
  try {
    report.tools = await Promise.race([play(job), late])
  } catch (error) {
    report.error = String(error)
  }
  clearTimeout(timer)
  console.log(JSON.stringify(report))
}
process.exit(0)
