//! Nodes that really run commands and tasks, with `sh`. Main function: [`run`].

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use pxp::action::ActionResult;
use serde_json::{Map, Value};

/// Runs the requested command or task; `modules` has the files of tasks.
pub(crate) fn run(modules: &Path, what: &str, params: &Value) -> ActionResult {
    let mut command = Command::new("/bin/sh");
    let mut input = Map::new();
    match what {
        "task run" => {
            let name = params["task"].as_str().unwrap();
            let (module, task) = name.split_once("::").unwrap_or((name, "init"));
            command.arg(modules.join(format!("{module}/tasks/{task}.sh")));
            input = params["input"].as_object().unwrap().clone();
            for (key, value) in &input {
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                command.env(format!("PT_{key}"), text);
            }
        }
        "command run" | "command run_with" => {
            let env = params["env"].as_object().cloned().unwrap_or_default();
            let lines = [
                env.get("_TUTTI_LINE").unwrap_or(&Value::Null),
                &params["command"],
                &params["run"]["command"],
            ];
            let line = lines.into_iter().find_map(Value::as_str).unwrap();
            command.arg("-c").arg(line);
            for (key, value) in &env {
                command.env(key, value.as_str().unwrap());
            }
        }
        "script run" | "script run_with" => {
            let run = params.get("run").unwrap_or(params);
            let name = run["script"]["filename"].as_str().unwrap();
            command.arg(modules.join("cases/files").join(name));
            for argument in run["arguments"].as_array().unwrap() {
                command.arg(argument.as_str().unwrap());
            }
            for (key, value) in params["env"].as_object().into_iter().flatten() {
                command.env(key, value.as_str().unwrap());
            }
        }
        "file download" | "file place" => {
            command.args(["-c", "echo downloaded"]);
        }
        other => panic!("a node of this test has no {other}"),
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A task that does not read its input may have ended before.
    let _ = child
        .stdin
        .take()
        .unwrap()
        .write_all(Value::Object(input).to_string().as_bytes());
    let output = child.wait_with_output().unwrap();
    ActionResult {
        exitcode: output.status.code().unwrap().into(),
        stdout: Some(String::from_utf8(output.stdout).unwrap()),
        stderr: Some(String::from_utf8(output.stderr).unwrap()),
        ..ActionResult::default()
    }
}
