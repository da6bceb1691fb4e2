//! The configuration file and the command line, option by option.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::config::paths::DefaultPaths;
use agent::config::settings::{AgentArguments, AgentSettings};
use agent::config::{AgentConfigError, Config, load_with};
use agent::connection::PcpVersion;
use agent::logging::{AgentLogLevel, LogOutput};
use clap::Parser;
use serde_json::json;

/// The program's command line, without its subcommands.
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(flatten)]
    arguments: AgentArguments,
}

/// A directory with every file that a configuration has to name.
struct Node {
    dir: tempfile::TempDir,
}

impl Node {
    fn new() -> Self {
        let node = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
        };
        for name in ["ca.pem", "cert.pem", "key.pem", "crl.pem"] {
            std::fs::write(node.path(name), "").expect("a file in the test's directory");
        }
        std::fs::create_dir(node.path("modules")).expect("a directory in the test's directory");
        node
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("an UTF-8 path").to_owned()
    }

    /// The options that every configuration needs.
    fn required(&self) -> String {
        format!(
            "broker-ws-uri = \"wss://b:8142/pcp2/\"\nssl-ca-cert = \"{}\"\nssl-cert = \"{}\"\nssl-key = \"{}\"\n",
            self.text("ca.pem"),
            self.text("cert.pem"),
            self.text("key.pem"),
        )
    }

    fn load_file(&self, name: &str, text: &str, args: &[&str]) -> Result<Config, AgentConfigError> {
        std::fs::write(self.path(name), text).expect("a file in the test's directory");
        let file = self.text(name);
        self.load(&[&["--config-file", &file], args].concat())
    }

    fn load(&self, args: &[&str]) -> Result<Config, AgentConfigError> {
        let line = CommandLine::try_parse_from([&["tutti-agent"], args].concat());
        let line = line.expect("a valid command line");
        load_with(&line.arguments, &DefaultPaths::below_home(self.dir.path()))
    }

    /// The required options and `more`, in a file.
    fn with(&self, more: &str) -> Result<Config, AgentConfigError> {
        self.load_file(
            "pxp-agent.conf",
            &format!("{}{more}\n", self.required()),
            &[],
        )
    }
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn defaults_are_those_of_pxp_agent() {
    let node = Node::new();
    let config = node.with("").expect("a valid configuration");
    let home = DefaultPaths::below_home(node.dir.path());
    let connection = &config.connection;
    assert_eq!(connection.pcp_version, PcpVersion::V1);
    assert_eq!(connection.connection_timeout, seconds(5));
    assert_eq!(connection.keepalive.interval, seconds(120));
    assert_eq!(connection.keepalive.allowed_misses, 2);
    assert_eq!(connection.association_timeout, seconds(15));
    assert_eq!(connection.message_ttl, seconds(5));
    assert_eq!(connection.tls.crl, None);
    assert_eq!(connection.proxy, None);
    assert_eq!(connection.max_incoming_bytes, 64 * 1024 * 1024);
    let actions = &config.actions;
    assert_eq!(actions.download_connect_timeout, seconds(120));
    assert_eq!(actions.download_timeout, seconds(1800));
    assert_eq!(actions.spool_ttl, Some(seconds(14 * 86_400)));
    assert_eq!(actions.cache_ttl, Some(seconds(14 * 86_400)));
    assert_eq!(actions.spool_dir, home.spool_dir);
    assert_eq!(actions.cache_dir, home.task_cache_dir);
    assert_eq!(
        actions.modules_dir, None,
        "the default one does not exist here"
    );
    assert_eq!(actions.max_message_bytes, 64 * 1024 * 1024);
    assert_eq!(config.log.level, AgentLogLevel::default());
    assert_eq!(config.log.output, LogOutput::File(home.logfile));
    assert_eq!(config.access_log, None);
    assert_eq!(config.pidfile, Some(home.pidfile));
    assert_eq!(config.bootstrap, None);
}

#[test]
fn every_option_of_the_file_has_its_effect() {
    let node = Node::new();
    let crl = node.text("crl.pem");
    let modules = node.text("modules");
    type Check = fn(&Config) -> bool;
    let cases: &[(&str, Check)] = &[
        ("pcp-version = \"2\"", |c| {
            c.connection.pcp_version == PcpVersion::V2
        }),
        ("pcp-version = 2", |c| {
            c.connection.pcp_version == PcpVersion::V2
        }),
        ("connection-timeout = 7", |c| {
            c.connection.connection_timeout == seconds(7)
        }),
        ("ping-interval = 6", |c| {
            c.connection.keepalive.interval == seconds(6)
        }),
        ("allowed-keepalive-timeouts = 0", |c| {
            c.connection.keepalive.allowed_misses == 0
        }),
        ("association-timeout = 3", |c| {
            c.connection.association_timeout == seconds(3)
        }),
        ("pcp-message-ttl = 9", |c| {
            c.connection.message_ttl == seconds(9)
        }),
        ("broker-ws-proxy = \"http://p:3128\"", |c| {
            c.connection
                .proxy
                .as_ref()
                .is_some_and(|p| p.to_string() == "http://p:3128")
        }),
        ("broker-ws-proxy = \"\"", |c| c.connection.proxy.is_none()),
        ("master-proxy = \"p:3128\"", |c| c.actions.proxy.is_some()),
        ("primary-uris = [a, \"b:1\", \"https://c:2\"]", |c| {
            c.actions.primary_uris == ["https://a:8140", "https://b:1", "https://c:2"]
        }),
        ("master-uris = [m]", |c| {
            c.actions.primary_uris == ["https://m:8140"]
        }),
        ("master-uris = [m]\nprimary-uris = [p]", |c| {
            c.actions.primary_uris == ["https://p:8140"]
        }),
        ("task-download-connect-timeout = 4", |c| {
            c.actions.download_connect_timeout == seconds(4)
        }),
        ("task-download-timeout = 8", |c| {
            c.actions.download_timeout == seconds(8)
        }),
        ("loglevel = warning", |c| {
            Ok(c.log.level) == "warning".parse()
        }),
        ("loglevel = none", |c| Ok(c.log.level) == "none".parse()),
        ("logfile = \"-\"", |c| c.log.output == LogOutput::Stdout),
        ("logfile = syslog", |c| c.log.output == LogOutput::Stdout),
        ("logfile = \"/x/y.log\"", |c| {
            c.log.output == LogOutput::File("/x/y.log".into())
        }),
        ("log-pcp-access = true", |c| c.access_log.is_some()),
        (
            "log-pcp-access = true\npcp-access-logfile = \"/x/a.log\"",
            |c| c.access_log.as_deref() == Some(Path::new("/x/a.log")),
        ),
        ("pcp-access-logfile = \"/x/a.log\"", |c| {
            c.access_log.is_none()
        }),
        ("modules-config-dir = \"/x\"", |c| {
            c.actions.modules_config_dir == Path::new("/x")
        }),
        ("spool-dir = \"/x\"", |c| {
            c.actions.spool_dir == Path::new("/x")
        }),
        ("spool-dir-purge-ttl = \"36h\"", |c| {
            c.actions.spool_ttl == Some(seconds(36 * 3600))
        }),
        ("spool-dir-purge-ttl = \"0d\"", |c| {
            c.actions.spool_ttl.is_none()
        }),
        ("task-cache-dir = \"/x\"", |c| {
            c.actions.cache_dir == Path::new("/x")
        }),
        ("task-cache-dir-purge-ttl = \"90m\"", |c| {
            c.actions.cache_ttl == Some(seconds(5400))
        }),
        ("max-message-size = 1000", |c| {
            c.actions.max_message_bytes == 1000
        }),
        ("pidfile = \"/x/pid\"", |c| {
            c.pidfile.as_deref() == Some(Path::new("/x/pid"))
        }),
        ("concurrency = 3", |c| c.actions.concurrency == 3),
        ("max-output-bytes = 5", |c| c.actions.max_output_bytes == 5),
        ("max-spool-output-bytes = 7", |c| {
            c.actions.max_spool_output_bytes == 7
        }),
        ("action-timeout = 60", |c| {
            c.actions.action_timeout == Some(seconds(60))
        }),
        ("facts-min-interval = 60", |c| {
            c.actions.facts_min_interval == seconds(60)
        }),
        ("action-timeout = 0", |c| c.actions.action_timeout.is_none()),
        ("max-incoming-message-size = 100000", |c| {
            c.connection.max_incoming_bytes == 100_000
        }),
        ("reconnect-max-delay = 10", |c| {
            c.connection.backoff.ceiling == seconds(10)
        }),
        ("shuffle-brokers = true", |c| c.connection.shuffle_brokers),
    ];
    for (text, holds) in cases {
        let config = node
            .with(text)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(holds(&config), "{text}: {config:?}");
    }
    let config = node.with(&format!("ssl-crl = \"{crl}\"\nmodules-dir = \"{modules}\""));
    let config = config.expect("a valid configuration");
    assert_eq!(config.connection.tls.crl, Some(crl.into()));
    assert_eq!(config.actions.modules_dir, Some(modules.into()));
}

#[test]
fn quoted_numbers_and_booleans_are_accepted_as_pxp_agent_does() {
    let node = Node::new();
    let quoted = "ping-interval = \"60\"\nlog-pcp-access = \"true\"\n\
                  max-message-size = \"1000000\"\nforeground = on";
    let config = node.with(quoted).expect("a valid configuration");
    assert_eq!(config.connection.keepalive.interval, seconds(60));
    assert!(config.access_log.is_some());
    assert_eq!(config.actions.max_message_bytes, 1_000_000);
    assert_eq!(config.pidfile, None);
    let json = json!({
        "broker-ws-uri": "wss://b:8142/pcp2/",
        "ssl-ca-cert": node.text("ca.pem"),
        "ssl-cert": node.text("cert.pem"),
        "ssl-key": node.text("key.pem"),
        "ping-interval": "60",
    });
    let config = node.load_file("pxp-agent.json", &json.to_string(), &[]);
    let config = config.expect("a valid configuration");
    assert_eq!(config.connection.keepalive.interval, seconds(60));
}

#[test]
fn a_foreground_agent_takes_no_default_pid_file() {
    let node = Node::new();
    let home = DefaultPaths::below_home(node.dir.path());
    for (text, expected) in [
        ("", Some(home.pidfile)),
        ("foreground = true", None),
        ("foreground = true\npidfile = \"/x\"", Some("/x".into())),
    ] {
        assert_eq!(node.with(text).expect(text).pidfile, expected, "{text}");
    }
}

#[test]
fn a_wrong_type_is_an_error_that_names_the_option_and_its_line() {
    let node = Node::new();
    for (text, option) in [
        ("ping-interval = soon", "ping-interval"),
        ("ping-interval = \"-1\"", "ping-interval"),
        ("ping-interval = -1", "ping-interval"),
        ("connection-timeout = 1.5", "connection-timeout"),
        ("log-pcp-access = maybe", "log-pcp-access"),
        ("log-pcp-access = 1", "log-pcp-access"),
        ("primary-uris = a", "primary-uris"),
        ("primary-uris = [1]", "primary-uris"),
        ("spool-dir = [x]", "spool-dir"),
        ("spool-dir-purge-ttl = 14", "spool-dir-purge-ttl"),
        ("pcp-version = [2]", "pcp-version"),
        (
            "max-message-size = 99999999999999999999",
            "max-message-size",
        ),
    ] {
        let error = node.with(text).expect_err(text);
        assert_eq!(error.exit_code(), 2, "{text}: {error}");
        let message = error.to_string();
        assert!(message.contains(&format!("'{option}'")), "{message}");
        assert!(message.contains("pxp-agent.conf:5"), "{message}");
    }
}

#[test]
fn values_that_make_no_sense_are_errors_that_name_the_option() {
    let node = Node::new();
    for (text, option) in [
        ("pcp-version = \"3\"", "pcp-version"),
        ("connection-timeout = 0", "connection-timeout"),
        ("ping-interval = 5", "ping-interval"),
        ("association-timeout = 0", "association-timeout"),
        ("loglevel = loud", "loglevel"),
        ("modules-dir = \"/does/not/exist\"", "modules-dir"),
        ("spool-dir-purge-ttl = forever", "spool-dir-purge-ttl"),
        (
            "task-cache-dir-purge-ttl = \"1y\"",
            "task-cache-dir-purge-ttl",
        ),
        ("task-cache-dir-purge-ttl = d", "task-cache-dir-purge-ttl"),
        ("broker-ws-proxy = \"p\"", "broker-ws-proxy"),
        ("broker-ws-proxy = \"https://p:1\"", "broker-ws-proxy"),
        ("master-proxy = \"u:secret@p:1\"", "master-proxy"),
        ("primary-uris = [\"http://p\"]", "primary-uris"),
        ("broker-ws-uris = [\"wss://c/\"]", "broker-ws-uris"),
        ("broker-ws-uri = \"ws://b/\"", "broker-ws-uri"),
        ("broker-ws-uri = \"wss://\"", "broker-ws-uri"),
        ("ssl-key = \"/does/not/exist\"", "ssl-key"),
        ("concurrency = 0", "concurrency"),
        ("max-spool-output-bytes = 0", "max-spool-output-bytes"),
        ("max-incoming-message-size = 1", "max-incoming-message-size"),
        ("reconnect-max-delay = 0", "reconnect-max-delay"),
        ("certname = \"../x\"", "certname"),
    ] {
        let error = node.with(text).expect_err(text);
        assert_eq!(error.exit_code(), 3, "{text}: {error}");
        assert!(
            error.to_string().contains(&format!("'{option}'")),
            "{text}: {error}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn files_that_cannot_be_read_are_errors() {
    let node = Node::new();
    for (name, text) in [
        ("a.conf", "broker-ws-uri = {"),
        ("a.conf", "include \"b.conf\""),
        ("a.conf", "[1]"),
        ("a.json", "{\"a\": 1,}"),
        ("a.json", "broker-ws-uri = x"),
        ("a.json", "[]"),
        ("a.txt", ""),
        ("conf", ""),
    ] {
        let error = node.load_file(name, text, &[]).expect_err(text);
        assert_eq!(error.exit_code(), 2, "{name} {text}: {error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    std::fs::write(node.path("b.conf"), [0xff, 0xfe]).expect("a file in the test's directory");
    let error = node
        .load(&["--config-file", &node.text("b.conf")])
        .expect_err("not UTF-8");
    assert_eq!(error.exit_code(), 2, "{error}");
}

#[test]
fn json_is_read_as_well() {
    let node = Node::new();
    let text = serde_json::json!({
        "broker-ws-uris": ["wss://b:8142/pcp2/", "wss://c:8142/pcp2/"],
        "pcp-version": "2",
        "ssl-ca-cert": node.text("ca.pem"),
        "ssl-cert": node.text("cert.pem"),
        "ssl-key": node.text("key.pem"),
    });
    let config = node
        .load_file("a.json", &text.to_string(), &[])
        .expect("a valid configuration");
    let brokers: Vec<String> = config
        .connection
        .brokers
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(brokers, ["wss://b:8142/pcp2/", "wss://c:8142/pcp2/"]);
}

#[test]
fn the_command_line_beats_the_file() {
    let node = Node::new();
    let text = format!(
        "{}pcp-version = \"1\"\nloglevel = error\nspool-dir = \"/file\"\n",
        node.required()
            .replace("broker-ws-uri =", "broker-ws-uris ="),
    )
    .replace("\"wss://b:8142/pcp2/\"", "[\"wss://b/\", \"wss://c/\"]");
    let args = [
        "--broker-ws-uri",
        "wss://cli/pcp2/",
        "--pcp-version",
        "2",
        "--spool-dir",
        "/cli",
        "--log-pcp-access",
        "-v",
    ];
    let config = node
        .load_file("a.conf", &text, &args)
        .expect("a valid configuration");
    assert_eq!(config.connection.brokers.len(), 1);
    assert_eq!(config.connection.brokers[0].host(), "cli");
    assert_eq!(config.connection.pcp_version, PcpVersion::V2);
    assert_eq!(config.actions.spool_dir, Path::new("/cli"));
    assert_eq!(config.log.level, AgentLogLevel::DEBUG);
    assert!(config.access_log.is_some());
}

#[test]
fn every_flag_of_pxp_agent_is_accepted() {
    let flags: &[&str] = &[
        "--config-file=x.conf",
        "--broker-ws-uri=x",
        "--pcp-version=2",
        "--ssl-ca-cert=x",
        "--ssl-cert=x",
        "--ssl-key=x",
        "--ssl-crl=x",
        "--broker-ws-proxy=x",
        "--master-proxy=x",
        "--primary-uri=x",
        "--master-uri=x",
        "--connection-timeout=1",
        "--ping-interval=9",
        "--allowed-keepalive-timeouts=1",
        "--association-timeout=1",
        "--association-request-ttl=1",
        "--pcp-message-ttl=1",
        "--task-download-connect-timeout=1",
        "--task-download-timeout=1",
        "--logfile=-",
        "--loglevel=info",
        "--syslog-facility=local5",
        "--log-pcp-access",
        "--pcp-access-logfile=x",
        "--modules-dir=x",
        "--modules-config-dir=x",
        "--spool-dir=x",
        "--spool-dir-purge-ttl=1d",
        "--task-cache-dir=x",
        "--task-cache-dir-purge-ttl=1d",
        "--max-message-size=1",
        "--foreground",
        "--pidfile=x",
        "--verbose",
    ];
    let line = [&["tutti-agent"], flags].concat();
    CommandLine::try_parse_from(line).expect("all flags are known");
    assert!(CommandLine::try_parse_from(["tutti-agent", "--no-such-flag"]).is_err());
}

#[test]
fn what_has_no_effect_is_said() {
    let node = Node::new();
    let text = "no-such-option = 1\nnested { key = 2 }\nassociation-request-ttl = 9\n\
                syslog-facility = local5\nforeground = false\nlogfile = eventlog";
    let config = node.with(text).expect("a valid configuration");
    for word in [
        "'no-such-option'",
        "'nested'",
        "'association-request-ttl'",
        "'syslog-facility'",
        "'foreground'",
        "'eventlog'",
        "ssl-crl",
    ] {
        assert!(
            config.notes.iter().any(|note| note.contains(word)),
            "{word}: {:?}",
            config.notes
        );
    }
    let config = node.load(&[
        "--config-file",
        &node.text("missing.conf"),
        "--broker-ws-uri",
        "wss://b/",
        "--ssl-ca-cert",
        &node.text("ca.pem"),
        "--ssl-cert",
        &node.text("cert.pem"),
        "--ssl-key",
        &node.text("key.pem"),
        "--primary-uri",
        "https://p",
    ]);
    let notes = config.expect("a missing file is no error").notes;
    assert!(
        notes.iter().any(|note| note.contains("missing.conf")),
        "{notes:?}"
    );
    assert!(
        notes.iter().any(|note| note.contains("'primary-uri'")),
        "{notes:?}"
    );
}

#[test]
fn no_broker_or_no_certificate_says_what_to_do() {
    let node = Node::new();
    let error = node.load_file("a.conf", "", &[]).expect_err("no broker");
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("wss://"), "{error}");
    let error = node
        .load(&["--broker-ws-uri", "wss://b/"])
        .expect_err("no certificate");
    assert_eq!(error.exit_code(), 3);
    assert!(
        error.to_string().contains("tutti-agent bootstrap"),
        "{error}"
    );
}

#[test]
fn puppets_own_certificate_is_found() {
    let node = Node::new();
    let ssl = node.path("ssl");
    for dir in ["certs", "private_keys"] {
        std::fs::create_dir_all(ssl.join(dir)).expect("a directory");
        std::fs::write(ssl.join(dir).join("web7.example.pem"), "").expect("a file");
    }
    std::fs::write(ssl.join("certs/ca.pem"), "").expect("a file");
    std::fs::write(ssl.join("crl.pem"), "").expect("a file");
    let dir = ssl.to_str().expect("an UTF-8 path");
    let config = node.load(&["--broker-ws-uri", "wss://b/", "--ssl-dir", dir]);
    let tls = config.expect("a valid configuration").connection.tls;
    assert_eq!(tls.cert, ssl.join("certs/web7.example.pem"));
    assert_eq!(tls.key, ssl.join("private_keys/web7.example.pem"));
    assert_eq!(tls.ca, ssl.join("certs/ca.pem"));
    assert_eq!(tls.crl, Some(ssl.join("crl.pem")));
}

#[test]
fn a_ca_and_no_certificate_means_bootstrap() {
    let node = Node::new();
    let config = node.load(&[
        "--broker-ws-uri",
        "wss://b/",
        "--ca-uri",
        "puppet.example",
        "--certname",
        "n1.example",
        "--wait-for-cert",
        "7",
    ]);
    let bootstrap = config
        .expect("a valid configuration")
        .bootstrap
        .expect("a bootstrap");
    assert_eq!(bootstrap.server.to_string(), "puppet.example:8140");
    assert_eq!(bootstrap.certname.as_str(), "n1.example");
    assert_eq!(bootstrap.wait_for_cert, seconds(7));
    for (flag, value) in [("--ca-uri", "https://x/y"), ("--ca-fingerprint", "zz")] {
        let args = ["--broker-ws-uri", "wss://b/", "--ca-uri", "x", flag, value];
        let mut args = args.to_vec();
        if flag == "--ca-uri" {
            args.drain(2..4);
        }
        assert_eq!(node.load(&args).expect_err(value).exit_code(), 3);
    }
}

#[test]
fn the_cas_revocation_list_is_used_unless_the_operator_says_otherwise() {
    let node = Node::new();
    let standard = node.text("ssl/crl.pem");
    for (given, expected) in [
        (None, true),
        (Some(standard.as_str()), true),
        (Some(""), false),
        (Some("/elsewhere/crl.pem"), false),
    ] {
        let ssl = node.text("ssl");
        let mut args = vec![
            "--broker-ws-uri",
            "wss://b/",
            "--ca-uri",
            "x",
            "--ssl-dir",
            &ssl,
        ];
        args.extend(given.iter().flat_map(|path| ["--ssl-crl", path]));
        let config = node.load(&args).expect("a valid configuration");
        let expected = expected.then(|| node.path("ssl/crl.pem"));
        assert_eq!(config.crl_from_ca, expected, "{given:?}");
    }
}

#[test]
fn settings_know_what_they_say() {
    let cli = AgentSettings {
        pidfile: Some("cli".into()),
        ..AgentSettings::default()
    };
    let file = AgentSettings {
        pidfile: Some("file".into()),
        concurrency: Some(4),
        ..AgentSettings::default()
    };
    let both = cli.merge_over(&file);
    assert_eq!(both.pidfile.as_deref(), Some("cli"));
    assert_eq!(both.concurrency, Some(4));
    assert!(AgentSettings::default().to_set_options().is_empty());
}
