//! Deployments without the server, and with followers.

use std::process::Stdio;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::{NAMES, SETTINGS, deploy, follow, home, until_version};
use crate::code::start_with;
use crate::world::until;

#[tokio::test]
async fn what_a_command_takes_away_while_no_server_runs_is_taken_away_by_followers() {
    let (mut world, control) = start_with(&[], SETTINGS).await;
    for branch in ["gone", "lost"] {
        control.git(&["branch", branch]);
    }
    let staged = world.root().join("staging/environments/staged/manifests");
    std::fs::create_dir_all(&staged).unwrap();
    std::fs::write(staged.join("site.pp"), "").unwrap();
    deploy(&world, &json!({"deploy-all": true, "wait": true})).await;
    let all = json!({"commit-all": true});
    world
        .client
        .post("/file-sync/v1/commit", &all)
        .await
        .unwrap();
    let follower = follow(&world, NAMES[0]).await;
    let environments = home(&world, NAMES[0]).join("code/environments");
    let has = |name: &str| environments.join(name).exists();
    until("all is there", || async {
        ["production", "gone", "lost", "staged"]
            .into_iter()
            .all(has)
    })
    .await;

    control.git(&["branch", "--delete", "--force", "gone"]);
    control.commit(2);
    let mut local = world.command();
    local.current_dir(world.root()).stderr(Stdio::piped());
    local.args(["code", "deploy", "--all", "--local", "--r10k-config"]);
    local.args(["r10k.yaml", "--directory", "versions"]);
    // It waits until the server is stopped.
    let mut local = local.stdout(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(local.stderr.take().unwrap()).lines();
    let is_told = async {
        while let Some(line) = errors.next_line().await.unwrap() {
            if line.contains("a server deploys there until it is stopped") {
                return true;
            }
        }
        false
    };
    assert!(is_told.await);
    let server = world.server.take().unwrap();
    assert!(server.stop().await.unwrap().success());
    let told = local.wait_with_output().await.unwrap();
    let said = String::from_utf8(told.stdout).unwrap();
    assert!(told.status.success(), "{said}");
    assert!(
        said.contains("- gone: removed, since its branch is gone"),
        "{said}"
    );
    assert!(!said.contains("staged"), "another tool's stays: {said}");
    // A lost link does not count as a removed environment: followers keep it.
    let links = world.installation.code_dir().join("environments");
    std::fs::remove_file(links.join("lost")).unwrap();
    assert!(has("gone") && has("lost"));
    world.start_server().await;
    until("it is gone there, too", || async { !has("gone") }).await;
    until_version(&world, NAMES[0], 2).await;
    assert!(has("lost") && has("staged"));
    assert!(follower.stop().await.unwrap().success());
    world.stop().await;
}
