//! `tutti-agent again`: exit codes, output, and the state directory that the installed Puppet names.

use crate::Node;
use std::os::unix::fs::PermissionsExt as _;

const STATE: &str = r#"{"format": 1, "boot_id": "another", "scopes": {"agent production": {
  "reruns": 1, "requests": {"again": {
    "delta": 0, "wait": 12.5, "max_runs": 10, "due": 1.5, "due_at": 1.5}}}}}"#;

fn again(node: &Node, arguments: &[&str]) -> (Option<i32>, String) {
    node.run(&[&["again"], arguments].concat())
}

#[test]
fn requests_are_listed_and_canceled_where_puppet_says() {
    let node = Node::new();
    // a Puppet with a state directory of its own
    let directory = node.path("state/again");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("state.json"), STATE).expect("a file");
    let puppet = node.path("puppet");
    let text = format!(
        "#!/bin/sh\n[ \"$*\" = 'config print --section agent statedir' ] && echo '{}'\n",
        node.path("state").display()
    );
    std::fs::write(&puppet, text).expect("a program");
    std::fs::set_permissions(&puppet, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    std::fs::create_dir(node.path("modules.d")).expect("a directory");
    let settings = format!("{{\"puppet_bin\": {:?}}}", puppet.display().to_string());
    node.write("modules.d/pxp-module-puppet.conf", &settings);
    let config = node.path("pxp-agent.conf");
    let more = format!(
        "modules-config-dir = {:?}\n",
        node.path("modules.d").display().to_string()
    );
    let text = std::fs::read_to_string(&config).expect("the configuration") + &more;
    std::fs::write(&config, text).expect("the configuration");
    let config = config.display().to_string();

    let (status, printed) = again(&node, &["list", "--config-file", &config]);
    assert_eq!(status, Some(0), "{printed}");
    assert!(
        printed.contains("agent production  again  now               2 of 10\n"),
        "{printed}"
    );
    let (status, printed) = again(&node, &["cancel", "other", "--config-file", &config]);
    assert_eq!(status, Some(1));
    assert_eq!(
        printed,
        "tutti-agent: no request has the key \"other\"; `tutti-agent again list` shows the requests\n"
    );
    let (status, printed) = again(&node, &["cancel", "--config-file", &config]);
    assert_eq!(
        (status, printed.as_str()),
        (Some(0), "canceled again (agent production)\n")
    );
    let (status, printed) = again(&node, &["cancel", "--config-file", &config]);
    assert_eq!(
        (status, printed.as_str()),
        (Some(0), "no rerun is requested\n")
    );

    std::fs::write(&puppet, "#!/bin/sh\nexit 3\n").expect("a program");
    let (status, printed) = again(&node, &["list", "--config-file", &config]);
    assert_eq!(status, Some(1));
    assert!(
        printed.contains("Puppet's state directory is not known"),
        "{printed}"
    );
    assert!(printed.contains("--statedir"), "{printed}");
}

#[test]
fn a_named_configuration_that_cannot_be_read_is_an_error() {
    let node = Node::new();
    node.write("broken.conf", "{ this is no configuration");
    let broken = node.path("broken.conf").display().to_string();
    for verb in ["list", "cancel"] {
        let (status, printed) = again(&node, &[verb, "--config-file", &broken]);
        assert_eq!(status, Some(1), "{printed}");
        assert!(printed.contains("broken.conf"), "{printed}");
    }
}

#[test]
fn a_damaged_state_is_named() {
    let node = Node::new();
    std::fs::create_dir(node.path("again")).expect("a directory");
    node.write("again/state.json", "garbage");
    let state = node.path("").display().to_string();
    for verb in ["list", "cancel"] {
        let (status, printed) = again(&node, &[verb, "--statedir", &state]);
        assert_eq!(status, Some(1), "{printed}");
        assert!(
            printed.contains("again/state.json is damaged: "),
            "{printed}"
        );
    }
}
