//! `tutti-agent lease`: exit codes, output, and the end of a lease by an administrator.

use crate::{Node, until};

const LEASE: &str = r#"{"lease": "0b2f6d70-2f3c-4c5c-8f0a-4ac5c3f3b9d1", "job": "12",
  "reason": "release of the shop", "requester": "pcp://tutti.example.com/server", "end": null}"#;

fn lease(node: &Node, arguments: &[&str]) -> (Option<i32>, String) {
    node.run(&[&["lease"], arguments].concat())
}

#[test]
fn a_lease_is_shown_and_released() {
    let node = Node::new();
    let config = node.path("pxp-agent.conf").display().to_string();
    let config = ["--config-file", &config];
    assert_eq!(lease(&node, &config), (Some(0), "no lease\n".to_owned()));
    std::fs::create_dir_all(node.path("spool/.lease")).expect("a directory");
    node.write("spool/.lease/lease.json", LEASE);

    let (status, printed) = lease(&node, &config);
    assert_eq!(status, Some(0), "{printed}");
    assert_eq!(
        printed,
        "lease    0b2f6d70-2f3c-4c5c-8f0a-4ac5c3f3b9d1\n\
         state    not held yet\n\
         job      12 of pcp://tutti.example.com/server\n\
         reason   release of the shop\n\
         until    it is released\n"
    );
    let spool = node.path("spool").display().to_string();
    let (_, json) = lease(&node, &["--spool-dir", &spool, "--format", "json"]);
    assert!(json.contains("\"state\": \"waiting\""), "{json}");

    let (status, printed) = lease(&node, &["release", "--spool-dir", &spool]);
    assert_eq!(
        (status, printed.as_str()),
        (Some(0), "released the lease of job 12\n")
    );
    for verb in [&["release"][..], &[]] {
        let arguments = [verb, &config].concat();
        assert_eq!(lease(&node, &arguments), (Some(0), "no lease\n".to_owned()));
    }
}

#[test]
fn an_agent_that_is_killed_leaves_the_lease_and_the_next_one_resumes_it() {
    let node = Node::new();
    let config = node.path("pxp-agent.conf").display().to_string();
    std::fs::create_dir_all(node.path("spool/.lease")).expect("a directory");
    node.write("spool/.lease/lease.json", LEASE);
    std::fs::create_dir(node.path("modules.d")).expect("a directory");
    node.write(
        "modules.d/pxp-module-puppet.conf",
        "{\"puppet_bin\": \"/nonexistent/puppet\"}",
    );
    let text = std::fs::read_to_string(&config).expect("the configuration");
    let modules = node.path("modules.d").display().to_string();
    let text = format!("{text}modules-config-dir = {modules:?}\n");
    std::fs::write(&config, text).expect("the configuration");

    // Without Puppet the lease holder can take nothing, and tells the reason.
    let first = node.start();
    let config = ["--config-file", &config];
    let refused = || {
        lease(&node, &config)
            .1
            .contains("cannot be held: Puppet is not installed")
    };
    until("the agent starts a lease holder", refused);
    // SIGKILL
    drop(first);
    let log = node.log().len();
    assert!(refused(), "the lease holder is left");
    let second = node.start();
    until("the next agent has started", || node.log().len() > log);
    assert!(refused());
    drop(second);
    let (_, printed) = lease(&node, &[&["release"][..], &config].concat());
    assert_eq!(printed, "released the lease of job 12\n");
    until("the lease holder ends", || {
        !node.path("spool/.lease/holder.json").exists()
    });
}

#[test]
fn what_cannot_be_read_is_named() {
    let node = Node::new();
    let spool = node.path("spool").display().to_string();
    std::fs::create_dir_all(node.path("spool/.lease")).expect("a directory");
    node.write("spool/.lease/lease.json", "garbage");
    node.write("broken.conf", "{ this is no configuration");
    let broken = node.path("broken.conf").display().to_string();
    for verb in [&["release"][..], &[]] {
        let (status, printed) = lease(&node, &[verb, &["--spool-dir", &spool]].concat());
        assert_eq!(status, Some(1), "{printed}");
        assert!(
            printed.contains(".lease/lease.json is damaged: "),
            "{printed}"
        );
        let (status, printed) = lease(&node, &[verb, &["--config-file", &broken]].concat());
        assert_eq!(status, Some(1), "{printed}");
        assert!(printed.contains("--spool-dir"), "{printed}");
        assert!(printed.contains("broken.conf"), "{printed}");
    }
}
