//! Clients as people have them, against the real server and agent.
#![cfg(test)]

use std::path::Path;

use serde_json::json;
use testkit::client::Client;
use testkit::installation::{Installation, Programs};
use tokio::process::Command;

const NODE: &str = "node1.test";

/// A client in Ruby, as the gem's documented calls are used.
#[tokio::test]
async fn a_ruby_script_runs_tasks_and_plans() {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    let programs = Programs::beside(built.join("tutti")).unwrap();
    let installation = Installation::new(programs, "").unwrap();
    let metadata = json!({"input_method": "environment",
                          "parameters": {"name": {"type": "String"}}});
    let script = "#!/bin/sh\n[ \"$PT_name\" = fail ] && exit 3\necho \"hello $PT_name\"\n";
    installation
        .add_task("greet", "init.sh", &metadata, script)
        .unwrap();
    let server = installation.server().start().await.unwrap();
    let client = Client::login(&installation).await.unwrap();
    let agent = installation.agent(NODE, installation.broker_port(), "");
    let agent = agent.unwrap().start().await.unwrap();
    client.connected(1).await.unwrap();

    let token = installation.root().join("token");
    std::fs::write(&token, client.token()).unwrap();
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("ruby/session.rb");
    let mut ruby = Command::new("ruby");
    ruby.arg(session)
        .arg(format!("https://localhost:{}", installation.api_port()))
        .arg(installation.ca_dir().join("ca_crt.pem"))
        .args([token.as_os_str(), NODE.as_ref()]);
    let output = ruby.kill_on_drop(true).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let erred = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{erred}");

    agent.stop().await.unwrap();
    server.stop().await.unwrap();
}
