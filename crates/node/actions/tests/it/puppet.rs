//! Results of Puppet runs, with a scripted `puppet` for every outcome.

use std::os::unix::fs::PermissionsExt;

use pxp::action::{
    PuppetCause, PuppetErrorType, PuppetResourceStatus, PuppetResult, REPORTED_RERUNS,
    TransactionStatus,
};
use serde_json::json;

use super::puppet_fake::{Puppet, UUID, reports};

#[tokio::test]
async fn a_run_is_told_by_its_own_report() {
    let more = "metrics:\n  resources:\n    values:\n    - - total\n      - Total\n      - 7\n\
                resource_statuses:\n  File[/a]:\n    title: /a\n    resource_type: File\n    \
                changed: true\n    file: /site.pp\n    line: 3\n    events:\n    - property: ensure\n      \
                message: created\n      status: success\n";
    let agent = format!("echo applying; {}exit 2\n", reports("changed", more));
    let puppet = Puppet::start(&agent).await;
    // The report of another run, at the usual path.
    std::fs::write(puppet.home.join("last_run_report.yaml"), "old").unwrap();
    puppet.ask(&["--environment", "production", "--no-noop"]);
    let result = puppet.result().await;
    assert_eq!((result.status.as_str(), result.exitcode), ("changed", 0));
    assert_eq!((result.kind.as_str(), result.version), ("apply", 1));
    assert_eq!(result.transaction_uuid, UUID);
    assert_eq!(result.environment, "production");
    assert_eq!(result.configuration_version.as_deref(), Some("17"));
    assert_eq!(result.metrics["total"], 7);
    assert_eq!(result.detailed_exitcode, Some(2));
    assert_eq!((result.error_type, result.error), (None, None));
    let resource = &result.resources[0];
    assert_eq!(resource.status, PuppetResourceStatus::Changed);
    assert_eq!(resource.messages, ["ensure: created"]);
    let args = puppet.lines("args");
    let expected = [
        "agent",
        "--environment",
        "production",
        "--no-noop",
        "--onetime",
        "--no-daemonize",
        "--verbose",
        "--color",
        "false",
        "--job-id",
        "71",
        "--detailed-exitcodes",
        "--lastrunreport",
    ];
    assert_eq!(args[..expected.len()], expected);
    assert!(args[expected.len()].starts_with(puppet.node.config.spool_dir.to_str().unwrap()));
    let usual = std::fs::read_to_string(puppet.home.join("last_run_report.yaml")).unwrap();
    assert!(
        usual.contains(UUID),
        "others find the report where it always is"
    );
}

#[tokio::test]
async fn every_exit_code_of_a_finished_run_is_one() {
    for (code, status) in [
        (0, "unchanged"),
        (2, "changed"),
        (4, "failed"),
        (6, "failed"),
    ] {
        let puppet = Puppet::start(&format!("{}exit {code}\n", reports(status, ""))).await;
        let result = puppet.run().await;
        assert_eq!(
            (result.status.as_str(), result.exitcode),
            (status, 0),
            "{code}"
        );
        assert_eq!(result.detailed_exitcode, Some(code));
        assert_eq!(result.error_type, None, "{code}");
    }
}

#[tokio::test]
async fn puppet_is_asked_for_its_settings_once() {
    let puppet = Puppet::start(&format!("{}exit 0\n", reports("unchanged", ""))).await;
    for _ in 0..3 {
        assert_eq!(puppet.run().await.status, "unchanged");
    }
    assert_eq!(puppet.lines("asked").len(), 1);
    assert_eq!(puppet.lines("runs").len(), 3);
}

#[tokio::test]
async fn every_failure_has_its_cause_and_a_next_step() {
    let failed = |message: &str| {
        format!(
            "{}exit 1\n",
            reports(
                "failed",
                &format!("logs:\n- level: err\n  message: '{message}'\n")
            )
        )
    };
    let prints = |message: &str| format!("echo 'Error: {message}' >&2; exit 1\n");
    let compile = "Could not retrieve catalog from remote server: Error 500 on SERVER: boom";
    let environment =
        "Not using catalog because its environment does not match agent specified environment";
    let refused = "Failed to open TCP connection to p:8140 (Connection refused)";
    use PuppetErrorType as Type;
    for (agent, error_type, cause, says) in [
        (
            failed(compile),
            Type::AgentExitNonZero,
            PuppetCause::CatalogFailed,
            "boom",
        ),
        (
            failed(environment),
            Type::AgentExitNonZero,
            PuppetCause::EnvironmentMismatch,
            "classification",
        ),
        (
            failed("odd"),
            Type::AgentExitNonZero,
            PuppetCause::Other,
            "odd",
        ),
        (
            prints(refused),
            Type::AgentExitNonZero,
            PuppetCause::ServerUnreachable,
            "p:8140",
        ),
        (
            prints("certificate verify failed [x]"),
            Type::AgentExitNonZero,
            PuppetCause::Certificate,
            "sign",
        ),
        (
            prints("what is this"),
            Type::AgentExitNonZero,
            PuppetCause::Other,
            "what is this",
        ),
        (
            "exit 1\n".to_owned(),
            Type::AgentExitNonZero,
            PuppetCause::Other,
            "puppet agent --test",
        ),
        (
            "exit 0\n".to_owned(),
            Type::NoLastRunReport,
            PuppetCause::NoReport,
            "no report",
        ),
        (
            "kill -9 $$\n".to_owned(),
            Type::AgentExitNonZero,
            PuppetCause::Killed,
            "signal 9",
        ),
        (
            "echo '{' >$report; exit 2\n".to_owned(),
            Type::InvalidLastRunReport,
            PuppetCause::InvalidReport,
            "cannot be used",
        ),
        (
            format!("{}kill -15 $$\n", reports("failed", "")),
            Type::AgentExitNonZero,
            PuppetCause::Killed,
            "signal 15",
        ),
    ] {
        let puppet = Puppet::start(&agent).await;
        // Never taken for the report of this run.
        let other = reports("changed", "").replace("cat >$report <<'END'\n", "");
        std::fs::write(
            puppet.home.join("last_run_report.yaml"),
            other.replace("END\n", ""),
        )
        .unwrap();
        let id = puppet.begin().await;
        let result = puppet.result().await;
        assert_eq!(
            (result.error_type, result.cause),
            (Some(error_type), Some(cause)),
            "{agent}"
        );
        assert_ne!(result.status, "changed", "{agent}");
        assert!(
            result.error.as_deref().unwrap().contains(says),
            "{agent}: {:?}",
            result.error
        );
        let status = puppet.node.status(&id).await;
        assert_eq!(
            (status.status, status.exitcode),
            (TransactionStatus::Failure, Some(1)),
            "{agent}"
        );
        let told: PuppetResult = serde_json::from_str(&status.stdout.unwrap()).unwrap();
        assert_eq!(told, result, "a query tells the same");
    }
}

#[tokio::test]
async fn a_run_without_a_report_is_what_its_exit_code_proves() {
    for (code, status) in [(0, "unknown"), (2, "changed"), (4, "failed"), (6, "failed")] {
        let puppet = Puppet::start(&format!("exit {code}\n")).await;
        let result = puppet.run().await;
        assert_eq!(
            (result.status.as_str(), result.exitcode),
            (status, 0),
            "{code}"
        );
        assert_eq!(result.error_type, Some(PuppetErrorType::NoLastRunReport));
        assert_eq!(result.transaction_uuid, "unknown");
    }
}

#[tokio::test]
async fn a_disabled_agent_says_why() {
    let puppet = Puppet::start("echo 'Notice: Skipping run of Puppet configuration client; administratively disabled'; exit 1\n").await;
    std::fs::write(
        puppet.home.join("disabled.lock"),
        r#"{"disabled_message":"moving day"}"#,
    )
    .unwrap();
    for runs in [1, 1] {
        let result = puppet.run().await;
        assert_eq!(result.error_type, Some(PuppetErrorType::AgentDisabled));
        assert!(result.error.unwrap().contains("moving day"));
        // Known by now, so not tried again.
        assert_eq!(puppet.lines("runs").len(), runs);
    }
}

#[tokio::test]
async fn what_is_not_installed_or_not_configured_is_named() {
    let puppet = Puppet::start("exit 0\n").await;
    for (config, error_type, says) in [
        (
            json!({"puppet_bin": "/nonexistent/puppet"}),
            PuppetErrorType::NoPuppetBin,
            "/nonexistent/puppet",
        ),
        (
            json!({"puppet": 1}),
            PuppetErrorType::AgentFailedToStart,
            "pxp-module-puppet.conf",
        ),
        (
            json!("x"),
            PuppetErrorType::AgentFailedToStart,
            "puppet_bin",
        ),
    ] {
        puppet.configure(&config);
        let result = puppet.run().await;
        assert_eq!(
            (result.error_type, result.exitcode),
            (Some(error_type), -1),
            "{config}"
        );
        assert!(
            result.error.as_deref().unwrap().contains(says),
            "{:?}",
            result.error
        );
    }
    let script = puppet.home.join("broken");
    std::fs::write(&script, "#!/nonexistent/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    puppet.configure(&json!({ "puppet_bin": script }));
    let result = puppet.run().await;
    assert_eq!(result.error_type, Some(PuppetErrorType::AgentFailedToStart));
    assert!(puppet.lines("runs").is_empty());
}

#[tokio::test]
async fn flags_that_are_not_allowed_are_refused_before_anything_runs() {
    let puppet = Puppet::start("exit 0\n").await;
    for flags in [
        &["-t"][..],
        &["--noop", "-t"],
        &["--tags=x"],
        &["--server", "evil"],
    ] {
        puppet.ask(flags);
        let error = puppet.node.broker.error().await;
        assert!(
            error.starts_with("invalid input for blocking 'pxp-module-puppet run'"),
            "{error}"
        );
    }
    assert!(puppet.lines("runs").is_empty());
}

#[tokio::test]
async fn the_environment_is_clean_and_english() {
    let puppet = Puppet::start(&format!("{}exit 0\n", reports("unchanged", ""))).await;
    puppet.run().await;
    let variables = puppet.lines("env");
    assert!(variables.contains(&"LC_ALL=C.UTF-8".to_owned()));
    for variable in &variables {
        let name = variable.split('=').next().unwrap();
        let known = [
            "PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "PWD",
            "_", "OLDPWD", "SHLVL",
        ];
        assert!(known.contains(&name), "{name}");
    }
}

#[tokio::test]
async fn requests_to_run_again_are_returned_to_an_orchestrator_that_wants_them() {
    let requests = "[ -n \"$TUTTI_RERUN_REQUESTS\" ] && \
                    echo '{\"key\":\"peers\",\"delta_s\":120}' >>$TUTTI_RERUN_REQUESTS\n";
    let agent = format!("{requests}{}exit 2\n", reports("changed", ""));
    let puppet = Puppet::start(&agent).await;
    let told = async |env: serde_json::Value| {
        let params = json!({"flags": [], "env": env});
        puppet.node.blocking("pxp-module-puppet", "run", &params);
        let result = puppet.result().await;
        let reruns = result.reruns.into_iter();
        let reruns: Vec<_> = reruns.map(|it| (it.key, it.delta_s)).collect();
        (
            reruns,
            puppet
                .lines("env")
                .iter()
                .any(|it| it.starts_with("TUTTI_RERUN_REQUESTS=")),
        )
    };
    let wanted = json!([REPORTED_RERUNS]);
    assert_eq!(
        told(wanted).await,
        (vec![("peers".to_owned(), 120.0)], true)
    );
    for env in [json!([]), json!(["TUTTI_RERUNS=other", 7]), json!([["x"]])] {
        assert_eq!(told(env.clone()).await, (Vec::new(), false), "{env}");
    }
    // a run that was ended had requested one, too
    puppet.plays(&format!("{requests}echo 'Error: no server' >&2\nexit 1\n"));
    let (reruns, _) = told(json!([REPORTED_RERUNS])).await;
    assert_eq!(reruns.len(), 1);
}
