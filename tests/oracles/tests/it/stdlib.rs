//! `stdlib` against puppetlabs-stdlib 8.5 in Puppet 8: the programs of `cases/stdlib/programs.txt`, every function
//! with values of every kind, and every type alias with the texts of `cases/stdlib/texts.txt`.
//!
//! What differs is told by [`difference`], with its reason; a reason that nothing has any more fails the
//! test.

use std::collections::{HashMap, HashSet};

use evaluator::function::NativeFunction;
use evaluator::{
    CodeMap, CodeSource, EvaluationHost, EvaluationLimits, Evaluator, LogLevel, ParseCache,
    SourceLocation,
};
use oracles::{Puppet, ask_puppet, blocks, cases};
use pcore::{Type, Value};
use serde_json::{Value as Json, json};

use crate::evaluation::{agree, answer};

/// Alone, and each with each.
const VALUES: [&str; 24] = [
    "undef",
    "default",
    "true",
    "false",
    "1",
    "-3",
    "2.5",
    "''",
    "'a'",
    "'5'",
    "'yes'",
    "\"a b\\n\"",
    "'/a/b.c'",
    "'::1'",
    "[]",
    "[1,'a',undef]",
    "['b','a','b',[1.0]]",
    "{}",
    "{'a'=>1,'b'=>{'c'=>undef}}",
    "/a.c/",
    "Integer[1,3]",
    "Sensitive('x')",
    "Timespan(5)",
    "'a..e'",
];

/// As second arguments.
const SECOND: [&str; 8] = [
    "undef", "true", "2", "'a'", "''", "['a',1]", "{'a'=>1}", "/a/",
];

/// As third arguments.
const THIRD: [&str; 3] = ["undef", "'b'", "true"];

/// Functions whose answer is not a matter of their arguments, or that stdlib 8.5 has not.
const LEFT_OUT: [&str; 31] = [
    // chance and clock
    "shuffle",
    "str2saltedsha512",
    "time",
    // a debugger, the server's files and programs
    "pry",
    "glob",
    "validate_augeas",
    "validate_cmd",
    "validate_x509_rsa_key_pair",
    "loadyaml",
    "loadjson",
    "get_module_path",
    "load_module_metadata",
    // resources
    "ensure_packages",
    "ensure_resource",
    "ensure_resources",
    "defined_with_params",
    "getparam",
    "stdlib::str2resource",
    "assert_private",
    "private",
    // warnings, and functions of other answers in stdlib 9
    "deprecation",
    "has_interface_with",
    "has_ip_address",
    "has_ip_network",
    "os_version_gte",
    "is_function_available",
    // bundled elsewhere: needs the gem
    "parsehocon",
    "stdlib::deferrable_epp",
    // 40,001 rounds, or a million elements, take long
    "str2saltedpbkdf2",
    "range",
    // what Puppet says of its arguments counts one that nobody gives
    "validate_legacy",
];

/// Namespaced functions of stdlib 8.5; the others are compared by their plain names. `stdlib::ensure` takes
/// one argument too since 9.
const NAMESPACED: [&str; 5] = [
    "stdlib::end_with",
    "stdlib::extname",
    "stdlib::ip_in_range",
    "stdlib::start_with",
    "stdlib::xml_encode",
];

struct Site(CodeMap);

impl EvaluationHost for Site {
    fn code(&self) -> &dyn CodeSource {
        &self.0
    }

    fn function(&self, name: &str) -> Option<&'static NativeFunction> {
        stdlib::function(name)
    }

    fn named_type(&self, name: &str) -> Option<Type> {
        stdlib::named_type(name)
    }

    fn log(&self, _: LogLevel, _: &str, _: &SourceLocation) {}
}

fn facts() -> Json {
    json!({
        "fqdn": "web1.example.com",
        "networking": {"fqdn": "web1.example.com", "interfaces": {"eth0": {"ip": "10.0.0.1"}}},
        "os": {"name": "Debian", "release": {"major": "12", "full": "12.5"}},
        "list": [{"a": 1}, "two"],
        "dotted.name": {"x": "y"},
    })
}

fn functions() -> Vec<&'static str> {
    let mut names: Vec<&str> = stdlib::function_names()
        .filter(|name| !name.contains("::") || NAMESPACED.contains(name))
        .filter(|name| !LEFT_OUT.contains(name))
        .collect();
    names.sort_unstable();
    names
}

fn programs() -> Vec<String> {
    let mut programs = blocks("stdlib/programs.txt").unwrap();
    for name in functions() {
        programs.push(format!("{name}()"));
        for first in VALUES {
            programs.push(format!("{name}({first})"));
            for second in SECOND {
                programs.push(format!("{name}({first}, {second})"));
            }
        }
        for first in VALUES {
            for third in THIRD {
                programs.push(format!("{name}({first}, 'a', {third})"));
            }
        }
    }
    let texts = cases("stdlib/texts.txt").unwrap().join(", ");
    let mut aliases: Vec<&str> = stdlib::type_alias_names().collect();
    aliases.sort_unstable();
    for alias in aliases {
        programs.push(format!("[{texts}].filter |$it| {{ $it =~ {alias} }}"));
    }
    programs
}

fn ours(program: &str) -> Json {
    let site = Site(CodeMap::new());
    let mut evaluator = Evaluator::new(&site, EvaluationLimits::default(), ParseCache::new());
    evaluator.set_global("facts", Value::from_json(&facts()));
    let outcome = evaluator.evaluate(program, Some("/case.pp"));
    answer(outcome)
}

/// Texts of Ruby itself: there any refusal will do.
fn is_rubys(text: &str) -> bool {
    const RUBYS: [&str; 23] = [
        "wrong number of arguments (given",
        "wrong argument type",
        "comparison of",
        "unexpected token",
        // what is left of it where multi_json is installed
        "JSON::ParserError",
        "invalid base64",
        "end pattern with unmatched",
        "premature end of char-class",
        "target of repeat operator",
        "invalid radix",
        "did not find",
        "could not find",
        "Tried to load unspecified class",
        "not allowed in JSON",
        "bad value for range",
        "can't iterate from",
        "String can't be coerced into",
        "nil can't be coerced",
        "is not a symbol nor a string",
        "unexpected end of input",
        "undefined local variable",
        "invalid byte sequence",
        "conversion of",
    ];
    RUBYS.iter().any(|it| text.contains(it))
}

/// Why a program is answered differently, if there is a reason that is known.
fn difference(program: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 11] = [
        (
            "parsepson(",
            "stdlib 8.5 needs PSON for it, which Puppet 8 has no more",
        ),
        ("=~ Stdlib::Dns::Zone ", "it is of stdlib 9"),
        ("=~ Stdlib::Ensure::Package ", "it is of stdlib 9"),
        ("=~ Stdlib::Http::", "it is of stdlib 9"),
        ("=~ Stdlib::IP::Address::CIDR ", "it is of stdlib 9"),
        (
            "=~ Stdlib::Host ",
            "that of stdlib 9 takes no text that only ends like an address",
        ),
        ("to_json(Sensitive(", "as in stdlib 9, it is sensitive"),
        ("to_yaml(Sensitive(", "as in stdlib 9, it is sensitive"),
        (
            "to_yaml(/",
            "what is no data is written as text, not as an object of Ruby",
        ),
        (
            "to_yaml(Timespan(",
            "what is no data is written as text, not as an object of Ruby",
        ),
        (
            "to_yaml(Integer[",
            "what is no data is written as text, not as an object of Ruby",
        ),
    ];
    let known = KNOWN.iter().find(|(part, _)| program.contains(part));
    known.map(|(_, reason)| *reason)
}

#[test]
fn functions_and_types_answer_as_stdlib_does() {
    let programs = programs();
    assert!(programs.len() > 30_000, "only {} programs", programs.len());
    let answers = ask_puppet(
        Puppet::Eight,
        "stdlib.rb",
        &json!({"facts": facts(), "programs": programs}),
    )
    .unwrap();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), programs.len());
    let mut wrong: HashMap<&str, Vec<String>> = HashMap::new();
    let mut count = 0;
    let mut met = HashSet::new();
    for (program, theirs) in programs.iter().zip(answers) {
        let ours = ours(program);
        let rubys = theirs["error"].as_str().is_some_and(is_rubys) && ours["error"].is_string();
        if rubys || agree(theirs, &ours) {
            continue;
        }
        if let Some(reason) = difference(program) {
            met.insert(reason);
            continue;
        }
        // a symbol of Ruby is a text here
        let is_symbol = theirs["type"]
            .as_str()
            .is_some_and(|it| it.contains("Runtime[ruby, 'Symbol']"));
        if is_symbol && theirs["value"] == ours["value"] {
            continue;
        }
        count += 1;
        let name = program.split('(').next().unwrap_or_default();
        let text = format!("{program}\n  stdlib {theirs}\n  ours   {ours}");
        wrong.entry(name).or_default().push(text);
    }
    let mut shown: Vec<String> = wrong
        .iter()
        .map(|(name, texts)| {
            let some: Vec<&str> = texts.iter().take(6).map(String::as_str).collect();
            format!("== {name}: {}\n{}", texts.len(), some.join("\n"))
        })
        .collect();
    shown.sort();
    assert!(
        count == 0,
        "{count} of {} differ:\n{}",
        programs.len(),
        shown.join("\n")
    );
}
