//! Runs that start Puppet only if it has work, with a real agent whose only Puppet server is this one.

use conformance::cli;
use serde_json::json;
use testkit::client::Client;
use testkit::peers::puppet_agent::PUPPET;

use crate::site::AgentSite;

const NODE: &str = "direct.test";

const MANIFEST: &str = r#"
file { 'TARGET': ensure => directory }
file { 'TARGET/plain': content => "RELEASE\n", mode => '0640', notify => Exec['restart'] }
file { 'TARGET/sourced': source => 'puppet:///modules/demo/sourced' }
file { 'TARGET/link': ensure => link, target => 'TARGET/plain' }
file { 'TARGET/tree': ensure => directory, recurse => true, purge => true, source => 'puppet:///modules/demo/tree' }
exec { 'restart': command => '/bin/sh -c "echo restarted >>TARGET/restarts"', refreshonly => true }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn puppet_is_started_only_if_it_has_work() {
    if !std::path::Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let site = AgentSite::start("").await;
    let deploy = |digit, release: &str| {
        let manifest = MANIFEST.replace("RELEASE", release);
        let files = [
            ("manifests/site.pp", manifest.as_str()),
            ("modules/demo/files/sourced", "sourced\n"),
            ("modules/demo/files/tree/sub/a", "a\n"),
        ];
        site.deploy("production", digit, &files);
    };
    deploy('a', "first");
    let installation = &site.installation;
    let client = Client::login(installation).await.unwrap();
    cli::keep_token(installation, &client).unwrap();
    let puppet = site.agent(NODE);
    let settings = json!({"puppet_bin": puppet.program(), "files": "native"});
    installation.puppet_settings(NODE, &settings).unwrap();
    let agent = installation.agent(NODE, installation.broker_port(), "");
    let agent = agent.unwrap().start().await.unwrap();
    client.connected(1).await.unwrap();
    let run = || async {
        let ran = cli::run(installation, &["job", "run", "-n", NODE])
            .await
            .unwrap();
        ran.expect(0, &[]);
        ran.text
    };
    let not_started = "Puppet is not started";

    let printed = run().await;
    assert!(
        printed.contains("no complete run of Puppet is known"),
        "{printed}"
    );
    let printed = run().await;
    assert!(printed.contains(not_started), "{printed}");
    assert!(printed.contains("(unchanged)"), "{printed}");

    // each kind of drift; Puppet repairs it, and what depends on it is refreshed
    let target = site.target();
    let restarts = || {
        std::fs::read_to_string(target.join("restarts"))
            .unwrap()
            .lines()
            .count()
    };
    let before = restarts();
    for (what, path) in [
        ("plain", "plain"),
        ("sourced", "sourced"),
        ("content", "tree/sub/a"),
    ] {
        std::fs::write(target.join(path), "drifted").unwrap();
        let printed = run().await;
        assert!(
            printed.contains("Puppet applies the last catalog"),
            "{what}: {printed}"
        );
        assert_ne!(site.read(path), "drifted", "{printed}");
        let printed = run().await;
        assert!(printed.contains(not_started), "{what}: {printed}");
    }
    assert_eq!(restarts(), before + 1);
    std::fs::write(target.join("tree/unknown"), "x").unwrap();
    std::fs::remove_file(target.join("link")).unwrap();
    let printed = run().await;
    assert!(
        printed.contains("Puppet applies the last catalog"),
        "{printed}"
    );
    assert!(!target.join("tree/unknown").exists());
    assert!(target.join("link").is_symlink());

    // another version, and a restart of the server
    deploy('b', "second");
    let printed = run().await;
    assert!(
        printed.contains("another version of the code is live"),
        "{printed}"
    );
    assert_eq!(site.read("plain"), "second\n");
    let printed = run().await;
    assert!(printed.contains(not_started), "{printed}");
    assert_eq!(site.compiled_catalogs(), 2);

    // the reports of all runs are here, also of those without Puppet
    let listed = cli::run(installation, &["report", "list"]).await.unwrap();
    assert_eq!(listed.text.matches(NODE).count(), 11, "{}", listed.text);
    agent.stop().await.unwrap();
    site.stop().await;
}
