//! Valid configurations, and the messages about invalid ones.

use std::path::{Path, PathBuf};

use convergence::RerunLimits;
use convergence::defaults::{RERUN_LIMIT_MAX, RERUN_LIMITS};

use super::sections::NODE_TIMEOUT_MAX_S;
use super::*;

fn read(text: &str) -> Result<Config, ConfigError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tutti.toml");
    std::fs::write(&path, text).unwrap();
    Config::read(&path)
}

#[test]
fn mistakes_are_told_in_plain_words_with_their_place() {
    for (text, part) in [
        (
            "certname = 'a'\ntask_concurency = 3",
            "unknown key \"task_concurency\"; the keys here are",
        ),
        (
            "certname = 3",
            "certname: must be a string, not the number 3 (line 1, column 12)",
        ),
        ("", "the key \"certname\" is missing"),
        (
            "certname = 'a'\n[puppetdb]\nserver_urls = ['https://p']\nforward = false\ncapabilities = true",
            "puppetdb.capabilities needs puppetdb.forward",
        ),
        (
            "certname = 'a'\n[api]\nlisten = 8143",
            "api.listen: must be",
        ),
        (
            "certname = 'a'\n[jobs]\ntask_concurrency = 'many'",
            "task_concurrency: must be a whole number",
        ),
        (
            "certname = a",
            "not TOML: write a value here; strings stand in quotes (line 1, column 12)",
        ),
        (
            "certname = 'a'\n[api",
            "not TOML: close the name of the section with ]",
        ),
    ] {
        let message = read(text).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
        let wording = decode_errors::LIBRARY_WORDING;
        assert!(
            !wording.iter().any(|part| message.contains(part)),
            "{message}"
        );
    }
}

#[test]
fn one_line_is_a_whole_configuration() {
    let config = read("certname = 'server.example'").unwrap();
    assert_eq!(config.api.listen.port(), 8143);
    assert_eq!(config.store_url(), "sqlite:/var/lib/tutti/tutti.db");
}

#[test]
fn the_global_layer_of_hiera_is_where_puppet_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let at = |codedir: &Path, hiera_config: Option<&str>| {
        let code = CodeSection {
            codedir: codedir.to_owned(),
            hiera_config: hiera_config.map(PathBuf::from),
            ..CodeSection::default()
        };
        code.hiera_config()
    };
    let own = directory.path().join("hiera.yaml");
    assert_eq!(at(directory.path(), None), own);
    assert_eq!(at(directory.path(), Some("/x.yaml")), Path::new("/x.yaml"));
    let (debian, nowhere) = (Path::new("/etc/puppet/code"), "/etc/puppet/hiera.yaml");
    if !debian.join("hiera.yaml").exists() {
        assert_eq!(at(debian, None), Path::new(nowhere));
    }
}

#[test]
fn an_unknown_key_is_named_with_its_line() {
    let error = read("certname = 'a'\n[jobs]\ntask_concurency = 3\n")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("task_concurency") && error.contains("line 3"),
        "{error}"
    );
}

#[test]
fn a_certname_that_is_a_path_is_refused() {
    for name in ["../x", "a/b", "", "a\\u0000b"] {
        let error = read(&format!("certname = \"{name}\""))
            .unwrap_err()
            .to_string();
        assert!(error.contains("certname"), "{name}: {error}");
    }
}

#[test]
fn revocation_is_never_off_by_omission() {
    let tls = "[tls]\ncert = 'c'\nkey = 'k'\nca = 'a'";
    let with_ca = format!("certname = 'a'\ndata_dir = '/d'\n{tls}\n");
    let without_ca = format!("certname = 'a'\nca.enabled = false\n{tls}\n");
    let crl = |text: &str| read(text).unwrap().tls_files().crl;
    assert_eq!(crl(&with_ca), Some("/d/ca/ca_crl.pem".into()));
    let error = read(&without_ca).unwrap_err().to_string();
    assert!(error.contains("tls.crl"), "{error}");
    for text in [&with_ca, &without_ca] {
        assert_eq!(crl(&format!("{text}crl = '/x.pem'")), Some("/x.pem".into()));
        assert_eq!(crl(&format!("{text}no_crl = true")), None);
        assert!(read(&format!("{text}crl = '/x.pem'\nno_crl = true")).is_err());
    }
    // A broker is not a CA, so it has no revocation list of its own as a fallback.
    assert!(read(&with_ca).unwrap().require_revocation().is_err());
}

#[test]
fn a_puppetserver_is_asked_over_https_with_the_files_that_are_named() {
    let with = |keys: &str| read(&format!("certname = 'a'\n[puppetserver]\n{keys}"));
    let config = with("url = 'https://puppet:8140'\ncert = 'x.pem'\ncacert = '/ca.pem'");
    let config = config.unwrap();
    let named = config.puppetserver.clone().unwrap();
    let (_, files) = named.resolve_connection(config.tls_files()).unwrap();
    assert!(files.cert.is_absolute() && files.cert.ends_with("x.pem"));
    assert_eq!(files.key, config.tls_files().key);
    assert_eq!((files.ca, files.crl), ("/ca.pem".into(), None));
    for bad in ["http://puppet:8140", "puppet:8140", "https://", ""] {
        let error = with(&format!("url = '{bad}'")).unwrap_err().to_string();
        assert!(error.contains("puppetserver.url"), "{bad}: {error}");
    }
    assert!(with("cert = 'x'").is_err(), "no url");
}

#[test]
fn a_puppetserver_behind_this_server_is_another_one() {
    let with = |url: &str, more: &str| {
        let text =
            format!("certname = 'puppet'\n{more}[puppetserver]\nfront = true\nurl = '{url}'");
        read(&text).map_err(|error| error.to_string())
    };
    assert!(
        with("https://puppet:8141", "")
            .unwrap()
            .puppetserver
            .unwrap()
            .front
    );
    assert!(with("https://other:8140", "").is_ok());
    let error = with("https://puppet:8140", "").unwrap_err();
    assert!(
        error.contains("this server itself (puppet:8140)"),
        "{error}"
    );
    let error = with("https://puppet:8141", "[puppet_api]\nenabled = false\n").unwrap_err();
    assert!(error.contains("puppet_api.enabled"), "{error}");
}

#[test]
fn a_concurrency_of_zero_is_refused() {
    let error = read("certname = 'a'\n[jobs]\ntask_concurrency = 0")
        .unwrap_err()
        .to_string();
    assert!(error.contains("at least 1"), "{error}");
}

#[test]
fn reruns_are_bounded_and_not_forbidden() {
    for key in [
        "node_reruns_burst",
        "node_reruns_per_hour",
        "fleet_reruns_burst",
        "fleet_reruns_per_hour",
    ] {
        for limit in [0, RERUN_LIMIT_MAX + 1] {
            let text = format!("certname = 'a'\n[jobs]\n{key} = {limit}");
            let error = read(&text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("jobs.{key} must be from 1 to")),
                "{error}"
            );
        }
    }
    let plain = read("certname = 'a'").unwrap();
    assert_eq!(plain.jobs.rerun_limits(), RERUN_LIMITS);
    let text = "certname = 'a'\n[jobs]\nnode_reruns_burst = 1\nnode_reruns_per_hour = 2\n\
                fleet_reruns_burst = 3\nfleet_reruns_per_hour = 4";
    let RerunLimits { node, fleet } = read(text).unwrap().jobs.rerun_limits();
    let figures = [node.burst, node.per_hour, fleet.burst, fleet.per_hour];
    assert_eq!(figures, [1, 2, 3, 4]);
}

#[test]
fn plans_are_answered_by_people_unless_the_file_says_otherwise() {
    let plain = read("certname = 'a'").unwrap();
    assert!(!plain.jobs.unattended_plans);
    let unattended = read("certname = 'a'\n[jobs]\nunattended_plans = true").unwrap();
    assert!(unattended.jobs.unattended_plans);
}

#[test]
fn a_node_needs_some_time_and_not_for_ever() {
    for seconds in [0, NODE_TIMEOUT_MAX_S + 1] {
        let text = format!("certname = 'a'\n[jobs]\nnode_timeout_s = {seconds}");
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains("node_timeout_s"), "{error}");
    }
}

#[test]
fn relative_paths_start_at_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tutti.toml");
    std::fs::write(&path, "certname = 'a'\ndata_dir = 'state'").unwrap();
    assert_eq!(
        Config::read(&path).unwrap().data_dir,
        directory.path().join("state")
    );
}

#[test]
fn node_groups_choose_the_compiler() {
    let text = "certname = 'a'\n[puppetserver]\nurl = 'https://localhost:8141'\n[catalogs.node_groups.Old]\n\
                compiler = 'puppetserver'\nreason = 'not yet'\n[catalogs.node_groups.Edge]\nfacts = 'ignore'";
    let config = read(text).unwrap();
    assert!(config.catalogs.uses_puppetserver());
    let choices = config.catalogs.choices();
    let reason = |group: &str| {
        let chosen = choices.choose("node", &[group.to_owned()], "production");
        chosen.reason.clone()
    };
    assert_eq!(reason("Old"), "not yet");
    assert_eq!(reason("Edge"), "");
    let without = "certname = 'a'\n[catalogs.node_groups.Old]\ncompiler = 'puppetserver'";
    let error = read(without).unwrap_err().to_string();
    assert!(error.contains("[puppetserver] has no url"), "{error}");
}

#[test]
fn node_groups_choose_the_facts_that_count() {
    let text = "certname = 'a'\n[catalogs]\nfacts = 'all'\n[catalogs.node_groups.'Edge devices']\nfacts = 'ignore'";
    let policies = read(text).unwrap().catalogs.facts_policies();
    assert_eq!(policies.default, agent_catalogs::FactsPolicy::All);
    let groups = ["All Nodes".to_owned(), "Edge devices".to_owned()];
    assert_eq!(
        policies.of_groups(&groups),
        agent_catalogs::FactsPolicy::Ignore
    );
    let error = read("certname = 'a'\n[catalogs]\nfacts = 'some'").unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains(r#"write one of "ignore", "read", "all""#),
        "{error}"
    );
}
