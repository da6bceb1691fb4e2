//! Functions of both APIs, and the values that they take and give.

use pcore::{Hash, Type, Value};
use ruby_workers::{RubyCallError, RubyFunctionApi, list_ruby_functions};

use crate::fixture::{Fixture, TestCompiler, block, strings};

#[test]
fn functions_of_debians_stdlib_give_their_results() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let mut call = |name: &str, arguments: &[Value]| {
        let result = session.call_function(name, arguments, None, &mut compiler);
        result.expect(name).to_string()
    };
    // 3.x
    assert_eq!(call("any2array", &["a".into()]), "[a]");
    assert_eq!(
        call("suffix", &[strings(&["a", "b"]), "p".into()]),
        "[ap, bp]"
    );
    assert_eq!(call("str2bool", &["yes".into()]), "true");
    // 4.x
    let hash: Hash = [("k", Value::from(vec![1.into(), Value::Undef]))]
        .into_iter()
        .collect();
    assert_eq!(call("to_json", &[hash.into()]), r#"{"k":[1,null]}"#);
}

#[test]
fn dispatches_choose_by_types_and_their_failures_have_puppets_text() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.write(
        "lib/puppet/functions/site/kind.rb",
        "Puppet::Functions.create_function(:'site::kind') do
           dispatch(:number) { param 'Integer[0]', :a; return_type 'String' }
           dispatch(:text) { param 'String', :a; optional_param 'Integer', :b }
           def number(a) = \"number #{a}\"
           def text(a, b = 7) = \"text #{a} #{b}\"
         end",
    );
    let call = |arguments: &[Value]| fixture.call("site::kind", arguments);
    assert_eq!(call(&[3.into()]).expect("a text").to_string(), "number 3");
    let result = call(&["x".into(), 4.into()]).expect("a text");
    assert_eq!(result.to_string(), "text x 4");
    let error = call(&[true.into()]).expect_err("no dispatch").to_string();
    assert!(
        error.contains("expects a value of type Integer or String"),
        "{error}"
    );
}

#[test]
fn values_of_every_kind_return_as_they_were() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function("same", "value", "value");
    fixture.function("classes", "*values", "values.map { |v| v.class.name }");
    let key = Value::from(vec![Value::from(1), 2.into()]);
    let mut hash = Hash::new();
    hash.insert(key, Value::Default);
    let ty = |text: &str| Value::from(Type::named(text, &|_| None));
    let values = [
        Value::Undef,
        Value::Default,
        i64::MIN.into(),
        0.5.into(),
        "ü\u{0}".into(),
        hash.into(),
        Value::sensitive("secret".into()),
        Value::Regexp(pcore::Regexp::new("a+")),
        ty("Integer"),
        Value::from([("__ptype", "text")].into_iter().collect::<Hash>()),
    ];
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    for value in &values {
        let arguments = std::slice::from_ref(value);
        let result = session.call_function("site::same", arguments, None, &mut compiler);
        assert_eq!(&result.expect("the value"), value);
    }
    let result = session.call_function("site::classes", &values[..5], None, &mut compiler);
    let classes = result.expect("classes").to_string();
    assert_eq!(classes, "[NilClass, Symbol, Integer, Float, String]");
}

#[test]
fn legacy_functions_get_converted_arguments_as_in_puppet() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.legacy_function("legacy", "args.map { |x| x.inspect }.join(' ')");
    fixture.legacy_function("gives_undef", "{ 'a' => [:undef] }");
    let regexp = Value::Regexp(pcore::Regexp::new("a"));
    let nested = Value::from(vec![Value::Undef]);
    let arguments = [Value::Undef, nested, regexp];
    let result = fixture.call("legacy", &arguments).expect("a text");
    assert_eq!(result.to_string(), r#""" [nil] "/a/""#);
    let result = fixture.call("gives_undef", &[]).expect("a hash");
    let element = result.as_hash().and_then(|hash| hash.get_str("a"));
    assert_eq!(element, Some(&Value::from(vec![Value::Undef])));
}

#[test]
fn blocks_of_the_caller_run_there() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.write(
        "lib/puppet/functions/site/twice.rb",
        "Puppet::Functions.create_function(:'site::twice') do
           dispatch(:twice) { param 'Any', :a; block_param 'Callable[2,2]', :block }
           def twice(a, &block) = [yield(a, 1), block.call(a, 2)]
         end",
    );
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let arguments = [Value::from("x")];
    let mut call = |shape| session.call_function("site::twice", &arguments, shape, &mut compiler);
    let result = call(block(1, 2)).expect("two texts");
    assert_eq!(result.to_string(), "[<[x, 1]>, <[x, 2]>]");
    let error = call(block(1, 1)).expect_err("one parameter").to_string();
    assert!(error.contains("block expects 2 arguments"), "{error}");
    let error = call(None).expect_err("no block").to_string();
    assert!(error.contains("block"), "{error}");
    // a `break` of the compiler passes through Ruby
    let error = call(block(2, 2)).expect_err("a break");
    let RubyCallError::Aborted { abort, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(abort.0.downcast_ref::<&str>(), Some(&"break"));
    let result = call(block(1, 2)).expect("the session goes on");
    assert_eq!(result.to_string(), "[<[x, 1]>, <[x, 2]>]");
}

#[test]
fn exceptions_have_message_file_and_line() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function(
        "raises",
        "kind",
        "raise Object.const_get(kind), 'on purpose'",
    );
    fixture.legacy_function("raises3", "raise Puppet::ParseError, 'three'");
    for class in [
        "ArgumentError",
        "Exception",
        "NotImplementedError",
        "Interrupt",
    ] {
        let error = fixture.call("site::raises", &[class.into()]);
        let Err(RubyCallError::Raised { exception, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(exception.class, class);
        assert_eq!(exception.message, "on purpose");
        let file = fixture.module().join("lib/puppet/functions/site/raises.rb");
        assert_eq!(exception.file, Some(file));
        assert_eq!(exception.line, Some(3));
    }
    let error = fixture.call("raises3", &[]).expect_err("an error");
    assert!(error.to_string().contains("raises3.rb, line: 2"), "{error}");
}

#[test]
fn broken_files_are_named() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.write(
        "lib/puppet/functions/site/broken.rb",
        "Puppet::Functions.create_function(:'site::broken') do\n  def broken(\n",
    );
    fixture.write(
        "lib/puppet/functions/site/misnamed.rb",
        "Puppet::Functions.create_function(:other) do\n  def other\n  end\nend\n",
    );
    let error = fixture
        .call("site::broken", &[])
        .expect_err("a syntax error");
    assert!(error.to_string().contains("site/broken.rb"), "{error}");
    let error = fixture
        .call("site::misnamed", &[])
        .expect_err("a wrong name");
    assert!(error.to_string().contains("mis-matched name"), "{error}");
    let error = fixture.call("site::missing", &[]).expect_err("no function");
    assert!(error.to_string().contains("Unknown function"), "{error}");
}

#[test]
fn functions_are_listed_without_ruby() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function("listed", "a", "a");
    fixture.legacy_function("listed3", "1");
    let functions = list_ruby_functions(&fixture.environment("1"));
    let find = |name: &str| functions.iter().find(|function| function.name == name);
    let listed = find("site::listed").expect("a function");
    assert_eq!(listed.api, RubyFunctionApi::V4);
    assert_eq!(listed.module.as_deref(), Some("site"));
    let legacy = find("listed3").expect("a function");
    assert_eq!(legacy.api, RubyFunctionApi::V3);
    assert!(find("any2array").is_some());
}
