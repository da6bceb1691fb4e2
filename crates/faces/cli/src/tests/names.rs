//! Puppet Enterprise's names: each takes its own flags, and is the same verb.

use clap::{CommandFactory as _, Parser as _};

use super::Arguments;
use super::fake::Fake;
use crate::program_name::{self, TOOLS};
use serde_json::json;

/// As a script of Puppet Enterprise has them.
const LINES: &[&str] = &[
    "puppet-access login anna --lifetime 4h --print -t /t --ca-cert /ca -c /conf --debug \
     --service-url https://c:4433/rbac-api",
    "puppet-access show --token-path /t",
    "puppet-access delete-token-file --token-path /t",
    "puppet-job run --nodes a,b --noop -e production --no-enforce-environment --description x \
     --concurrency 5",
    "puppet-job run -q nodes{} --no-noop",
    "puppet-job run --query @file --environment production",
    "puppet-job run --node-group 0e6d1f9c-1111-4222-8333-444455556666",
    "puppet-job run -a App[x]",
    "puppet-job plan -n a",
    "puppet-job show",
    "puppet-job show 81",
    "puppet-job list",
    "puppet-job stop 81",
    "puppet-task run package name=openssl action=status -n a --noop -e production",
    "puppet-task run package --params {} --query nodes{} --description x --format json",
    "puppet-task run package --params @file --node-group x --concurrency 5",
    "puppet-task show",
    "puppet-task show --all -e test",
    "puppet-task show package --format json",
    "puppet-plan run deploy a=1 --params {} -e test --description x",
    "puppet-plan run deploy --user anna -e test",
    "puppet-plan show --all",
    "puppet-plan show deploy",
    "puppet-query nodes{} --urls https://p:8081 --cacert /ca --cert /c --key /k --token /t",
    "puppet-code deploy production --wait --dry-run --format json -t /t --service-url https://s",
    "puppet-code deploy --all",
    "puppet-code deploy --dry-run",
    "puppet-code status",
    "puppet-code print-config",
    "puppet-db status --urls https://p:8081",
    "puppet-db export archive.tgz",
    "puppet-db import archive.tgz",
    "puppet-app show",
    "puppet-app show App[x] -e test",
    "puppet-app plan Lamp --multi-pass",
    "puppet-app run Lamp[a] --noop --concurrency 2 -y",
];

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn the_flags_of_puppet_enterprise_are_taken() {
    for line in LINES {
        let (_, read) = program_name::detect_program_name(words(line).into_iter().map(Into::into));
        if let Err(error) = Arguments::try_parse_from(read) {
            panic!("{line}\n{error}");
        }
    }
    for tool in TOOLS {
        let name = format!("puppet-{tool} ");
        assert!(
            LINES.iter().any(|line| line.starts_with(&name)),
            "{tool} is not tried"
        );
        assert!(
            Arguments::command().find_subcommand(tool).is_some(),
            "{tool} is no verb"
        );
    }
}

#[test]
fn wrong_usage_is_refused_under_the_name_that_was_called() {
    for line in [
        "puppet-job run",
        "puppet-job run -n a -q b",
        "puppet-job run -n a --noop --no-noop",
        "puppet-job run -n a --node-group b",
        "puppet-job fly",
        "puppet-task run",
        "puppet-query",
        "puppet-query nodes{} --cert /c",
    ] {
        let (_, read) = program_name::detect_program_name(words(line).into_iter().map(Into::into));
        let error = Arguments::try_parse_from(read).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
        let text = error.to_string();
        assert!(text.contains("Usage: puppet "), "{line}\n{text}");
    }
}

#[tokio::test]
async fn a_plan_that_the_server_does_not_have_is_its_answer() {
    let fake = Fake::start(Vec::new()).await;
    for line in [
        "puppet-plan run deploy a=1",
        "puppet-plan show deploy",
        "puppet-plan events 7",
    ] {
        let ran = fake.run(&words(line)).await;
        assert_eq!((ran.code, ran.printed.as_str()), (2, ""), "{line}");
        assert!(
            ran.error.contains("test/unknown, HTTP 404"),
            "{}",
            ran.error
        );
    }
}

#[tokio::test]
async fn a_job_has_the_lines_that_scripts_look_for() {
    let fake = Fake::start(super::jobs::all_well()).await;
    let ran = fake.run(&words("puppet-job run -n web1,web2")).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    for line in [
        "Starting deployment ...",
        "New job ID: 81",
        "Nodes: 2",
        "Started puppet run on web1 ...",
        "Job completed. 2/2 nodes succeeded.",
        "Duration: 9 sec",
    ] {
        assert!(
            ran.printed.lines().any(|printed| printed == line),
            "{line}: {}",
            ran.printed
        );
    }
    let fake = Fake::start(super::jobs::one_errored()).await;
    let ran = fake.run(&words("puppet-job run -n web1,web2")).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    let line = "Job failed. 1 node failed, 0 nodes skipped, 1 node succeeded.";
    assert!(
        ran.printed.lines().any(|printed| printed == line),
        "{}",
        ran.printed
    );
}

#[tokio::test]
async fn a_task_has_the_lines_that_scripts_look_for() {
    let result = json!({"status": "installed", "_output": "one\ntwo\n"});
    let fake = Fake::start(super::actions::answers("task", "finished", result)).await;
    let ran = fake.run(&words("puppet-task run package -n web1")).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    insta::assert_snapshot!(ran.printed);
}

#[tokio::test]
async fn a_dry_run_without_an_environment_is_of_all_and_prints_the_list() {
    let deploys = json!([{"environment": "production", "id": 3, "status": "new"}]);
    let fake = Fake::start(vec![("POST /code-manager/v1/deploys", 200, deploys)]).await;
    let ran = fake.run(&words("puppet-code deploy --dry-run")).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    for line in [
        "\"environment\": \"production\",",
        "\"id\": 3,",
        "\"status\": \"new\"",
    ] {
        let is_there = ran.printed.lines().any(|printed| printed.trim() == line);
        assert!(is_there, "{line}: {}", ran.printed);
    }
    let asked = &fake.asked()[0].body;
    assert_eq!(
        (&asked["deploy-all"], &asked["dry-run"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        asked["wait"], false,
        "puppet-code waits only if it is told to"
    );
}

#[tokio::test]
async fn an_application_needs_an_environment() {
    let fake = Fake::start(Vec::new()).await;
    for line in [
        "puppet-app show",
        "tutti app plan Lamp",
        "tutti app run Lamp --yes",
        "tutti job plan --application Lamp",
    ] {
        let ran = fake.run(&words(line)).await;
        assert_eq!(ran.code, 2, "{line}");
        let expected = "an application needs an environment; name it with --environment";
        assert_eq!(ran.error, expected, "{line}");
    }
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn instances_are_shown_as_puppet_enterprise_shows_them() {
    let component =
        |reference: &str, title: &str, node: &str, produces: &[&str], consumes: &[&str]| {
            json!({"type": reference, "title": title, "node": node, "produces": produces,
            "consumes": consumes})
        };
    let lamp = json!({"type": "Lamp", "title": "app1", "components": [
        component("Lamp::Mysql", "app1", "db1", &["Sql[app1]"], &[]),
        component("Lamp::Webapp", "app1-1", "web1", &[], &["Sql[app1]"]),
    ]});
    let other = json!({"type": "Other", "title": "x", "components": []});
    let path = "GET /orchestrator/v1/environments/test/instances";
    let fake = Fake::start(vec![(path, 200, json!({"items": [lamp, other]}))]).await;
    let ran = fake.run(&words("puppet-app show Lamp[app1] -e test")).await;
    assert_eq!(
        (ran.code, ran.printed.as_str()),
        (
            0,
            "Lamp[app1]\n    Lamp::Mysql[app1] => db1\n        + produces Sql[app1]\n    \
             Lamp::Webapp[app1-1] => web1\n          consumes Sql[app1]\n"
        )
    );
    let ran = fake.run(&words("puppet-app show Nope -e test")).await;
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("has no instance Nope"), "{}", ran.error);
}

#[tokio::test]
async fn a_plan_runs_as_another_user_whose_password_is_not_on_the_command_line() {
    let token = json!({"token": "of-anna"});
    let fake = Fake::start(vec![("POST /rbac-api/v1/auth/token", 200, token)]).await;
    let ran = fake
        .run(&words("puppet-plan run deploy --user anna --password x"))
        .await;
    assert_eq!((ran.code, ran.printed.as_str()), (2, ""), "{ran:?}");
    assert!(ran.error.contains("standard input"), "{}", ran.error);
    assert!(fake.asked().is_empty());
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        eprintln!("skipped: the password would be asked for at this terminal");
        return;
    }
    fake.run(&words("puppet-plan run deploy --user anna")).await;
    let asked = fake.asked();
    assert_eq!(asked[0].body["login"], "anna");
    assert_eq!(asked[1].token.as_deref(), Some("of-anna"));
}

#[tokio::test]
async fn puppet_db_tells_the_state_and_leaves_archives_to_puppetdb() {
    let services = json!({"puppetdb-status": {"state": "running"}});
    let fake = Fake::start(vec![("GET /status/v1/services", 200, services)]).await;
    let ran = fake.run(&words("puppet-db status")).await;
    assert!(ran.code == 0 && ran.printed.contains("running"), "{ran:?}");
    let ran = fake.run(&words("puppet-db export x.tgz")).await;
    assert!(
        ran.code == 2 && ran.error.contains("puppetdb export x.tgz"),
        "{ran:?}"
    );
}
