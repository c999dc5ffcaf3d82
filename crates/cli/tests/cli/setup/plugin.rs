//! The plugin of opencode, run by Node, if that is there.

use super::*;

const DRIVER: &str = r#"
import { readFileSync, existsSync } from "node:fs"
const { Retake } = await import(process.argv[2])
const client = { session: { get: async () => ({}), messages: async () => ({}) } }
const load = () => Retake({ client, directory: process.cwd(), worktree: "/" })
const first = await load()
const plugin = await load()
const lines = () => (existsSync("seen") ? readFileSync("seen", "utf8").split("\n").length - 1 : 0)
// Of two that were loaded for a folder one is live.
await first["chat.message"]({ sessionID: "s" }, { parts: [] })
await plugin["chat.message"]({ sessionID: "s" }, { parts: [null, { type: "text", text: "hi" }] })
console.log("told", lines())
await plugin["chat.message"](null, null)
let denied = ""
await plugin["tool.execute.before"]({ sessionID: "s", tool: "deny" }, {}).catch((e) => (denied = e.message))
console.log("denied", denied)
// A note is told with the message, or with the result of the call.
const parts = [{ id: "prt_1", sessionID: "s", messageID: "m", type: "text", text: "note" }]
await plugin["chat.message"]({ sessionID: "s" }, { parts })
console.log(JSON.stringify(parts.at(-1)))
for (const output of [{ output: "done" }, Object.freeze({ output: "frozen" }), {}]) {
  await plugin["tool.execute.before"]({ sessionID: "s", tool: "note", callID: "c" }, {})
  await plugin["tool.execute.after"]({ sessionID: "s", tool: "note", callID: "c" }, output)
  console.log(JSON.stringify(output))
}
// A reply without end is cut, the program is killed.
await plugin["tool.execute.before"]({ sessionID: "s", tool: "flood" }, {})
// What hangs is killed as well, and after some of it no more payloads are sent.
for (let at = 0; at < 4; at++) await plugin["tool.execute.before"]({ sessionID: "s", tool: "hang" }, {})
const before = lines()
await plugin["chat.message"]({ sessionID: "s" }, { parts: [] })
console.log("quiet", lines() === before)
"#;

const PROGRAM: &str = r#"#!/bin/sh
input=$(cat)
echo "$input" >> seen
case $input in
*'"tool_name":"deny"'*) echo '{"deny":"no"}' ;;
*'.after"'*) ;;
*'"prompt":"note"'* | *'"tool_name":"note"'*) echo '{"note":"look"}' ;;
*'"tool_name":"flood"'*) exec yes ;;
*'"tool_name":"hang"'*) echo $$ >> pids; exec sleep 600 ;;
esac
"#;

#[test]
fn the_plugin_disturbs_nobody() {
    if Command::new("node").arg("--version").output().is_err() {
        assert!(std::env::var_os("RETAKE_REQUIRE_AGENTS").is_none(), "node is needed");
        eprintln!("NOT RUN: the plugin of opencode, for which node is needed");
        return;
    }
    let machine = Machine::new();
    machine.ok(&["setup", "-y", "opencode"]);
    let text = fs::read_to_string(machine.home(".config/opencode/plugins/retake.js")).unwrap();
    let place = machine.0.outer().join("node");
    fs::create_dir(&place).unwrap();
    let program = place.join("program");
    fs::write(&program, PROGRAM).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = text.replace(env!("CARGO_BIN_EXE_retake"), program.to_str().unwrap());
    let text = text.replace("PATIENCE_MS = 5000", "PATIENCE_MS = 1500");
    fs::write(place.join("plugin.mjs"), text).unwrap();
    fs::write(place.join("driver.mjs"), DRIVER).unwrap();
    let mut command = Command::new("node");
    command.arg("driver.mjs").arg(place.join("plugin.mjs")).current_dir(&place);
    let ran = ran(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    expect![[r#"
        told 1
        denied no
        {"id":"prt_10","sessionID":"s","messageID":"m","type":"text","text":"look","synthetic":true}
        {"output":"done\n\nlook"}
        {"output":"frozen"}
        {}
        quiet true
    "#]]
    .assert_eq(&ran.text());
    for pid in fs::read_to_string(place.join("pids")).unwrap().lines() {
        assert!(!Path::new("/proc").join(pid).exists(), "{pid} still runs");
    }
}
