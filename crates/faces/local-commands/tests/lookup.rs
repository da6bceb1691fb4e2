//! Output and exit codes of `tutti lookup`.

use clap::Parser as _;

use cli::CommandFailure;
use cli::say::{capture, captured};
use local_commands::lookup::{LookupOptions, run};

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    options: LookupOptions,
}

const FILES: &[(&str, &str)] = &[
    (
        "environments/test/hiera.yaml",
        "version: 5\nhierarchy:\n  - {name: Node, path: '%{trusted.certname}.yaml'}\n  \
         - {name: Common, path: common.yaml}\n  - {name: Function, lookup_key: m::back}\n",
    ),
    (
        "environments/test/data/web1.yaml",
        "list: [b, --a]\nhash: {b: [1, two, 3.5, null, true], 'c d': ''}\n",
    ),
    (
        "environments/test/data/common.yaml",
        "list: [a]\ntext: some text\nfact: \"%{facts.os.family} %{role} %{environment}\"\n\
         secret: s3cret\nwrong: \"%{nobody}\"\nlookup_options: {secret: {convert_to: Sensitive}}\n",
    ),
    (
        "modules/m/functions/back.pp",
        "function m::back($key, $options, $context) {\n  \
         if $key == 'asked' { lookup('text') } else { $context.not_found }\n}\n",
    ),
    (
        "facts.yaml",
        "os: {family: Debian}\nrole: web\nclientcert: web1\n",
    ),
    (
        "facts.json",
        "{\"role\": \"db\", \"os\": {\"family\": \"x\"}}",
    ),
    ("facts.txt", "no facts\n"),
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

    fn lookup(&self, arguments: &[&str]) -> (Result<u8, CommandFailure>, String) {
        let (codedir, nowhere) = (self.path(""), self.path("hiera.yaml"));
        let fixed = ["lookup", "--codedir", &codedir, "--hiera_config", &nowhere];
        let fixed = fixed.into_iter().chain(["--environment", "test"]);
        let line = Line::parse_from(fixed.chain(arguments.iter().copied()));
        capture();
        let code = run(&line.options);
        (code, captured())
    }

    /// The output for a value that is found.
    #[track_caller]
    fn value(&self, arguments: &[&str]) -> String {
        let (code, printed) = self.lookup(arguments);
        assert_eq!(code.expect("a value"), 0);
        printed
    }
}

#[test]
fn values_are_printed_as_puppet_prints_them() {
    let site = Site::new();
    let node = ["hash", "--node", "web1"];
    let with = |format: &str| {
        let mut arguments = node.to_vec();
        arguments.extend(["--render-as", format]);
        site.value(&arguments)
    };
    assert_eq!(
        site.value(&node),
        "---\nb:\n- 1\n- two\n- 3.5\n-\n- true\nc d: ''\n"
    );
    assert_eq!(
        with("json"),
        "{\"b\":[1,\"two\",3.5,null,true],\"c d\":\"\"}\n"
    );
    assert_eq!(
        with("s"),
        "{\"b\"=>[1, \"two\", 3.5, nil, true], \"c d\"=>\"\"}\n"
    );
    assert_eq!(site.value(&["text"]), "--- some text\n");
    assert_eq!(site.value(&["asked"]), "--- some text\n");
    assert_eq!(
        site.value(&["nope", "text", "--render-as", "s"]),
        "some text\n"
    );
    assert_eq!(site.value(&["nope", "--default", "5"]), "--- '5'\n");
    let secret = site.value(&["secret", "--render-as", "json"]);
    assert_eq!(secret, "\"Sensitive [value redacted]\"\n");
}

#[test]
fn facts_come_from_files() {
    let site = Site::new();
    let (yaml, json) = (site.path("facts.yaml"), site.path("facts.json"));
    assert_eq!(
        site.value(&["fact", "--facts", &yaml]),
        "--- Debian web test\n"
    );
    assert_eq!(site.value(&["fact", "--facts", &json]), "--- x db test\n");
    // the name of the node is its certname
    assert_eq!(site.value(&["list.0", "--facts", &yaml]), "--- b\n");
    assert_eq!(
        site.value(&["list.0", "--facts", &yaml, "--node", "other"]),
        "--- a\n"
    );
    let text = site.path("facts.txt");
    let (code, _) = site.lookup(&["fact", "--facts", &text]);
    let fault = code.expect_err("no facts").to_string();
    assert!(fault.contains("only accepts yaml and json"), "{fault}");
}

#[test]
fn merges_are_chosen() {
    let site = Site::new();
    let list = ["list", "--node", "web1", "--render-as", "json", "--merge"];
    let merged = |more: &[&str]| site.value(&[&list[..], more].concat());
    assert_eq!(merged(&["first"]), "[\"b\",\"--a\"]\n");
    assert_eq!(merged(&["unique"]), "[\"b\",\"--a\",\"a\"]\n");
    assert_eq!(merged(&["deep", "--knock-out-prefix=--"]), "[\"b\"]\n");
    assert_eq!(
        merged(&["deep", "--sort-merged-arrays"]),
        "[\"--a\",\"a\",\"b\"]\n"
    );
    let (code, _) = site.lookup(&["list", "--merge", "hash", "--merge-hash-arrays"]);
    let fault = code.expect_err("only with deep").to_string();
    assert!(
        fault.ends_with("only available with '--merge deep'"),
        "{fault}"
    );
}

#[test]
fn what_is_not_found_or_wrong_ends_with_1() {
    let site = Site::new();
    for arguments in [&["nope"][..], &["wrong"], &["hash.b"]] {
        let (code, printed) = site.lookup(arguments);
        assert_eq!(code.expect("a lookup"), 1, "{arguments:?}");
        assert_eq!(printed, "");
    }
    let (code, _) = site.lookup(&["text", "--type", "Integer"]);
    assert_eq!(
        code.expect_err("another type").to_string(),
        "Found value has wrong type, expects an Integer value, got String"
    );
    let (code, _) = site.lookup(&[]);
    let fault = code.expect_err("no key").to_string();
    assert_eq!(fault, "No keys were given to lookup.");
}

#[test]
fn lookups_are_explained() {
    let site = Site::new();
    let told = site.value(&["text", "--explain"]);
    let common = site.path("environments/test/data/common.yaml");
    let found = format!(
        "      Path \"{common}\"\n        Original path: \"common.yaml\"\n        Found key: \"text\" \
         value: \"some text\"\n"
    );
    assert!(told.contains("Searching for \"text\"\n"), "{told}");
    assert!(told.ends_with(&found), "{told}");
    let told = site.value(&["nope", "--explain"]);
    let fault = "Function lookup() did not find a value for the name 'nope'\n";
    assert!(told.ends_with(fault), "{told}");
    let told = site.value(&["--explain-options"]);
    assert!(
        told.contains("Found key: \"lookup_options\" value: {"),
        "{told}"
    );
    let told = site.value(&["text", "--explain", "--render-as", "json"]);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["branches"][1]["key"], "text");
    assert_eq!(told["branches"][1]["type"], "root");
    let told = site.value(&["text", "--explain", "--render-as", "yaml"]);
    assert!(
        told.starts_with("---\n:branches:\n- :branches:\n"),
        "{told}"
    );
    assert!(told.contains("  :type: :data_provider\n"), "{told}");
}
