//! Real tasks on real agents: input methods, live output, large output, long actions, process
//! trees.

use std::process::Output;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::installation::Installation;
use testkit::service::Service;

struct Running {
    installation: Installation,
    client: Client,
    services: Vec<Service>,
}

async fn start(nodes: usize) -> Running {
    let installation = crate::installation("");
    let mut services = vec![installation.server().start().await.unwrap()];
    for index in 0..nodes {
        let name = format!("node{index}.test");
        let agent = installation
            .agent(&name, installation.broker_port(), "")
            .unwrap();
        services.push(agent.start().await.unwrap());
    }
    let client = Client::login(&installation).await.unwrap();
    client.connected(nodes).await.unwrap();
    Running {
        installation,
        client,
        services,
    }
}

impl Running {
    /// Runs a task on the first node and returns its result.
    async fn result(&self, task: &str, params: Value) -> Value {
        let run = self.run(task, params).await;
        run["result"].clone()
    }

    async fn run(&self, task: &str, params: Value) -> Value {
        let job = self
            .client
            .run_task(task, &["node0.test"], params)
            .await
            .unwrap();
        self.client.wait(job).await.unwrap();
        self.client.nodes(job).await.unwrap().remove(0)
    }

    /// Stops every program, each of which must exit with 0.
    async fn stop(self) {
        for service in self.services.into_iter().rev() {
            let log = service.log_text();
            let status = service.stop().await.unwrap();
            assert!(status.success(), "{status}; log:\n{log}");
        }
    }
}

fn shell(installation: &Installation, name: &str, metadata: &Value, script: &str) {
    let script = format!("#!/bin/sh\n{script}\n");
    installation
        .add_task(name, "init.sh", metadata, &script)
        .unwrap();
}

/// A44, A45, A46
#[tokio::test]
async fn every_input_method_brings_the_parameters() {
    let running = start(1).await;
    let parameters = json!({"text": {"type": "String"}, "list": {"type": "Array[Integer]"}});
    for method in ["stdin", "environment", "both"] {
        let metadata = json!({"input_method": method, "parameters": parameters});
        let module = format!("input_{method}");
        let script = "printf '{\"text\":\"%s\",\"list\":\"%s\",\"stdin\":%s}' \
                      \"$PT_text\" \"$PT_list\" \"$(cat | grep . || echo null)\"";
        shell(&running.installation, &module, &metadata, script);
        let params = json!({"text": "größe", "list": [1, 2]});
        let result = running.result(&module, params.clone()).await;
        let by_environment = method != "stdin";
        let text = if by_environment { "größe" } else { "" };
        assert_eq!(result["text"], json!(text), "{method}: {result}");
        if method == "environment" {
            assert_eq!(result["stdin"], Value::Null, "{result}");
        } else {
            assert_eq!(
                result["stdin"]["text"], params["text"],
                "{method}: {result}"
            );
            assert_eq!(
                result["stdin"]["list"], params["list"],
                "{method}: {result}"
            );
            assert_eq!(
                result["stdin"]["_task"],
                json!(module),
                "{method}: {result}"
            );
        }
    }
    running.stop().await;
}

/// A65
#[tokio::test]
async fn seventy_megabytes_of_output_end_well_and_are_said_to_be_cut() {
    let running = start(1).await;
    let metadata = json!({"input_method": "environment"});
    shell(
        &running.installation,
        "large",
        &metadata,
        "head -c 70000000 /dev/zero | tr '\\0' x",
    );
    let run = running.run("large", json!({})).await;
    assert_eq!(
        run["state"],
        json!("finished"),
        "{}",
        &run.to_string()[..500]
    );
    let output = run["result"]["_output"].as_str().unwrap();
    assert!(output.starts_with("xxx") && output.len() < 70_000_000);
    let said = run["result"]
        .as_object()
        .unwrap()
        .iter()
        .any(|(key, value)| key != "_output" && value.to_string().contains("70000000"));
    assert!(
        said,
        "nothing says how much there was: {:?}",
        run["result"].as_object().unwrap().keys()
    );
    running.stop().await;
}

#[tokio::test]
async fn a_forced_stop_leaves_no_process_behind() {
    let running = start(1).await;
    let metadata =
        json!({"input_method": "environment", "parameters": {"mark": {"type": "String"}}});
    // A child, a grandchild in a session of its own, and one that was double-forked.
    let script = "sleep 7901 & setsid sleep 7902 & (setsid sh -c 'sleep 7903 & wait' &) \n\
                  touch \"$PT_mark\"\nsleep 7900";
    shell(&running.installation, "forks", &metadata, script);
    let mark = running.installation.root().join("mark");
    let params = json!({"mark": mark});
    let job = running
        .client
        .run_task("forks", &["node0.test"], params)
        .await
        .unwrap();
    while !mark.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    // Double-forked processes may not have started yet.
    crate::world::until("four processes", || async {
        processes(&running.installation).len() == 4
    })
    .await;
    let stop = json!({"job": job.to_string(), "force": true});
    running
        .client
        .post("/orchestrator/v1/command/stop", &stop)
        .await
        .unwrap();
    let job = running.client.wait(job).await.unwrap();
    assert_eq!(job["state"], json!("stopped"), "{job}");
    assert_eq!(processes(&running.installation), Vec::<String>::new());
    running.stop().await;
}

/// A71, A73
#[tokio::test]
async fn a_task_goes_on_while_server_and_agent_are_killed_and_its_result_arrives() {
    let mut running = start(1).await;
    let metadata = json!({"input_method": "environment", "parameters": {
        "begun": {"type": "String"}, "end": {"type": "String"}}});
    let script =
        "touch \"$PT_begun\"\nwhile [ ! -e \"$PT_end\" ]; do sleep 0.05; done\necho survived";
    shell(&running.installation, "patient", &metadata, script);
    let (begun, end) = (
        running.installation.root().join("begun"),
        running.installation.root().join("end"),
    );
    let params = json!({"begun": begun, "end": end});
    let job = running
        .client
        .run_task("patient", &["node0.test"], params)
        .await
        .unwrap();
    while !begun.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for service in running.services.drain(..) {
        service.kill().await.unwrap();
    }
    std::fs::write(&end, "").unwrap();
    let port = running.installation.broker_port();
    let agent = running.installation.agent("node0.test", port, "").unwrap();
    running
        .services
        .push(running.installation.server().start().await.unwrap());
    running.services.push(agent.start().await.unwrap());
    running.client.wait(job).await.unwrap();
    let run = running.client.nodes(job).await.unwrap().remove(0);
    assert_eq!(run["state"], json!("finished"), "{run}");
    assert_eq!(run["result"]["_output"], json!("survived\n"), "{run}");
    running.stop().await;
}

#[tokio::test]
async fn the_client_shows_output_as_it_is_written_and_tells_by_its_exit_code() {
    let running = start(2).await;
    let metadata = json!({"input_method": "environment", "parameters": {
        "code": {"type": "Integer"}}});
    shell(
        &running.installation,
        "talk",
        &metadata,
        "echo hello; echo trouble >&2; exit $PT_code",
    );
    let good = tutti(&running, &["task", "run", "talk", "--all", "code=0"]).await;
    let text = String::from_utf8(good.stdout).unwrap();
    assert_eq!(good.status.code(), Some(0), "{text}");
    assert!(
        text.contains("node0.test") && text.contains("hello"),
        "{text}"
    );
    assert!(text.contains("2 of 2 nodes succeeded"), "{text}");
    let shown = tutti(&running, &["job", "show", "1"]).await;
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(
        text.contains("trouble"),
        "stderr of a good run is not shown: {text}"
    );
    let bad = tutti(
        &running,
        &["task", "run", "talk", "-n", "node0.test", "code=3"],
    )
    .await;
    let text = String::from_utf8(bad.stdout).unwrap();
    assert_eq!(bad.status.code(), Some(1), "{text}");
    let unknown = [
        "task",
        "run",
        "talk",
        "-n",
        "node0.test,absent.test",
        "code=0",
    ];
    let unknown = tutti(&running, &unknown).await;
    let text = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(unknown.status.code(), Some(2), "{text}");
    assert!(text.contains("no node is named `absent.test`"), "{text}");
    let wrong = tutti(
        &running,
        &["task", "run", "talk", "--all", "code=x", "other=1"],
    )
    .await;
    let text = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!(wrong.status.code(), Some(2), "{text}");
    assert!(
        text.contains("code") && text.contains("other"),
        "all mistakes at once: {text}"
    );
    running.stop().await;
}

/// The client with the token of its own login.
async fn tutti(running: &Running, arguments: &[&str]) -> Output {
    let root = running.installation.root();
    let command = |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_tutti"));
        command
            .args(arguments)
            .env(
                "TUTTI_SERVICE_URL",
                format!("https://localhost:{}", running.installation.api_port()),
            )
            .env(
                "TUTTI_CACERT",
                running.installation.ca_dir().join("ca_crt.pem"),
            )
            .env("TUTTI_TOKEN_FILE", root.join("token"));
        command
    };
    let password = running.installation.data_dir().join("admin-password");
    let login = [
        "login",
        "admin",
        "--password-file",
        password.to_str().unwrap(),
    ];
    let login = command(&login).output().await.unwrap();
    assert!(
        login.status.success(),
        "{}",
        String::from_utf8_lossy(&login.stderr)
    );
    command(arguments).output().await.unwrap()
}

/// Processes of the forking task, by their command lines: they carry unique numbers, and the
/// agent's environment names its own directory.
fn processes(installation: &Installation) -> Vec<String> {
    let root = installation.root().to_str().unwrap().as_bytes().to_vec();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(line) = std::fs::read(entry.path().join("cmdline")) else {
            continue;
        };
        let line = String::from_utf8_lossy(&line)
            .replace('\0', " ")
            .trim()
            .to_owned();
        let ours = || {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.windows(root.len()).any(|window| window == root)
        };
        if line.starts_with("sleep 790") && ours() {
            found.push(line);
        }
    }
    found
}
