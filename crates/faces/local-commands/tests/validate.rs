//! Output and exit codes of `tutti validate`.

use clap::Parser as _;

use cli::CommandFailure;
use cli::say::{capture, captured};
use local_commands::validate::{ValidateOptions, run};

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    options: ValidateOptions,
}

fn validate(arguments: &[&str]) -> (Result<u8, CommandFailure>, String) {
    let line = Line::parse_from(std::iter::once("validate").chain(arguments.iter().copied()));
    capture();
    let code = run(&line.options);
    (code, captured())
}

fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, content) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("its parent");
        std::fs::write(path, content).expect("a file");
    }
    directory
}

#[test]
fn what_is_valid_ends_with_0() {
    let files = [
        ("manifests/init.pp", "class m { notice('x') }\n"),
        (
            "plans/run.pp",
            "plan m::run { apply('all') { include m } }\n",
        ),
        ("templates/a.epp", "<%- | $x | -%>\n<%= $x %>\n"),
        (".git/broken.pp", "class {"),
    ];
    let directory = directory(&files);
    let (code, printed) = validate(&[directory.path().to_str().expect("UTF-8")]);
    assert_eq!(printed, "3 files: nothing is wrong\n");
    assert_eq!(code.expect("readable"), 0);
}

#[test]
fn what_is_wrong_is_drawn_where_it_stands() {
    let directory = directory(&[("a.pp", "file { 'x'\n  mode => '0644',\n}\n\nesle { }\n")]);
    let path = directory.path().join("a.pp");
    let path = path.to_str().expect("UTF-8");
    let (code, printed) = validate(&[path]);
    let printed = printed.replace(path, "a.pp");
    assert!(
        printed.contains("error[SYNTAX_ERROR]: Syntax error at 'mode'"),
        "{printed}"
    );
    assert!(printed.contains("a.pp:2:3"), "{printed}");
    assert!(
        printed.contains("expected `:` after the title"),
        "{printed}"
    );
    assert!(printed.ends_with("1 file: 1 error\n"), "{printed}");
    assert_eq!(code.expect("readable"), 1);
}

#[test]
fn programs_get_a_document() {
    let directory = directory(&[("a.pp", "$x = \"\\q\"\nnotice($x)\n"), ("b.pp", "$a = {\n")]);
    let (code, printed) = validate(&[
        directory.path().to_str().expect("UTF-8"),
        "--format",
        "json",
    ]);
    let document: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(document["errors"], 1);
    assert_eq!(
        document["files"][0]["findings"][0]["code"],
        "UNRECOGNIZED_ESCAPE"
    );
    assert_eq!(document["files"][0]["findings"][0]["severity"], "warning");
    let fault = &document["files"][1]["findings"][0];
    assert_eq!(fault["message"], "Syntax error at end of input");
    assert_eq!(fault["labels"][0]["place"]["column"], 6);
    assert_eq!(code.expect("readable"), 1);
}

#[test]
fn files_of_modules_define_what_their_path_says() {
    let directory = directory(&[("modules/m/manifests/a.pp", "class m::b { }\n")]);
    let modules = directory.path().join("modules");
    let modules = modules.to_str().expect("UTF-8");
    let (code, printed) = validate(&[modules, "--modulepath", modules]);
    assert!(printed.contains("ILLEGAL_DEFINITION_LOCATION"), "{printed}");
    assert_eq!(code.expect("readable"), 1);
    let (code, _) = validate(&[modules]);
    assert_eq!(code.expect("readable"), 0);
}

#[test]
fn what_cannot_be_read_is_said() {
    let directory = directory(&[("latin1.pp", ""), ("mark.pp", "\u{feff}class a { }\n")]);
    let latin1 = directory.path().join("latin1.pp");
    std::fs::write(&latin1, b"# caf\xe9\n").expect("a file");
    let (code, printed) = validate(&[directory.path().to_str().expect("UTF-8")]);
    assert!(printed.contains("not UTF-8: byte 0xE9"), "{printed}");
    assert!(
        printed.contains("Illegal UTF-8 Byte Order mark"),
        "{printed}"
    );
    assert_eq!(code.expect("readable"), 1);
    assert!(matches!(
        validate(&["/no/such.pp"]).0,
        Err(CommandFailure::Read { .. })
    ));
}

#[test]
fn hostile_sources_cannot_move_the_cursor() {
    let directory = directory(&[("a.pp", "$x = '\u{1b}[2J' '\u{202e}'\n")]);
    let (_, printed) = validate(&[directory.path().to_str().expect("UTF-8")]);
    assert!(
        !printed.contains('\u{1b}') && !printed.contains('\u{202e}'),
        "{printed:?}"
    );
}

#[test]
fn yaml_plans_are_checked_and_other_yaml_is_not() {
    let wrong = "steps:\n  - comand: uptime\n    targets: a\n  - eval: |\n      $a = (1\n";
    let directory = directory(&[
        ("m/plans/wrong.yaml", wrong),
        ("m/plans/good.yaml", "steps: []\n"),
        ("data/plans/nodes.yaml", "steps: 3\n"),
        ("hiera.yaml", "version: 5\n"),
    ]);
    let path = directory.path().to_str().expect("UTF-8");
    let (code, printed) = validate(&[path]);
    assert_eq!(code.expect("readable"), 1);
    for part in [
        "error[INVALID_PLAN]: a step has exactly one of",
        "m/plans/wrong.yaml:2:5",
        "error[INVALID_PLAN]: Syntax error at end of input",
        "m/plans/wrong.yaml:5:",
        "2 files: 2 errors",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

#[test]
fn the_module_is_found_from_inside() {
    let directory = directory(&[
        (
            "puppet-m/metadata.json",
            r#"{"name": "acme-m", "version": "1.0.0"}"#,
        ),
        ("puppet-m/manifests/init.pp", "class m { }\n"),
        ("puppet-m/manifests/a.pp", "class m::b { }\n"),
        ("puppet-m/examples/a.pp", "include m\n"),
        ("puppet-m/plans/run.pp", "plan m::run() { return(1) }\n"),
        ("puppet-m/plans/wrong.yaml", "steps: 3\n"),
        ("puppet-m/data/plans/nodes.yaml", "steps: 3\n"),
        ("other/plans/run.pp", "plan other::run() { return(1) }\n"),
        ("other/plans/manifests/a.pp", "$plan = 1\n"),
    ]);
    let at = |path: &str| {
        let path = directory.path().join(path);
        let (code, printed) = validate(&[path.to_str().expect("UTF-8")]);
        (code.expect("readable"), printed)
    };
    let (code, printed) = at("puppet-m");
    assert_eq!(code, 1);
    for part in [
        "The name 'm::b' is unacceptable in file",
        "plans/wrong.yaml:1",
        "5 files: 2 errors",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    for inside in [
        "puppet-m/plans/../manifests/init.pp",
        "puppet-m/plans/run.pp",
        "puppet-m/examples",
        "other/plans",
    ] {
        let (code, printed) = at(inside);
        assert_eq!(code, 0, "{inside}: {printed}");
    }
}

#[test]
fn a_function_in_ruby_that_plans_do_not_get_is_a_warning() {
    let own = "Puppet::Functions.create_function(:merge) do\nend\n";
    let directory = directory(&[
        ("site/lib/puppet/functions/merge.rb", own),
        ("site/lib/puppet/functions/site/own.rb", own),
        ("site/lib/facter/merge.rb", own),
    ]);
    let (code, printed) = validate(&[directory.path().to_str().expect("UTF-8")]);
    assert!(
        printed.contains("warning[REPLACED_FUNCTION]: the function merge"),
        "{printed}"
    );
    assert!(
        printed.contains("site/lib/puppet/functions/merge.rb:1:1"),
        "{printed}"
    );
    assert!(printed.contains("1 file"), "{printed}");
    assert_eq!(code.expect("readable"), 0);
}

#[test]
fn metadata_of_tasks_is_checked_with_the_place_of_the_mistake() {
    let directory = directory(&[
        (
            "m/tasks/wrong.json",
            "{\n  \"parameters\": {\n    \"a\": { \"type\": \"Strin\" }\n  }\n}\n",
        ),
        (
            "m/tasks/text.json",
            "{\n  \"description\": \"x\",\n  oops\n}\n",
        ),
        ("m/tasks/odd.json", "{\n  \"descripton\": \"x\"\n}\n"),
        ("m/tasks/good.json", "{\"description\": \"x\"}\n"),
        ("m/files/other.json", "[1]\n"),
    ]);
    let path = directory.path().join("m");
    let (code, printed) = validate(&[path.to_str().expect("UTF-8")]);
    for part in [
        "m/tasks/wrong.json:3:12",
        "parameters.a.type: unknown type 'Strin'",
        "m/tasks/text.json:3:3",
        "m/tasks/odd.json:2:3",
        "`descripton` is an unknown key of task metadata",
        "4 files: 2 errors, 1 warning",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert_eq!(code.expect("readable"), 1);
}

#[test]
fn a_single_yaml_plan_is_checked_wherever_it_is_and_told_to_programs() {
    let wrong = "steps:\n  - comand: uptime\n    targets: a\n  - task: x\n    target: a\n";
    let directory = directory(&[("elsewhere.yaml", wrong), ("nothing/README.md", "")]);
    let path = directory.path().join("elsewhere.yaml");
    let (code, printed) = validate(&[path.to_str().expect("UTF-8"), "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let findings = document["files"][0]["findings"].as_array().expect("a list");
    let places: Vec<_> = findings
        .iter()
        .map(|one| (one["code"].as_str(), one["place"]["line"].as_u64()))
        .collect();
    let plan = Some("INVALID_PLAN");
    assert_eq!(places, [(plan, Some(2)), (plan, Some(5)), (plan, Some(4))]);
    assert_eq!(
        (code.expect("readable"), &document["errors"]),
        (1, &3.into())
    );
    let nothing = directory.path().join("nothing");
    let (code, printed) = validate(&[nothing.to_str().expect("UTF-8")]);
    assert_eq!(code.expect("readable"), 0);
    assert!(
        printed.starts_with("0 files: nothing to check"),
        "{printed}"
    );
}
