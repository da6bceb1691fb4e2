//! Questions of Ruby code to the compiler.

use pcore::{Hash, Value};
use ruby_workers::RubyCallError;

use crate::fixture::{Fixture, TestCompiler, strings};

#[test]
fn variables_come_from_the_scope_and_the_closure_scope() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function(
        "vars",
        "",
        "[closure_scope['top'], closure_scope.lookupvar('a::b'), closure_scope['facts']['os']]",
    );
    fixture.legacy_function(
        "vars3",
        "[lookupvar('x'), self['y'], include?('x'), include?('no'), exist?('y'), bound?('no')]",
    );
    let facts: Hash = [("os", "Debian")].into_iter().collect();
    let mut compiler = TestCompiler::with_variables(&[
        ("top", "t".into()),
        ("a::b", 1.into()),
        ("facts", facts.into()),
        ("x", "local".into()),
        ("y", Value::Undef),
    ]);
    let session = fixture.session();
    let result = session.call_function("site::vars", &[], None, &mut compiler);
    assert_eq!(result.expect("values").to_string(), "[t, 1, Debian]");
    assert_eq!(
        compiler.asked,
        ["variable ::top", "variable ::a::b", "variable ::facts"]
    );
    let result = session.call_function("vars3", &[], None, &mut compiler);
    let values = result.expect("values").to_string();
    assert_eq!(values, "[local, , true, false, true, false]");
    // facts cannot change, so they are asked for once
    compiler.asked.clear();
    let result = session.call_function("site::vars", &[], None, &mut compiler);
    result.expect("values");
    assert_eq!(compiler.asked, ["variable ::top", "variable ::a::b"]);
}

#[test]
fn an_unknown_variable_fails_where_variables_are_strict() {
    for (strict, expected) in [("error", None), ("off", Some("nothing"))] {
        let fixture = Fixture::with(|settings| {
            settings.puppet_settings = vec![("strict".to_owned(), strict.to_owned())];
        });
        let Some(fixture) = fixture else { return };
        fixture.legacy_function("unknown", "lookupvar('no').nil? ? 'nothing' : 'something'");
        let result = fixture.call("unknown", &[]);
        match expected {
            Some(text) => assert_eq!(result.expect("a text").to_string(), text),
            None => {
                let error = result.expect_err("an error").to_string();
                assert!(error.contains("Undefined variable 'no'"), "{error}");
            }
        }
    }
}

#[test]
fn functions_of_the_compiler_come_before_those_in_ruby() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function("inner", "a", "\"inner #{a}\"");
    fixture.function(
        "outer",
        "",
        "[call_function('host', 1), call_function('site::inner', 2), call_function('any2array', 3)]",
    );
    fixture.legacy_function(
        "outer3",
        "[function_host([1]), call_function('site::inner', [2]), function_any2array([3])]",
    );
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    for name in ["site::outer", "outer3"] {
        let result = session.call_function(name, &[], None, &mut compiler);
        assert_eq!(result.expect("values").to_string(), "[[1], inner 2, [3]]");
    }
    let calls = compiler
        .asked
        .iter()
        .filter(|asked| asked.starts_with("call "));
    assert_eq!(calls.count(), 2, "{:?}", compiler.asked);
}

#[test]
fn calls_nest_in_both_directions() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function(
        "blocks",
        "list",
        "call_function('host_map', list) { |x| call_function('host', x + 1) }",
    );
    fixture.function(
        "deep",
        "n",
        "n.zero? ? 'bottom' : call_function('host_again', 'site::deep', n - 1)",
    );
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let list = Value::from(vec![Value::from(1), 2.into()]);
    let result = session.call_function("site::blocks", &[list], None, &mut compiler);
    assert_eq!(result.expect("a list").to_string(), "[[2], [3]]");
    let result = session.call_function("site::deep", &[20.into()], None, &mut compiler);
    assert_eq!(result.expect("a text").to_string(), "bottom");
    let result = session.call_function("site::deep", &[500.into()], None, &mut compiler);
    let Err(RubyCallError::Aborted { abort, .. }) = result else {
        panic!("{result:?}");
    };
    let reason = abort.0.downcast_ref::<RubyCallError>();
    assert!(
        matches!(reason, Some(RubyCallError::TooDeep { .. })),
        "{reason:?}"
    );
    let result = session.call_function("site::deep", &[1.into()], None, &mut compiler);
    assert_eq!(result.expect("a text").to_string(), "bottom");
}

#[test]
fn failures_of_the_compiler_can_be_rescued() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function(
        "rescues",
        "",
        "begin; call_function('fail_here'); rescue StandardError => e; e.message; end",
    );
    fixture.function("passes", "", "call_function('fail_here')");
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let mut call = |name| session.call_function(name, &[], None, &mut compiler);
    let result = call("site::rescues").expect("a text").to_string();
    assert_eq!(result, "fail_here fails in the compiler");
    let error = call("site::passes").expect_err("an error").to_string();
    assert!(error.contains("fail_here fails in the compiler"), "{error}");
}

#[test]
fn messages_are_logged_and_printed_text_is_passed_on() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function(
        "speaks",
        "",
        "Puppet.warning('careful'); puts 'out'; $stderr.puts 'err'; system('echo child'); $stdin.read.inspect",
    );
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let result = session.call_function("site::speaks", &[], None, &mut compiler);
    assert_eq!(result.expect("a text").to_string(), r#""""#);
    assert_eq!(compiler.log, [("warning".to_owned(), "careful".to_owned())]);
    assert_eq!(compiler.printed, "out\nerr\nchild\n");
}

#[test]
fn resources_are_declared_through_the_compiler() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function(
        "declares",
        "",
        "r = Struct.new(:type, :title, :to_hash, :virtual, :exported).new('File', '/x', { ensure: 'file' }, false, false)
         closure_scope.compiler.add_resource(closure_scope, r)
         nil",
    );
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let result = session.call_function("site::declares", &[], None, &mut compiler);
    assert_eq!(result.expect("undef"), Value::Undef);
    let parameters: Hash = [("ensure", "file")].into_iter().collect();
    assert_eq!(
        compiler.declared,
        [("File".to_owned(), Value::from("/x"), parameters)]
    );
}

#[test]
fn internals_of_the_compiler_are_refused_by_name() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let cases = [
        (
            "closure_scope.catalog.resource('File', '/x')",
            "scope.catalog.resource",
        ),
        (
            "closure_scope.compiler.known_resource_types",
            "scope.compiler.known_resource_types",
        ),
        (
            "closure_scope.findresource('File[/x]')",
            "scope.findresource",
        ),
        ("closure_scope.resource", "scope.resource"),
        (
            "begin; closure_scope.catalog.edges; rescue Exception; 1; end",
            "scope.catalog.edges",
        ),
    ];
    fixture.functions("reaches", cases.map(|(body, _)| body));
    fixture.function(
        "tags",
        "",
        "[closure_scope.catalog.tags, closure_scope.catalog.classes]",
    );
    for (index, (_, what)) in cases.into_iter().enumerate() {
        let error = fixture.call(&format!("site::reaches{index}"), &[]);
        let Err(RubyCallError::NotIsolated { what: refused, .. }) = &error else {
            panic!("{error:?}");
        };
        assert_eq!(refused, what);
    }
    let result = fixture.call("site::tags", &[]).expect("tags and classes");
    let expected = vec![strings(&["red", "blue"]), strings(&["settings", "site"])];
    assert_eq!(result, Value::from(expected));
}
