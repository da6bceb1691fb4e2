//! The task that runs scripts on nodes whose agent is a pxp-agent, for scripts that cannot be
//! executed directly.

use std::io::Write as _;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const TASK: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../modules/bolt_shim/tasks/script.py"
);

/// The result of the task for a script.
fn run(script: &[u8]) -> Value {
    let mut python = Command::new("python3");
    python
        .args(["-B", TASK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = python.spawn().unwrap();
    let content = STANDARD.encode(script);
    let input = json!({"name": "clean.sh", "content": content, "arguments": ["a b"], "_task": "bolt_shim::script"});
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_script_without_an_interpreter_runs_by_sh_and_what_it_lacks_is_named() {
    let plain = run(b"echo \"for $1\"\n");
    assert_eq!(
        (&plain["exit_code"], &plain["stdout"]),
        (&json!(0), &json!("for a b\n"))
    );
    for (script, code, expected) in [
        (
            &b"#!/opt/absent/ruby\nputs 1\n"[..],
            127,
            "its interpreter /opt/absent/ruby is not on this node",
        ),
        (
            b"#!/usr/bin/env absent-ruby\n",
            127,
            "absent-ruby is not in the PATH of this node",
        ),
        (b"#!/bin/sh\r\necho\r\n", 127, "ends with a carriage return"),
        (
            b"#!/usr/bin/env sh\r\necho\r\n",
            127,
            "ends with a carriage return",
        ),
        (
            b"\x7fELF\x02\x01\x01\0\0\0\0\0",
            126,
            "built for another kind of machine",
        ),
        (b"\xef\xbb\xbf#!/usr/bin/python3\n", 126, "byte order mark"),
    ] {
        let result = run(script);
        assert_eq!(result["exit_code"], code, "{result}");
        let told = result["stderr"].as_str().unwrap();
        assert!(
            told.contains("cannot run clean.sh: ") && told.contains(expected),
            "{told}"
        );
    }
    let own = run(b"#!/usr/bin/env sh\nexit 127\n");
    assert_eq!(
        (&own["exit_code"], &own["stderr"]),
        (&json!(127), &json!(""))
    );
}
