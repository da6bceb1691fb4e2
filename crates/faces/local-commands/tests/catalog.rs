//! Output and exit codes of `tutti catalog impact` and `tutti catalog compile`, and refusals of
//! `tutti catalog shadow`.

use clap::Parser as _;

use cli::CommandFailure;
use cli::say::{capture, captured};
use local_commands::catalog::{CatalogCommand, run};

#[derive(clap::Parser)]
struct Line {
    #[command(subcommand)]
    command: CatalogCommand,
}

const FILES: &[(&str, &str)] = &[
    (
        "before/manifests/site.pp",
        "node 'db' { file { '/etc/motd': content => 'db' } }\n\
         node 'old' { fail('old error') }\n\
         node default { file { '/etc/motd': content => \"a ${facts['role']}\" } }\n",
    ),
    (
        "after/manifests/site.pp",
        "node 'db' { file { '/etc/motd': content => 'db' } }\n\
         node 'old' { }\n\
         node 'mail' { include absent }\n\
         node default {\n\
           file { '/etc/motd': content => \"b ${facts['role']}\" }\n\
           if $facts['role'] == 'web' { package { 'x': } }\n\
         }\n",
    ),
    ("facts/web1.json", "{\"role\": \"web\"}"),
    ("facts/web2.yaml", "role: web\n"),
    ("facts/app.json", "{\"role\": \"app\"}"),
    ("facts/db.json", "{}"),
    ("facts/mail.json", "{}"),
    ("facts/old.json", "{}"),
    ("facts/README", "no facts\n"),
    ("empty/README", "no facts\n"),
];

struct Site(tempfile::TempDir);

impl Site {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, content) in FILES {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("its parent");
            std::fs::write(path, content).expect("a file");
        }
        Self(directory)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn impact(&self, other: &str, arguments: &[&str]) -> (Result<u8, CommandFailure>, String) {
        let [before, other, facts] = ["before", other, "facts"].map(|name| self.path(name));
        let mut line = vec!["catalog", "impact", "--no-ruby", "--code-dir", &before];
        line.extend(["--other-code-dir", &other, "--facts-dir", &facts]);
        line.extend(arguments);
        let line = Line::parse_from(line);
        capture();
        let code = run(&line.command);
        (code, captured())
    }
}

/// Exit code and output of `tutti catalog compile n` with a site manifest.
fn compile(manifest: &str, arguments: &[&str]) -> (u8, String) {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(directory.path().join("manifests")).expect("a directory");
    std::fs::write(directory.path().join("manifests/site.pp"), manifest).expect("a manifest");
    let directory = directory.path().display().to_string();
    let mut line = vec!["catalog", "compile", "n", "--no-ruby", "--code-dir"];
    line.push(&directory);
    line.extend(arguments);
    let line = Line::parse_from(line);
    capture();
    let code = run(&line.command).expect("an exit code");
    (code, captured())
}

#[test]
fn a_catalog_without_rich_data_has_no_value_that_needs_it() {
    let plain = ["--no-rich-data", "--format", "json"];
    let (code, printed) = compile("notify { 'n': message => Sensitive([1, 'a']) }", &plain);
    assert_eq!(code, 0);
    let document: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let resources = document["resources"].as_array().expect("a list");
    let notify = resources.iter().find(|it| it["type"] == "Notify");
    let notify = notify.expect("the resource");
    assert_eq!(notify["parameters"]["message"], serde_json::json!([1, "a"]));

    let rich = "notify { 'n': message => Deferred('f') }";
    assert_eq!(compile(rich, &[]).0, 0);
    assert_eq!(compile(rich, &plain), (1, String::new()));
}

#[test]
fn nodes_are_grouped_by_equal_changes() {
    let site = Site::new();
    let (code, printed) = site.impact("after", &[]);
    assert_eq!(code.expect("a report"), 1);
    let printed = printed.replace(&site.path(""), "");
    let lines: Vec<&str> = printed.lines().collect();
    let expected = [
        "1 node: mail",
        "  fails: Evaluation Error: Error while evaluating a Function Call, Could not find class ::absent \
         for mail (file: after/manifests/site.pp, line: 3, column: 15)",
        "1 node: old",
        "  no longer fails: Evaluation Error: Error while evaluating a Function Call, old error \
         (file: before/manifests/site.pp, line: 2, column: 14)",
        "2 nodes: web1, web2",
        "  ~ File[/etc/motd] content",
        "  + Package[x]",
        "1 node: app",
        "  ~ File[/etc/motd] content",
        "1 of 6 nodes have equal catalogs",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn equal_catalogs_exit_with_0() {
    let site = Site::new();
    let (code, printed) = site.impact("before", &[]);
    assert_eq!(code.expect("a report"), 0);
    assert_eq!(printed.trim_end(), "6 of 6 nodes have equal catalogs");
    let (code, printed) = site.impact("after", &["db", "db", "--format", "json"]);
    assert_eq!(code.expect("a report"), 0);
    let report: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let expected = serde_json::json!({
        "code_id": null, "against_code_id": null, "equal": 1, "groups": []
    });
    assert_eq!(report, expected);
}

#[test]
fn nodes_without_facts_are_named() {
    let site = Site::new();
    let (code, _) = site.impact("after", &["db", "gone"]);
    let error = code.expect_err("there are no facts of it").to_string();
    assert!(error.contains("has no facts of gone"), "{error}");
    let (code, _) = site.impact("after", &["../facts/db"]);
    let error = code.expect_err("it is no certname").to_string();
    assert!(error.contains("invalid certname"), "{error}");
}

#[test]
fn a_puppetserver_needs_an_address_a_certificate_and_nodes() {
    let site = Site::new();
    let [before, key] = ["before", "facts/db.json"].map(|name| site.path(name));
    let empty = site.path("empty");
    for (arguments, message) in [
        (
            &["n", "--against", "http://localhost:1"][..],
            "no https:// address",
        ),
        (
            &["--against", "https://localhost:1"],
            "name at least one node",
        ),
        (
            &["--against", "https://localhost:1", "--facts-dir", &empty],
            "has no files NODE.json",
        ),
        (
            &[
                "n",
                "--against",
                "https://localhost:1",
                "--cert",
                &key,
                "--key",
                &key,
                "--cacert",
                &key,
            ],
            "cannot use the certificate for https://localhost:1/",
        ),
    ] {
        let line = ["catalog", "shadow", "--code-dir", &before];
        let line = Line::parse_from(line.into_iter().chain(arguments.iter().copied()));
        let error = run(&line.command).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
}
