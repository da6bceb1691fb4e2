//! Applications, sites, capabilities and mappings, where they are enabled.

use syntax::SyntaxOptions;
use syntax::ast::{CapabilityRole, DefinitionKind};

use crate::{errors, read, read_as};

fn options() -> SyntaxOptions {
    SyntaxOptions {
        applications: true,
        ..SyntaxOptions::default()
    }
}

fn faults(code: &str) -> Vec<String> {
    errors(&read_as(code, options()))
}

const LAMP: &str = "application lamp(String $password, Integer $count = 1) {
  lamp::mysql { $name: db_password => $password, export => Sql[$name] }
  lamp::webapp { \"${name}-1\": consume => Sql[$name] }
}
capability sql(String $host, Integer $port = 3306) { }
Lamp::Mysql produces Sql { host => $facts['networking']['fqdn'], port => 3306, }
Lamp::Webapp consumes Sql { db_host => $host }
Class[lamp::cache] produces Sql { }
site {
  lamp { 'app1': password => 'x', nodes => { Node['a'] => Lamp::Mysql['app1'] } }
  Lamp::Other consumes Sql { }
}
";

#[test]
fn definitions_and_mappings_are_read() {
    let parsed = read_as(LAMP, options());
    assert_eq!(errors(&parsed), [""; 0]);
    let ast = &parsed.ast;
    let found: Vec<String> = ast
        .definitions()
        .iter()
        .map(|one| match one.kind {
            DefinitionKind::Application(body) | DefinitionKind::Capability(body) => format!(
                "{} {} {}",
                one.kind.label(),
                ast.text(body.name),
                body.params.len()
            ),
            DefinitionKind::Site(_) => "site".to_owned(),
            DefinitionKind::CapabilityMapping(mapping) => format!(
                "{} {} {}",
                mapping.role.text(),
                ast.text(mapping.capability),
                mapping.ops.len()
            ),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        "Application lamp 2",
        "Capability sql 2",
        "produces Sql 2",
        "consumes Sql 1",
        "produces Sql 0",
        "consumes Sql 0",
        "site",
    ];
    assert_eq!(found, expected);
    let roles = [CapabilityRole::Produces, CapabilityRole::Consumes];
    assert_eq!(roles.map(CapabilityRole::text), ["produces", "consumes"]);
}

#[test]
fn the_words_remain_names() {
    let code = "$application = [application, site, produces, consumes, capability]
$site = { site => site, application => 1, 'capability' => produces }
class application($site, $produces = consumes) { include site }
class site { }
define produces($consumes) { notify { \"${site} ${application}\": } }
produces { 'x': consumes => 1 }
application { 'x': site => 2 }
notice(application($site), site)
include produces
Produces { consumes => 1 }
";
    assert_eq!(faults(code), [""; 0]);
    assert_eq!(errors(&read(code)), [""; 0]);
}

#[test]
fn without_the_setting_the_words_are_names_and_faults_name_it() {
    for code in [
        "site { lamp { 'a': } }",
        "application lamp($a) { }",
        "Lamp produces Sql { host => 1 }",
        "Lamp consumes Sql { }",
    ] {
        let parsed = read(code);
        let help: Vec<String> = parsed
            .diagnostics
            .iter()
            .flat_map(|one| one.help.iter().map(ToString::to_string))
            .collect();
        assert!(!errors(&parsed).is_empty(), "{code}");
        assert!(
            help.iter().any(|it| it.contains("`applications = true`")),
            "{code}: {help:?}"
        );
        assert_eq!(faults(code), [""; 0], "{code}");
    }
    assert_eq!(errors(&read("site { 'a': b => 1 }")), [""; 0]);
}

#[test]
fn faults_are_those_of_puppet() {
    let cases = [
        (
            "foo produces Sql { }",
            "1:1 Illegal type reference. The given name 'foo' does not conform to the naming rule",
        ),
        (
            "Foo consumes sql { }",
            "1:1 Illegal type reference. The given name 'sql' does not conform to the naming rule",
        ),
        (
            "Foo produces Sql { a +> 1 }",
            "1:20 Illegal +> operation on attribute a. This operator can not be used in a Capability Mapping",
        ),
        (
            "Foo produces Sql { * => $x }",
            "1:20 The operator '* =>' in a Capability Mapping is not supported.",
        ),
        (
            "Foo['a', 'b'] produces Sql { }",
            "1:1 Illegal expression. A '[]' expression is unacceptable as a component in a Capability Mapping",
        ),
        (
            "File['a'] produces Sql { }",
            "1:1 Illegal expression. A '[]' expression is unacceptable as a component in a Capability Mapping",
        ),
        (
            "Foo produces Sql { a => 1, a => 2 }",
            "1:28 The attribute 'a' is mapped more than once",
        ),
        (
            "application a($nodes) { }",
            "1:15 The parameter $nodes redefines a built in parameter in the Application",
        ),
        (
            "application a($title) { }",
            "1:15 The parameter $title redefines a built in parameter in the Application",
        ),
        (
            "application a { 1 }",
            "1:17 This Literal Integer has no effect. An Application can not end with a value-producing expression without other effect",
        ),
        (
            "application A { }",
            "1:1 Unacceptable name. The name 'A' is unacceptable as the name of an Application",
        ),
        (
            "capability a($b) { notice(1) }",
            "1:20 A Capability has no statements: its parameters are its attributes",
        ),
        (
            "class a { site { } }",
            "1:11 A Site Definition may only appear at toplevel",
        ),
        (
            "define a { application b { } }",
            "1:12 Classes, definitions, and nodes may only appear at toplevel or inside other classes",
        ),
        (
            "class a { Foo produces Sql { } }",
            "1:11 Capability mappings may only appear at toplevel or inside a site",
        ),
        (
            "$x = site { }",
            "1:6 Invalid use of expression. A Site Definition does not produce a value",
        ),
    ];
    for (code, expected) in cases {
        let found = faults(code);
        assert_eq!(found.first().map(String::as_str), Some(expected), "{code}");
    }
}

#[test]
fn broken_constructs_are_faults_at_the_token() {
    let cases = [
        ("site {", "Syntax error at end of input"),
        ("application a( { }", "1:16 Syntax error at '{'"),
        ("Foo produces Sql host", "1:18 Syntax error at 'host'"),
        ("Foo produces { }", "1:1 This Type-Name has no effect"),
        ("application { }", ""),
    ];
    for (code, expected) in cases {
        let found = faults(code);
        let first = found.first().cloned().unwrap_or_default();
        assert!(first.contains(expected), "{code}: {found:?}");
    }
}

#[test]
fn files_of_modules_have_no_site() {
    let source = std::sync::Arc::new(syntax::SourceText::new(None, LAMP));
    let file = std::path::Path::new("/m/lamp/manifests/init.pp");
    let location = syntax::ModuleLocation::of(file, std::path::Path::new("/m"));
    let parsed = syntax::parse_at(&source, options(), location.as_ref());
    let found = errors(&parsed);
    assert_eq!(
        found,
        [
            "9:1 This Site Definition is unacceptable as a top level construct in this location",
            "5:1 Unacceptable location. The name 'sql' is unacceptable in file '/m/lamp/manifests/init.pp'",
        ]
    );
}
