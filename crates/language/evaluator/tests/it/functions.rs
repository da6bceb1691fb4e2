//! Core functions. Every expected result is that of real Puppet.

use std::cell::RefCell;
use std::sync::Arc;

use crate::world::{all, error, evaluator};
use evaluator::function::{core_docs, core_functions, documentation_faults};
use evaluator::{
    CodeMap, CodeModule, CodeOwner, CodeReadError, CodeSource, EvaluationHost, EvaluationLimits,
    Evaluator, LogLevel, ParseCache, SourceFile, SourceLocation,
};
use pcore::Value;

#[test]
fn iteration() {
    all(&[
        ("{a => 1, b => 2}.filter |$k, $v| { $v > 1 }", "{'b' => 2}"),
        ("[3, 4].filter |$i, $v| { $i == 1 }", "[4]"),
        ("[1, 2].all |$x| { $x > 0 }", "true"),
        ("[1, 2].any |$x| { $x > 1 }", "true"),
        ("[1, 2, 3].reduce |$m, $x| { $m + $x }", "6"),
        ("[].reduce |$m, $x| { $m + $x }", "undef"),
        ("[1, 2, 3].slice(2)", "[[1, 2], [3]]"),
        ("[1, 2, 3].slice(2) |$a, $b| { }", "[1, 2, 3]"),
        ("Integer[1, 10].step(3).map |$x| { $x }", "[1, 4, 7, 10]"),
        ("[1, 2].reverse_each.map |$x| { $x }", "[2, 1]"),
        ("3.map |$x| { $x }", "[0, 1, 2]"),
        ("'ab'.map |$x| { $x }", "['a', 'b']"),
        ("[1, 2, 3].partition |$x| { $x > 1 }", "[[2, 3], [1]]"),
        (
            "[a, bb, c].group_by |$x| { $x.length }",
            "{1 => ['a', 'c'], 2 => ['bb']}",
        ),
        ("[a, b].index(b)", "1"),
        ("{a => 1}.index |$v| { $v == 1 }", "'a'"),
        ("1.then |$x| { $x + 1 }", "2"),
        ("undef.lest || { 3 }", "3"),
    ]);
}

#[test]
fn texts_and_lists() {
    all(&[
        ("upcase({a => [b, 1]})", "{'A' => ['B', 1]}"),
        ("'foo_bar'.camelcase", "'FooBar'"),
        ("'  a b '.strip", "'a b'"),
        ("['a', [1, undef, [2.5]]].join('-')", "'a-1--2.5'"),
        ("'a,b,,'.split(',')", "['a', 'b']"),
        ("split(Sensitive('a b'), ' ').unwrap", "['a', 'b']"),
        ("['0x1F'.floor, ' 1_0.5 '.ceiling]", "[31, 11]"),
        ("max(Timespan(3), Timespan(5)) == Timespan(5)", "true"),
        ("'aXbX'.regsubst('x', '<\\0>', 'GI')", "'a<X>b<X>'"),
        ("'ab'.match(/(.)(.)/)", "['ab', 'a', 'b']"),
        ("[3, 1, 2].sort", "[1, 2, 3]"),
        ("['a', 'C'].sort |$a, $b| { compare($a, $b) }", "['a', 'C']"),
        ("[1, 1.0, a, 'A', a].unique", "[1, 1.0, 'a', 'A']"),
        ("{a => [{b => 5}]}.dig(a, 0, b)", "5"),
        ("{a => [{b => 5}]}.get('a.0.b')", "5"),
        ("$x = {a => 1}\ngetvar('x.a')", "1"),
        ("getvar('nope', 7)", "7"),
        ("versioncmp('1.2', '1.10')", "-1"),
        ("[max(1, 2.5), min('b', 'a')]", "[2.5, 'a']"),
        (
            "[round(2.5), round(-2.5), floor(-0.5), ceiling(0.1)]",
            "[3, -3, -1, 1]",
        ),
        ("defined('$x')", "false"),
        ("inline_epp('<% | $a | %>x<%= $a %>y', {a => 1})", "'x1y'"),
        ("$z = 3\ninline_epp('<%= $z %>')", "'3'"),
    ]);
}

#[test]
fn calls_that_fit_no_form_say_what_is_taken() {
    assert_eq!(
        error("size(1)"),
        "Evaluation Error: Error while evaluating a Function Call, 'size' parameter 'arg' expects a value of type Collection, String, or Binary, got Integer (file: case.pp, line: 1, column: 1)"
    );
    assert_eq!(
        error("flatten() |$x| { }"),
        "Evaluation Error: Error while evaluating a Function Call, 'flatten' does not expect a block (file: case.pp, line: 1, column: 1)"
    );
}

#[test]
fn logs_go_to_the_host() {
    let (world, mut evaluator) = evaluator(CodeMap::new());
    let value = evaluator.evaluate("warning('a', [1, undef], 2)", None);
    assert!(value.is_ok_and(|it| it.is_undef()));
    assert_eq!(
        *world.logged.borrow(),
        [(LogLevel::Warning, "a [1, ] 2".to_owned())]
    );
}

/// The examples run where the fact `networking.fqdn` is known and a module `demo` has two files.
#[test]
fn examples_of_the_documentation_have_their_outcome() {
    let code = CodeMap::new()
        .with("modules/demo/files/motd", *b"Welcome")
        .with("modules/demo/templates/hello.epp", *b"Hello <%= $name %>");
    let facts = serde_json::json!({"networking": {"fqdn": "web1.example.com"}});
    let faults = documentation_faults(core_functions(), core_docs(), |example| {
        let (_, mut evaluator) = evaluator(code.clone());
        evaluator.set_global("facts", Value::from_json(&facts));
        match evaluator.evaluate(example, None) {
            Ok(value) => Ok(value.to_program_string()),
            Err(unwind) => Err(unwind.into_error().expect("nothing interrupts").message),
        }
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Code that notes the modules that were asked for, as the journal of a plan does.
#[derive(Default)]
struct NotedCode {
    code: CodeMap,
    asked: RefCell<Vec<String>>,
}

impl CodeSource for NotedCode {
    fn module(&self, name: &str) -> Option<CodeModule> {
        self.asked.borrow_mut().push(name.to_owned());
        self.code.module(name)
    }

    fn modules(&self) -> Vec<Arc<str>> {
        self.code.modules()
    }

    fn read(&self, owner: CodeOwner<'_>, path: &str) -> Result<Option<SourceFile>, CodeReadError> {
        self.code.read(owner, path)
    }
}

impl EvaluationHost for NotedCode {
    fn code(&self) -> &dyn CodeSource {
        self
    }

    fn log(&self, _: LogLevel, _: &str, _: &SourceLocation) {}
}

#[test]
fn a_plan_asks_only_for_the_module_before_the_folder_of_an_absolute_path() {
    let host = NotedCode::default();
    let mut evaluator = Evaluator::new(&host, EvaluationLimits::default(), ParseCache::new());
    let found = evaluator.evaluate("find_file('/etc/code/modules/m/files/a')", None);
    assert!(found.is_ok_and(|it| it.is_undef()));
    let long = format!("find_file('{}')", "/files/".repeat(1_000));
    assert!(
        evaluator
            .evaluate(&long, None)
            .is_ok_and(|it| it.is_undef())
    );
    drop(evaluator);
    assert_eq!(*host.asked.borrow(), ["m"]);
}
