//! Secrets stand nowhere but in what the agent gets.

use pxp::action::ActionResult;
use serde_json::json;

use crate::sim::Manner;
use crate::world::{World, at_once, params, quick, with_task};

const CANARY: &str = "canary-9b1f-hunter2";

fn files_with(dir: &std::path::Path, needle: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, needle));
        } else if memchr::memmem::find(&std::fs::read(&path).unwrap(), needle.as_bytes()).is_some()
        {
            found.push(path);
        }
    }
    found
}

#[tokio::test]
async fn a_secret_is_not_in_any_file_event_or_debug_text_and_survives_a_restart() {
    let mut world = World::with(quick()).await;
    let stdout = json!({"user": "root", "_sensitive": CANARY}).to_string();
    let result = ActionResult {
        stdout: Some(stdout),
        ..ActionResult::default()
    };
    let manner = Manner {
        held: true,
        result: Some(result),
        ..Manner::default()
    };
    let nodes = world.agents(2, &manner);
    let asked = with_task(at_once(1, &nodes), |task| {
        task.name = "test::typed".parse().unwrap();
        task.params = params(json!({"name": CANARY, "password": CANARY}));
        task.sensitive = vec!["name".to_owned()];
    });
    assert!(!format!("{asked:?}").contains(CANARY));
    let job = world.run(asked).await;
    world.executing(1).await;
    assert_eq!(
        files_with(world.dir.path(), CANARY),
        Vec::<std::path::PathBuf>::new()
    );
    assert!(!format!("{:?}", world.jobs()).contains(CANARY));
    world.kill().await;
    world.sim.let_go();
    world.start().await;
    world.over(job).await;

    assert_eq!(world.state(job).await, "finished");
    let sent = world.sim.seen_params();
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|params| params.input["password"] == CANARY));
    assert_eq!(
        files_with(world.dir.path(), CANARY),
        Vec::<std::path::PathBuf>::new()
    );

    let options = world.store.job(job).await.unwrap().unwrap().options;
    let options: serde_json::Value = serde_json::from_str(&options).unwrap();
    assert_eq!(options["params"]["password"], jobs::REDACTED);
    assert_eq!(options["sensitive"], json!(["password", "name"]));
    let run = world.runs(job).await.pop().unwrap();
    let kept = world.store.run_secrets(job, "", &run.certname).await;
    assert_eq!(kept.unwrap(), [], "no plan of this server asked for it");
    let result = run.result.unwrap();
    assert!(result.contains(jobs::REDACTED), "{result}");
}
