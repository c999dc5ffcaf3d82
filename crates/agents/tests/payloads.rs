//! Every captured payload, and what is heard in it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use retake_agents::{AgentKind, parse_hook, sending_agent};

mod support;

fn check(agent: AgentKind, expected: &Expect) {
    let mut told = String::new();
    for payload in support::payloads(agent) {
        let heard = parse_hook(agent, Some(payload.event()), &payload.bytes).unwrap();
        let name = payload.name.trim_end_matches(".json");
        write!(told, "{name}: {:?}", heard.phase).unwrap();
        if heard.folder.as_deref() != Some("/home/dev/project") {
            write!(told, " folder={:?}", heard.folder).unwrap();
        }
        told.push('\n');
        for event in &heard.events {
            assert_eq!(event.kind.as_deref(), Some(agent.name()));
            writeln!(told, "  {}", support::line(event)).unwrap();
        }
        if let Some(place) = heard.transcript {
            let whose = place.agent.map(|id| format!(" of {id}")).unwrap_or_default();
            writeln!(told, "  at {}{whose}", place.path).unwrap();
        }
        if let Some(said) = heard.last_words {
            writeln!(told, "  said {said:?}").unwrap();
        }
        for said in &heard.conversation {
            writeln!(told, "  - {}", support::line(said)).unwrap();
        }
    }
    expected.assert_eq(&told);
}

#[test]
fn claude_code() {
    check(
        AgentKind::ClaudeCode,
        &expect![[r#"
            CwdChanged: Other
            FileChanged: Other
            PostToolBatch: Other
              tools_over 8a721139-1fba-46 #toolu_s0x0x8e86e
            PostToolUse.Agent: End
              tool_end 30c69717-1382-48 Agent #toolu_s0x1xc6de7 (description,prompt,subagent_type) ok=Some(true)
            PostToolUse.Bash: End
              tool_end 8a721139-1fba-46 Bash #toolu_s3x0xac000 (command,description) ok=Some(true)
            PostToolUse.Bash.subagent: End
              tool_end 30c69717-1382-48 agent=a346fa1e8b2be083 parent=main Bash #toolu_s1x0x8ee6b (command,description) ok=Some(true)
            PostToolUse.Edit: End
              tool_end 8a721139-1fba-46 Edit #toolu_s2x0x643b7 (file_path,new_string,old_string,replace_all) ok=Some(true)
            PostToolUse.Read: End
              tool_end 8a721139-1fba-46 Read #toolu_s1x0x3fadd (file_path) ok=Some(true) saw /home/dev/project/existing.txt
            PostToolUse.Read.part: End
              tool_end 1b156df5-afb4-46 Read #toolu_s0x0xe074f (file_path,limit,offset) ok=Some(true) saw /home/dev/project/big.txt:10-14
            PostToolUse.Write: End
              tool_end 8a721139-1fba-46 Write #toolu_s0x0x8e86e (content,file_path) ok=Some(true)
            PostToolUse.Write.subagent: End
              tool_end 30c69717-1382-48 agent=abd6428dd70fb898 parent=main Write #toolu_s0x0x1e32c (content,file_path) ok=Some(true)
            PostToolUse.mcp__probe__echo: End
              tool_end 21a77206-32f7-41 mcp__probe__echo #toolu_s0x0x650e5 (text) ok=Some(true)
            PostToolUseFailure.Bash: Other
              tool_end 30c69717-1382-48 Bash #toolu_s1x1x20063 (command,description) ok=Some(false) exit=3
            PreToolUse.Agent: Begin
              tool_begin 30c69717-1382-48 Agent #toolu_s0x1xc6de7 (description,prompt,subagent_type)
            PreToolUse.Bash: Begin
              tool_begin 8a721139-1fba-46 Bash #toolu_s3x0xac000 (command,description)
            PreToolUse.Bash.subagent: Begin
              tool_begin 30c69717-1382-48 agent=abd6428dd70fb898 parent=main Bash #toolu_s1x0xbf639 (command,description)
            PreToolUse.Edit: Begin
              tool_begin 8a721139-1fba-46 Edit #toolu_s2x0x643b7 (file_path,new_string,old_string,replace_all)
            PreToolUse.Read: Begin
              tool_begin 8a721139-1fba-46 Read #toolu_s1x0x3fadd (file_path)
            PreToolUse.Write: Begin
              tool_begin 8a721139-1fba-46 Write #toolu_s0x0x8e86e (content,file_path)
            PreToolUse.Write.subagent: Begin
              tool_begin 30c69717-1382-48 agent=a346fa1e8b2be083 parent=main Write #toolu_s0x0x3a8d7 (content,file_path)
            PreToolUse.mcp__probe__echo: Begin
              tool_begin 21a77206-32f7-41 mcp__probe__echo #toolu_s0x0x650e5 (text)
            SessionEnd: Other
              dialog_end 8a721139-1fba-46
              at /home/dev/.claude/projects/-home-dev-project/8a721139-1fba-46df-9f93-b50021aab146.jsonl
            SessionStart: Other
              dialog_start 8a721139-1fba-46
            SessionStart.resume: Other
              dialog_start 1584951a-744c-4a
            Stop: TurnEnd
              turn_end 8a721139-1fba-46 background=[]
              at /home/dev/.claude/projects/-home-dev-project/8a721139-1fba-46df-9f93-b50021aab146.jsonl
              said "All done: wrote, edited, ran a shell command, read."
            SubagentStart: Other
              dialog_start 30c69717-1382-48 agent=a346fa1e8b2be083 parent=main
            SubagentStop: Other
              turn_end 30c69717-1382-48 agent=a346fa1e8b2be083 parent=main background=["abd6428dd70fb898b", "bwv6j7z3u"]
              at /home/dev/.claude/projects/-home-dev-project/30c69717-1382-4815-9742-f767dde34b89/subagents/agent-a346fa1e8b2be083a.jsonl of a346fa1e8b2be083a
              said "sub2 finished"
            UserPromptSubmit: UserMessage
              user_message 8a721139-1fba-46 "do the thing"
              at /home/dev/.claude/projects/-home-dev-project/8a721139-1fba-46df-9f93-b50021aab146.jsonl
            UserPromptSubmit.mention: UserMessage
              user_message 1b156df5-afb4-46 "look at @existing.txt#L2-3." saw existing.txt:2-3
              at /home/dev/.claude/projects/-home-dev-project/1b156df5-afb4-46a6-873a-2092f23125cd.jsonl
        "#]],
    );
}

#[test]
fn codex() {
    check(
        AgentKind::Codex,
        &expect![[r#"
            Interrupt: Other
              turn_end 01a1e09e-c065-7e model=gpt-5.5 background=[]
              at /home/dev/.codex/sessions/2026/11/15/rollout-2026-11-15T19-11-02-01a1e09e-c065-7e83-b80b-050c90cd3636.jsonl
            PostToolUse.Bash.codemode: End
              tool_end 01a1e081-042e-72 model=gpt-6-sol Bash #exec-11037ca9-70 (command) ok=None
            PostToolUse.Bash: End
              tool_end 01a1e07c-eaa5-7f model=gpt-5.5 Bash #call_s2x0xad7dab (command) ok=None
            PostToolUse.Bash.subagent: End
              tool_end 01a1e080-760c-75 agent=01a1e080-77e7-79 parent=main model=gpt-5.5 Bash #call_s1x0xc865f9 (command) ok=None
            PostToolUse.apply_patch.codemode: End
              tool_end 01a1e081-042e-72 model=gpt-6-sol apply_patch #exec-bb93388e-da (command) ok=Some(true)
            PostToolUse.apply_patch: End
              tool_end 01a1e07c-eaa5-7f model=gpt-5.5 apply_patch #call_s0x0x0e4667 (command) ok=Some(true)
            PostToolUse.apply_patch.subagent: End
              tool_end 01a1e080-760c-75 agent=01a1e080-77e7-79 parent=main model=gpt-5.5 apply_patch #call_s0x0xbeb163 (command) ok=Some(true)
            PostToolUse.mcp__probe__echo: End
              tool_end 01a1e080-1bb5-79 model=gpt-5.5 mcp__probe__echo #call_s0x0xfa66e0 (text) ok=Some(true)
            PostToolUse.spawn_agent: End
              tool_end 01a1e080-760c-75 model=gpt-5.5 spawn_agent #call_s0x0x463d2d (message) ok=None
            PreToolUse.Bash.codemode: Begin
              tool_begin 01a1e081-042e-72 model=gpt-6-sol Bash #exec-11037ca9-70 (command)
            PreToolUse.Bash: Begin
              tool_begin 01a1e07c-eaa5-7f model=gpt-5.5 Bash #call_s2x0xad7dab (command)
            PreToolUse.Bash.subagent: Begin
              tool_begin 01a1e080-760c-75 agent=01a1e080-77e7-79 parent=main model=gpt-5.5 Bash #call_s1x0xc865f9 (command)
            PreToolUse.apply_patch.codemode: Begin
              tool_begin 01a1e081-042e-72 model=gpt-6-sol apply_patch #exec-bb93388e-da (command)
            PreToolUse.apply_patch: Begin
              tool_begin 01a1e07c-eaa5-7f model=gpt-5.5 apply_patch #call_s0x0x0e4667 (command)
            PreToolUse.apply_patch.subagent: Begin
              tool_begin 01a1e080-760c-75 agent=01a1e080-77e7-79 parent=main model=gpt-5.5 apply_patch #call_s0x0xbeb163 (command)
            PreToolUse.mcp__probe__echo: Begin
              tool_begin 01a1e080-1bb5-79 model=gpt-5.5 mcp__probe__echo #call_s0x0xfa66e0 (text)
            PreToolUse.spawn_agent: Begin
              tool_begin 01a1e080-760c-75 model=gpt-5.5 spawn_agent #call_s0x0x463d2d (message)
            SessionEnd.codemode: Other
              dialog_end 01a1e081-042e-72
              at /home/dev/.codex/sessions/2026/11/15/rollout-2026-11-15T18-38-34-01a1e081-042e-7292-8eb6-26789cc00193.jsonl
            SessionEnd: Other
              dialog_end 01a1e07c-eaa5-7f
              at /home/dev/.codex/sessions/2026/11/15/rollout-2026-11-15T18-34-05-01a1e07c-eaa5-7f13-988d-c01f46eec273.jsonl
            SessionStart.codemode: Other
              dialog_start 01a1e081-042e-72 model=gpt-6-sol
            SessionStart: Other
              dialog_start 01a1e07c-eaa5-7f model=gpt-5.5
            SessionStart.resume: Other
              dialog_start 01a1e081-c55a-74 model=gpt-5.5
            Stop.codemode: TurnEnd
              turn_end 01a1e081-042e-72 model=gpt-6-sol background=[]
              at /home/dev/.codex/sessions/2026/11/15/rollout-2026-11-15T18-38-34-01a1e081-042e-7292-8eb6-26789cc00193.jsonl
              said "All done: wrote, edited, ran a shell command, read."
            Stop: TurnEnd
              turn_end 01a1e07c-eaa5-7f model=gpt-5.5 background=[]
              at /home/dev/.codex/sessions/2026/11/15/rollout-2026-11-15T18-34-05-01a1e07c-eaa5-7f13-988d-c01f46eec273.jsonl
              said "All done: wrote, edited, ran a shell command, read."
            SubagentStart: Other
              dialog_start 01a1e080-760c-75 agent=01a1e080-77e7-79 parent=main model=gpt-5.5
            SubagentStop: Other
              turn_end 01a1e080-760c-75 agent=01a1e080-77e7-79 parent=main model=gpt-5.5 background=[]
              at /home/dev/.codex/sessions/2026/11/15/rollout-2026-11-15T18-37-58-01a1e080-77e7-79b3-a0f3-c1676dce2c98.jsonl of 01a1e080-77e7-79b3-a0f3-c1676dce2c98
              said "sub1 finished"
            UserPromptSubmit.codemode: UserMessage
              user_message 01a1e081-042e-72 model=gpt-6-sol "do the thing"
              at /home/dev/.codex/sessions/2026/11/15/rollout-2026-11-15T18-38-34-01a1e081-042e-7292-8eb6-26789cc00193.jsonl
            UserPromptSubmit: UserMessage
              user_message 01a1e07c-eaa5-7f model=gpt-5.5 "do the thing"
              at /home/dev/.codex/sessions/2026/11/15/rollout-2026-11-15T18-34-05-01a1e07c-eaa5-7f13-988d-c01f46eec273.jsonl
            notify.argv1.codemode: Other
            notify.argv1: Other
        "#]],
    );
}

#[test]
fn gemini() {
    check(
        AgentKind::Gemini,
        &expect![[r#"
            AfterAgent: TurnEnd
              turn_end 348f1794-ad11-47 background=[]
              at /home/dev/.gemini/tmp/g1/chats/session-2026-11-15T18-40-348f1794.jsonl
              said "I will write a new file.\nNow edit an existing file.\nNow a shell command.\nRead it back.\nAll done: wrote, edited, ran a shell command, read."
            AfterModel: Other
            AfterTool.invoke_agent: End
              tool_end c4597611-f105-49 invoke_agent (agent_name,prompt) ok=Some(true)
            AfterTool.mcp_probe_echo: End
              tool_end 7a83dfed-5b09-49 mcp_probe_echo (text) ok=Some(true)
            AfterTool.read_file: End
              tool_end 348f1794-ad11-47 read_file (file_path) ok=Some(true) saw /home/dev/project/existing.txt
            AfterTool.read_file.part: End
              tool_end c25402fa-fa6d-47 read_file (end_line,file_path,start_line) ok=Some(true) saw /home/dev/project/big.txt:10-14
            AfterTool.replace: End
              tool_end 348f1794-ad11-47 replace (file_path,instruction,new_string,old_string) ok=Some(true)
            AfterTool.run_shell_command: End
              tool_end 348f1794-ad11-47 run_shell_command (command,description) ok=Some(true)
            AfterTool.write_file: End
              tool_end 348f1794-ad11-47 write_file (content,file_path) ok=Some(true)
            BeforeAgent: UserMessage
              user_message 348f1794-ad11-47 "do the thing"
              at /home/dev/.gemini/tmp/g1/chats/session-2026-11-15T18-40-348f1794.jsonl
            BeforeAgent.mention: UserMessage
              user_message c25402fa-fa6d-47 "look at @existing.txt and ( @./README.md), mail a @b.de; @\"doomed.txt\"\n--- Content from referenced files ---\nContent from @./README.md:\n# ws\nContent from @existing.txt:\nline one\nline two\nline three\n--- End of content ---" saw ./README.md:1-1000 saw existing.txt:1-1000
              at /home/dev/.gemini/tmp/gemini/chats/session-2026-11-16T10-26-c25402fa.jsonl
            BeforeModel: Other
            BeforeTool.invoke_agent: Begin
              tool_begin c4597611-f105-49 invoke_agent (agent_name,prompt)
            BeforeTool.mcp_probe_echo: Begin
              tool_begin 7a83dfed-5b09-49 mcp_probe_echo (text)
            BeforeTool.read_file: Begin
              tool_begin 348f1794-ad11-47 read_file (file_path)
            BeforeTool.replace: Begin
              tool_begin 348f1794-ad11-47 replace (file_path,instruction,new_string,old_string)
            BeforeTool.run_shell_command: Begin
              tool_begin 348f1794-ad11-47 run_shell_command (command,description)
            BeforeTool.write_file: Begin
              tool_begin 348f1794-ad11-47 write_file (content,file_path)
            BeforeToolSelection: Other
            PreCompress: Other
            SessionEnd: Other
              dialog_end 348f1794-ad11-47
              at /home/dev/.gemini/tmp/g1/chats/session-2026-11-15T18-40-348f1794.jsonl
            SessionStart: Other
              dialog_start 348f1794-ad11-47
            SessionStart.resume: Other
              dialog_start 07e713ed-2adb-49
        "#]],
    );
}

#[test]
fn opencode() {
    check(
        AgentKind::Opencode,
        &expect![[r#"
            chat.message.file: UserMessage
              user_message ses_e1c1a1f50ffe "\"look at these\"" saw /home/dev/project/big.txt:1-825 saw /home/dev/project/existing.txt
            chat.message: UserMessage
              user_message ses_e1f78f2d6ffe "\"do the thing\""
            dispose: Other
            event.file.edited: Other
            event.file.watcher.updated: Other
            event.session.created: Other
              dialog_start ses_e1f78f2d6ffe
            event.session.idle: TurnEnd
              turn_end ses_e1f78f2d6ffe background=[]
            event.session.status: Other
            plugin.init: Other
            shell.env: Other
            tool.execute.after.apply_patch: End
              tool_end ses_e1f74305affe apply_patch #call_s0x0x81113a (patchText) ok=Some(true)
            tool.execute.after.bash: End
              tool_end ses_e1f78f2d6ffe bash #call_s2x0x4176d2 (command,description) ok=Some(true) exit=0
            tool.execute.after.edit: End
              tool_end ses_e1f78f2d6ffe edit #call_s1x0x94f562 (filePath,newString,oldString) ok=Some(true)
            tool.execute.after.probe_echo: End
              tool_end ses_e1f750457ffe probe_echo #call_s0x0x192c73 (text) ok=Some(true)
            tool.execute.after.read: End
              tool_end ses_e1f78f2d6ffe read #call_s3x0x15e053 (filePath) ok=Some(true) saw /home/dev/project/existing.txt
            tool.execute.after.read.part: End
              tool_end ses_e1c1a1f50ffe read #call_s0x0xc63d62 (filePath,limit,offset) ok=Some(true) saw /home/dev/project/big.txt:10-14
            tool.execute.after.task: End
              tool_end ses_e1f74acbcffe task #call_s0x0xb9f023 (description,prompt,subagent_type) ok=Some(true)
            tool.execute.after.write: End
              tool_end ses_e1f78f2d6ffe write #call_s0x0x9382b2 (content,filePath) ok=Some(true)
            tool.execute.before.apply_patch: Begin
              tool_begin ses_e1f74305affe apply_patch #call_s0x0x81113a (patchText)
            tool.execute.before.bash: Begin
              tool_begin ses_e1f78f2d6ffe bash #call_s2x0x4176d2 (command,description)
            tool.execute.before.edit: Begin
              tool_begin ses_e1f78f2d6ffe edit #call_s1x0x94f562 (filePath,newString,oldString)
            tool.execute.before.probe_echo: Begin
              tool_begin ses_e1f750457ffe probe_echo #call_s0x0x192c73 (text)
            tool.execute.before.read: Begin
              tool_begin ses_e1f78f2d6ffe read #call_s3x0x15e053 (filePath)
            tool.execute.before.task: Begin
              tool_begin ses_e1f74acbcffe task #call_s0x0xb9f023 (description,prompt,subagent_type)
            tool.execute.before.write: Begin
              tool_begin ses_e1f78f2d6ffe write #call_s0x0x9382b2 (content,filePath)
            wire.chat.message.file: UserMessage
              user_message ses_e1f74acbcffe "look at these" saw /home/dev/project/big.txt:1-825 saw /home/dev/project/existing.txt
            wire.chat.message: UserMessage
              user_message ses_e1f74acbcffe "do the thing"
            wire.chat.message.subagent: UserMessage
            wire.session.created.subagent: Other
              dialog_start ses_e1f74acbcffe agent=ses_e1f748cc2ffe parent=main
            wire.session.deleted: Other
              dialog_end ses_e1f74acbcffe
            wire.session.idle: TurnEnd
              turn_end ses_e1f74acbcffe background=[]
              - user_message ses_e1f74acbcffe index=0 "\"do the thing\""
              - assistant_message ses_e1f74acbcffe index=1 "delegate" #call_s0x0xb9f023 #call_s0x1x3a18e7
              - assistant_message ses_e1f74acbcffe index=2 "fail edit" #call_s1x0x8b4e76
              - assistant_message ses_e1f74acbcffe index=3 ""
            wire.session.idle.subagent: Other
              turn_end ses_e1f74acbcffe agent=ses_e1f748cc2ffe parent=main background=[]
              - user_message ses_e1f74acbcffe agent=ses_e1f748cc2ffe parent=main index=0 "@@script:sub1@@ go"
              - assistant_message ses_e1f74acbcffe agent=ses_e1f748cc2ffe parent=main index=1 "sub1 writes." #call_s0x0xd0a672
              - assistant_message ses_e1f74acbcffe agent=ses_e1f748cc2ffe parent=main index=2 "sub1 bash" #call_s1x0xe30c72
              - assistant_message ses_e1f74acbcffe agent=ses_e1f748cc2ffe parent=main index=3 "sub1 finished"
            wire.tool.error.subagent: End
              tool_end ses_e1f74acbcffe agent=ses_e1f748cc2ffe parent=main bash #call_1 (command) ok=Some(false)
            wire.tool.execute.after: End
              tool_end ses_e1f74acbcffe bash #call_1 (command) ok=Some(true)
            wire.tool.execute.before: Begin
              tool_begin ses_e1f74acbcffe bash #call_1 (command)
        "#]],
    );
}

#[test]
fn copilot() {
    check(
        AgentKind::Copilot,
        &expect![[r#"
            PreToolUse.Write.pascalcase-config: Begin
              tool_begin 8ae8894d-b151-47 create (file_text,path)
            agentStop: TurnEnd
              turn_end 3c6653f0-e79a-48 background=[]
              at /home/dev/.copilot/session-state/3c6653f0-e79a-4870-b98f-1a4626e94375/events.jsonl
            permissionRequest.bash: Other
            permissionRequest.edit: Other
            postToolUse.bash: End
              tool_end 3c6653f0-e79a-48 bash (command,description) ok=Some(true) exit=0
            postToolUse.create: End
              tool_end 3c6653f0-e79a-48 create (file_text,path) ok=Some(true)
            postToolUse.edit: End
              tool_end 3c6653f0-e79a-48 edit (new_str,old_str,path) ok=Some(true)
            postToolUse.view: End
              tool_end 3c6653f0-e79a-48 view (path) ok=Some(true)
            postToolUse.view.large: End
              tool_end d762b010-fc83-4e view (path) ok=Some(false)
            postToolUse.view.part: End
              tool_end d762b010-fc83-4e view (path,view_range) ok=Some(true)
            preToolUse.bash: Begin
              tool_begin 3c6653f0-e79a-48 bash (command,description)
            preToolUse.create: Begin
              tool_begin 3c6653f0-e79a-48 create (file_text,path)
            preToolUse.edit: Begin
              tool_begin 3c6653f0-e79a-48 edit (new_str,old_str,path)
            preToolUse.view: Begin
              tool_begin 3c6653f0-e79a-48 view (path)
            sessionEnd: Other
              dialog_end 3c6653f0-e79a-48
              at ~/.copilot/session-state/3c6653f0-e79a-4870-b98f-1a4626e94375/events.jsonl
            sessionStart: Other
            userPromptSubmitted: UserMessage
              user_message 3c6653f0-e79a-48 "do the thing"
              at ~/.copilot/session-state/3c6653f0-e79a-4870-b98f-1a4626e94375/events.jsonl
        "#]],
    );
}

#[test]
fn cline() {
    check(
        AgentKind::Cline,
        &expect![[r#"
            PostToolUse.editor: End
              tool_end 1794768870410_bm editor #call_s0x0x2f886c (new_text,path) ok=Some(true)
            PostToolUse.read_files: End
              tool_end 1794768870410_bm read_files #call_s3x0x16d74e (files) ok=Some(true) saw /home/dev/project/existing.txt
            PostToolUse.read_files.part: End
              tool_end 1794824802501_ys read_files #call_s0x0x8afce2 (files) ok=Some(true) saw /home/dev/project/big.txt:10-14
            PostToolUse.run_commands: End
              tool_end 1794768870410_bm run_commands #call_s2x0x136907 (commands) ok=Some(true)
            PreToolUse.editor: Begin
              tool_begin 1794768870410_bm editor #call_s0x0x2f886c (new_text,path)
            PreToolUse.read_files: Begin
              tool_begin 1794768870410_bm read_files #call_s3x0x16d74e (files)
            PreToolUse.run_commands: Begin
              tool_begin 1794768870410_bm run_commands #call_s2x0x136907 (commands)
            TaskComplete: TurnEnd
              turn_end 1794768870410_bm background=[]
              at ~/.cline/data/sessions/1794768870410_bm7ty/1794768870410_bm7ty.messages.json
              said "All done: wrote, edited, ran a shell command, read."
            TaskStart: UserMessage
              user_message 1794768870410_bm ""
              at ~/.cline/data/sessions/1794768870410_bm7ty/1794768870410_bm7ty.messages.json
        "#]],
    );
}

/// From its documentation, not captured.
#[test]
fn cursor() {
    check(
        AgentKind::Cursor,
        &expect![[r#"
            afterFileEdit: End
              tool_end conv-1 model=m edit_file (edits,file_path) ok=Some(true)
            afterShellExecution: End
              tool_end conv-1 model=m Shell (command) ok=None
            beforeMCPExecution: Begin
              tool_begin conv-1 model=m echo (text)
            beforeReadFile: Other
            beforeShellExecution: Begin
              tool_begin conv-1 model=m Shell (command,cwd)
            beforeSubmitPrompt: UserMessage
              user_message conv-1 model=m "do the thing"
            postToolUse: End
              tool_end conv-1 model=m Write #t1 (content,file_path) ok=Some(true)
            preToolUse: Begin
              tool_begin conv-1 model=m Write #t1 (content,file_path)
            sessionEnd: Other
              dialog_end conv-1 model=m
            sessionStart: Other
              dialog_start conv-1 model=m
            stop: TurnEnd
              turn_end conv-1 model=m background=[]
        "#]],
    );
}

/// What VS Code sends through the hooks of Claude Code and of Copilot CLI.
#[test]
fn copilot_vscode() {
    check(
        AgentKind::CopilotVscode,
        &expect![[r#"
            PostToolUse.apply_patch: End
              tool_end 7f3c1a52-0d6e-4b apply_patch #call_4__vscode-4 (explanation,input) ok=Some(true)
            PostToolUse.create_file: End
              tool_end 7f3c1a52-0d6e-4b create_file #call_1__vscode-1 (content,filePath) ok=Some(true)
            PostToolUse.insert_edit_into_file: End
              tool_end 7f3c1a52-0d6e-4b insert_edit_into_file #call_5__vscode-5 (code,explanation,filePath) ok=Some(true)
            PostToolUse.multi_replace_string_in_file: End
              tool_end 7f3c1a52-0d6e-4b multi_replace_string_in_file #call_3__vscode-3 (explanation,replacements) ok=Some(true)
            PostToolUse.read_file: End
              tool_end 7f3c1a52-0d6e-4b read_file #call_7__vscode-7 (endLine,filePath,startLine) ok=Some(true)
            PostToolUse.replace_string_in_file: End
              tool_end 7f3c1a52-0d6e-4b replace_string_in_file #call_2__vscode-2 (filePath,newString,oldString) ok=Some(true)
            PostToolUse.run_in_terminal: End
              tool_end 7f3c1a52-0d6e-4b run_in_terminal #call_6__vscode-6 (command,explanation,goal,isBackground,timeout) ok=Some(true)
            PreCompact: Other
            PreToolUse.apply_patch: Begin
              tool_begin 7f3c1a52-0d6e-4b apply_patch #call_4__vscode-4 (explanation,input)
            PreToolUse.create_file.early: Begin
              tool_begin 7f3c1a52-0d6e-4b create_file #call_8__vscode-8 (content,filePath)
            PreToolUse.create_file: Begin
              tool_begin 7f3c1a52-0d6e-4b create_file #call_1__vscode-1 (content,filePath)
            PreToolUse.insert_edit_into_file: Begin
              tool_begin 7f3c1a52-0d6e-4b insert_edit_into_file #call_5__vscode-5 (code,explanation,filePath)
            PreToolUse.multi_replace_string_in_file: Begin
              tool_begin 7f3c1a52-0d6e-4b multi_replace_string_in_file #call_3__vscode-3 (explanation,replacements)
            PreToolUse.read_file: Begin
              tool_begin 7f3c1a52-0d6e-4b read_file #call_7__vscode-7 (endLine,filePath,startLine)
            PreToolUse.replace_string_in_file: Begin
              tool_begin 7f3c1a52-0d6e-4b replace_string_in_file #call_2__vscode-2 (filePath,newString,oldString)
            PreToolUse.run_in_terminal: Begin
              tool_begin 7f3c1a52-0d6e-4b run_in_terminal #call_6__vscode-6 (command,explanation,goal,isBackground,timeout)
            SessionStart: Other
            Stop: TurnEnd
              turn_end 7f3c1a52-0d6e-4b background=[]
            SubagentStart: Other
              dialog_start 7f3c1a52-0d6e-4b agent=subagent-1 parent=main
            SubagentStop: Other
              turn_end 7f3c1a52-0d6e-4b agent=subagent-1 parent=main background=[]
            UserPromptSubmit: UserMessage
              user_message 7f3c1a52-0d6e-4b "do the thing"
        "#]],
    );
}

/// Each payload is its own agent's, whichever hook it came through.
#[test]
fn payloads_are_told_apart_by_their_senders() {
    for agent in [AgentKind::ClaudeCode, AgentKind::Copilot] {
        for payload in support::payloads(agent) {
            assert_eq!(sending_agent(agent, &payload.bytes), agent, "{}", payload.name);
        }
        for payload in support::payloads(AgentKind::CopilotVscode) {
            let sender = sending_agent(agent, &payload.bytes);
            assert_eq!(sender, AgentKind::CopilotVscode, "{} as {agent}", payload.name);
        }
    }
}
