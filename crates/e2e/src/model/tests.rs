//! The server over real connections: every wire, in one piece and streamed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

use super::ModelServer;
use crate::agent::AgentCli;
use crate::script::{ModelScript, shell};

fn server() -> ModelServer {
    let server = ModelServer::start();
    let script = ModelScript::new().step("I look.", [shell("ls")]).last_words("That is all.");
    server.add_script("look", Path::new("/project"), script);
    server
}

/// Sends a request and gives the whole response.
fn send(server: &ModelServer, agent: AgentCli, head: &str, body: &[u8]) -> String {
    let address = server.address(agent);
    let (host, folder) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (method, path) = head.split_once(' ').unwrap();
    let (path, headers) = path.split_once('\n').unwrap_or((path, "accept: */*"));
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} /{folder}{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\ncontent-length: {length}\r\n\r\n",
    )
    .unwrap();
    stream.write_all(body).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

fn post(server: &ModelServer, agent: AgentCli, path: &str, body: &Value) -> String {
    send(server, agent, &format!("POST {path}"), body.to_string().as_bytes())
}

/// The first answer has the step, both in one piece and streamed; the second has the last words.
#[track_caller]
fn check(agent: AgentCli, paths: [&str; 2], first: &Value, second: &Value, call: &str) {
    let server = server();
    for (path, stream) in [(paths[0], false), (paths[1], true)] {
        let ask = |body: &Value| {
            let mut body = body.clone();
            body["stream"] = stream.into();
            post(&server, agent, path, &body)
        };
        let (step, last) = (ask(first), ask(second));
        let kind = if stream { "text/event-stream" } else { "application/json" };
        assert!(step.contains(kind), "{step}");
        assert!(step.contains("I look.") && step.contains(call), "{step}");
        assert!(last.contains("That is all.") && !last.contains(call), "{last}\n{}", server.log());
    }
}

#[test]
fn anthropic() {
    let tools = json!([{ "name": "Bash" }]);
    let said = json!({ "role": "user", "content": [{ "type": "text", "text": "[script:look]" }] });
    let used = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_s0x0xlook" }] });
    let first = json!({ "model": "m", "tools": tools, "messages": [said] });
    let second = json!({ "model": "m", "tools": tools, "messages": [said, used] });
    check(AgentCli::ClaudeCode, ["/v1/messages"; 2], &first, &second, "toolu_s0x0xlook");
}

#[test]
fn responses() {
    let tools = json!([{ "type": "function", "name": "exec_command" }]);
    let said =
        json!({ "type": "message", "role": "user", "content": [{ "text": "[script:look]" }] });
    let used = json!({ "type": "function_call", "call_id": "call_s0x0xlook" });
    let first = json!({ "model": "m", "tools": tools, "input": [said] });
    let second = json!({ "model": "m", "tools": tools, "input": [said, used] });
    check(AgentCli::Codex, ["/v1/responses"; 2], &first, &second, "call_s0x0xlook");
}

#[test]
fn responses_in_code_mode() {
    let group = json!({ "type": "namespace", "tools": [{ "type": "custom", "name": "exec" }] });
    let tools = json!({ "type": "additional_tools", "tools": [group] });
    let said =
        json!({ "type": "agent_message", "content": [{ "encrypted_content": "[script:look]" }] });
    let used = json!({ "type": "custom_tool_call", "call_id": "call_s0x0xlook" });
    let first = json!({ "model": "m", "input": [tools, said] });
    let second = json!({ "model": "m", "input": [tools, said, used] });
    check(AgentCli::Codex, ["/v1/responses"; 2], &first, &second, "tools.exec_command(");
}

#[test]
fn chat() {
    let tools = json!([{ "type": "function", "function": { "name": "bash" } }]);
    let said = json!({ "role": "user", "content": "[script:look]" });
    let used = json!({ "role": "assistant", "tool_calls": [{ "id": "call_s0x0xlook" }] });
    let first = json!({ "model": "m", "tools": tools, "messages": [said] });
    let second = json!({ "model": "m", "tools": tools, "messages": [said, used] });
    check(AgentCli::Copilot, ["/v1/chat/completions"; 2], &first, &second, "call_s0x0xlook");
}

#[test]
fn gemini() {
    let tools = json!([{ "functionDeclarations": [{ "name": "run_shell_command" }] }]);
    let said = json!({ "role": "user", "parts": [{ "text": "[script:look]" }] });
    let used = json!({ "role": "model", "parts": [{ "functionCall": {} }] });
    let first = json!({ "tools": tools, "contents": [said] });
    let second = json!({ "tools": tools, "contents": [said, used] });
    let model = "/v1beta/models/m";
    let (whole, stream) =
        (format!("{model}:generateContent"), format!("{model}:streamGenerateContent?alt=sse"));
    check(AgentCli::Gemini, [&whole, &stream], &first, &second, "run_shell_command");
}

#[test]
fn a_test_can_ask_what_the_model_was_told() {
    let server = server();
    let said = json!({ "role": "user", "content": "[script:look]" });
    let used = json!({ "role": "assistant", "tool_calls": [{ "id": "call_s0x0xlook" }] });
    let result = json!({ "role": "tool", "tool_call_id": "call_s0x0xlook", "content": "a.txt" });
    let ask = |messages: &[&Value]| {
        let body = json!({ "tools": [{ "function": { "name": "bash" } }], "messages": messages });
        post(&server, AgentCli::Copilot, "/v1/chat/completions", &body);
    };
    ask(&[&said]);
    ask(&[&said, &used, &result]);
    assert!(server.new_texts_at("look", 0).contains("[script:look]"));
    let told = server.new_texts_at("look", 1);
    assert!(told.contains("a.txt") && !told.contains("[script:look]"), "{told}");
}

#[test]
fn what_is_no_part_of_a_script_is_answered_too() {
    let server = server();
    let title = json!({ "model": "m", "messages": [{ "role": "user", "content": "A title" }],
        "output_config": { "format": { "schema": { "type": "object",
            "properties": { "title": { "type": "string" } } } } } });
    let answer = post(&server, AgentCli::ClaudeCode, "/v1/messages", &title);
    assert!(answer.contains(r#"{\"title\":\"scripted\"}"#), "{answer}");
    let count = post(&server, AgentCli::ClaudeCode, "/v1/messages/count_tokens", &json!({}));
    assert!(count.contains("input_tokens"), "{count}");
    let models = send(&server, AgentCli::Codex, "GET /v1/models", b"");
    assert!(models.contains("gpt-5.5"), "{models}");
    assert!(send(&server, AgentCli::Codex, "HEAD /", b"").contains("200 OK"));
    assert!(send(&server, AgentCli::Codex, "GET /elsewhere", b"").contains("404 Not Found"));
}

#[test]
fn bodies_may_be_compressed() {
    let server = server();
    let body = json!({ "model": "m", "tools": [{ "name": "exec_command" }],
        "input": [{ "role": "user", "content": "[script:look]" }] })
    .to_string();
    let zstd = zstd::encode_all(body.as_bytes(), 0).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(body.as_bytes()).unwrap();
    for (name, bytes) in [("zstd", zstd), ("gzip", gzip.finish().unwrap())] {
        let head = format!("POST /v1/responses\ncontent-encoding: {name}");
        let answer = send(&server, AgentCli::Codex, &head, &bytes);
        assert!(answer.contains("call_s0x0xlook"), "{name}: {answer}");
    }
}
