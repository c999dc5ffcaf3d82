// Tells `retake hook opencode` what happens: one JSON object on its standard input for each
// event, in the order of the events. Nothing that goes wrong here disturbs opencode; only a
// reply {"deny": reason} stops a tool, and the text of {"note": text} is told to the model.
import { spawn } from "node:child_process"

const PROGRAM = __PROGRAM__
const HOME = __HOME__
const PATIENCE_MS = 5000
const MOST_CHARS = 4 * 1024 * 1024
const MOST_REPLY_CHARS = 1024 * 1024
const MOST_WAITING = 256
// After so many events in a row that took too long, nothing is sent for a while.
const MOST_TIMEOUTS = 3
const PAUSE_MS = 60 * 1000

// opencode loads the copy for all projects and the one of the project: one of them is enough. Of
// the same copy, loaded again for a folder, the last one counts.
const owners = (globalThis[Symbol.for("retake.opencode")] ??= new Map())

export const Retake = async ({ client, directory, worktree }) => {
  if ((owners.get(directory)?.url ?? import.meta.url) !== import.meta.url) return {}
  const me = { url: import.meta.url }
  owners.set(directory, me)

  const parents = new Map()
  const failed = new Map()
  const models = new Map()
  // What the model should know of a call that goes on: it is told with the result.
  const notes = new Map()
  let last = Promise.resolve()
  let waiting = 0
  let timeouts = 0
  let quietUntil = 0

  const parsed = (text) => {
    try {
      return JSON.parse(text) ?? {}
    } catch {
      return {}
    }
  }

  const send = (text, limit) =>
    new Promise((done) => {
      let out = ""
      const env = HOME === null ? process.env : { ...process.env, RETAKE_HOME: HOME }
      const stdio = ["pipe", "pipe", "ignore"]
      const child = spawn(PROGRAM, ["hook", "opencode"], { cwd: directory, env, stdio })
      const stop = () => {
        out = ""
        child.stdout.destroy()
        child.kill("SIGKILL")
        done({})
      }
      limit.addEventListener("abort", stop)
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (data) => {
        out += data
        if (out.length > MOST_REPLY_CHARS) stop()
      })
      child.stdin.on("error", () => {})
      child.on("error", () => done({}))
      child.on("close", () => done(parsed(out)))
      child.stdin.end(text)
    })

  // Finds out what is to be told and sends it; the program is killed if that takes too long.
  const deliver = async (describe) => {
    if (Date.now() < quietUntil) return {}
    const limit = new AbortController()
    const work = async () => {
      const text = JSON.stringify(await describe())
      return limit.signal.aborted ? {} : send(text, limit.signal)
    }
    const reply = await within(PATIENCE_MS, work().catch(() => ({})))
    if (reply !== undefined) {
      timeouts = 0
      return reply
    }
    limit.abort()
    timeouts += 1
    if (timeouts >= MOST_TIMEOUTS) {
      timeouts = 0
      quietUntil = Date.now() + PAUSE_MS
    }
    return {}
  }

  // Events go one after the other; nobody waits longer than PATIENCE_MS for all before and its own.
  const tell = async (describe) => {
    if (owners.get(directory) !== me || waiting >= MOST_WAITING) return {}
    waiting += 1
    const mine = last.then(() => deliver(describe)).finally(() => (waiting -= 1))
    last = mine
    return (await within(PATIENCE_MS, mine)) ?? {}
  }

  // What a promise gives, or undefined if that takes too long.
  const within = async (ms, promise) => {
    let timer
    const limit = new Promise((done) => (timer = setTimeout(done, ms)))
    const result = await Promise.race([promise, limit])
    clearTimeout(timer)
    return result
  }

  const parent = async (id) => {
    if (!parents.has(id)) {
      const answer = await client.session.get({ path: { id } }).catch(() => undefined)
      if (!answer?.data) return undefined
      parents.set(id, answer.data.parentID)
    }
    return parents.get(id)
  }

  // A subagent has a session of its own, below the one that the person sees.
  const who = async (id) => {
    let root = id
    for (let depth = 0; depth < 16; depth++) {
      const above = await parent(root)
      if (!above) break
      root = above
    }
    if (root === id) return { session_id: id }
    return { session_id: root, agent_id: id, parent_id: parents.get(id) }
  }

  const about = async (name, id, rest) => ({
    hook_event_name: name,
    ...(await who(id)),
    directory,
    worktree,
    ...rest,
  })

  const messages = async (id) => {
    const answer = await client.session.messages({ path: { id } }).catch(() => undefined)
    const kept = []
    let room = MOST_CHARS
    for (const { info, parts } of (answer?.data ?? []).toReversed()) {
      const message = { info, parts: (parts ?? []).map(slim) }
      room -= JSON.stringify(message).length
      if (room < 0) break
      kept.unshift(message)
    }
    return kept
  }

  const slim = (part) => {
    if (part?.type === "file") return { ...part, url: undefined, source: undefined }
    if (part?.type !== "tool") return part
    // What a tool was told and what it answered was told by its own hooks.
    return { type: part.type, tool: part.tool, callID: part.callID }
  }

  const forget = (id) => {
    parents.delete(id)
    models.delete(id)
    for (const [call, session] of failed) if (session === id) failed.delete(call)
  }

  const onEvent = ({ type, properties }) => {
    const id = properties?.sessionID ?? properties?.info?.id
    if (type === "session.created" && id) {
      parents.set(id, properties.info?.parentID)
      return tell(() => about(type, id))
    }
    if (type === "session.deleted" && id) return tell(() => about(type, id)).then(() => forget(id))
    if (type === "session.idle" && id) {
      return tell(async () => {
        const event = await about(type, id)
        return event.agent_id ? event : { ...event, messages: await messages(id) }
      })
    }
    const part = type === "message.part.updated" ? properties?.part : undefined
    // A tool that fails has no `tool.execute.after`.
    if (part?.type === "tool" && part.state?.status === "error" && !failed.has(part.callID)) {
      notes.delete(part.callID)
      failed.set(part.callID, part.sessionID)
      return tell(() =>
        about("tool.error", part.sessionID, {
          call_id: part.callID,
          tool_name: part.tool,
          tool_input: part.state.input,
          ok: false,
          error: part.state.error,
        }),
      )
    }
  }

  // The frame of what the read tool showed: the file, its first line, and how it ended. The model
  // asks for it, or opencode itself does for a file that the person's message mentions.
  const frame = (text) => {
    const lines = text.split("\n")
    const end = lines.find((line) => line.startsWith("("))
    return [...lines.slice(0, 4), end].map((line) => line?.slice(0, 4096)).join("\n")
  }
  const frames = (texts) => texts.filter((text) => text?.startsWith?.("<path>")).map(frame)

  // Adds a text for the model to a message. opencode sorts the parts by their ids.
  const add = (parts, text) => {
    const last = parts?.at?.(-1)
    if (!last?.id || !Object.isExtensible(parts)) return
    const { sessionID, messageID } = last
    parts.push({ id: `${last.id}0`, sessionID, messageID, type: "text", text, synthetic: true })
  }

  const succeeded = (output) => {
    const exit = output?.metadata?.exit
    return !output?.isError && (typeof exit !== "number" || exit === 0)
  }

  return {
    event: async ({ event }) => {
      try {
        await onEvent(event)
      } catch {}
    },
    "chat.message": async (input, output) => {
      models.set(input?.sessionID, output?.message?.model?.modelID)
      const reply = await tell(() => {
        const said = (part) => part?.type === "text" && !part.synthetic
        const prompt = (output?.parts ?? []).filter(said).map((part) => part.text)
        const read = (output?.parts ?? []).filter((part) => part?.synthetic).map((part) => part.text)
        const message = { prompt: prompt.join("\n"), shown: frames(read) }
        return about("chat.message", input.sessionID, message)
      })
      if (typeof reply.note === "string") add(output?.parts, reply.note)
    },
    "tool.execute.before": async (input, output) => {
      const reply = await tell(() => {
        const call = { call_id: input.callID, tool_name: input.tool, tool_input: output?.args }
        const model = models.get(input.sessionID)
        return about("tool.execute.before", input.sessionID, { ...call, model })
      })
      if (typeof reply.deny === "string") throw new Error(reply.deny)
      if (typeof reply.note === "string") notes.set(input.callID, reply.note)
    },
    "tool.execute.after": async (input, output) => {
      const note = notes.get(input.callID)
      notes.delete(input.callID)
      await tell(() => {
        const call = { call_id: input.callID, tool_name: input.tool, tool_input: input.args }
        const shown = input.tool === "read" ? frames([output?.output]) : []
        const ended = { ok: succeeded(output), exit_code: output?.metadata?.exit }
        return about("tool.execute.after", input.sessionID, { ...call, ...ended, shown })
      })
      if (note === undefined || typeof output?.output !== "string") return
      if (!Object.isFrozen(output)) output.output += `\n\n${note}`
    },
    dispose: async () => {
      await within(PATIENCE_MS, last)
      if (owners.get(directory) === me) owners.delete(directory)
    },
  }
}
