//! Changes of one compile are not seen by the next one, nor by another version.

use ruby_workers::RubyEnvironment;

use crate::fixture::{Fixture, TestCompiler};

#[test]
fn globals_classes_and_variables_of_the_process_end_with_the_session() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function(
        "changes",
        "",
        "$global = 1; ENV['SITE'] = 'x'; Dir.chdir('/tmp'); File.umask(0)
         String.class_eval { def upcase = 'patched' }
         Puppet[:strict] = :off
         Puppet.define_singleton_method(:version) { 'patched' }
         'done'",
    );
    fixture.function(
        "sees",
        "",
        "[$global, ENV['SITE'], Dir.pwd, File.umask, 'a'.upcase, Puppet.version == 'patched']",
    );
    let clean = "[, , /, 18, A, false]";
    assert_eq!(
        fixture.call("site::sees", &[]).expect("values").to_string(),
        clean
    );
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let result = session.call_function("site::changes", &[], None, &mut compiler);
    assert_eq!(result.expect("a text").to_string(), "done");
    let result = session.call_function("site::sees", &[], None, &mut compiler);
    let seen = result.expect("values").to_string();
    assert_eq!(seen, "[1, x, /tmp, 0, patched, true]");
    // at the same time and afterwards
    assert_eq!(
        fixture.call("site::sees", &[]).expect("values").to_string(),
        clean
    );
    drop(session);
    assert_eq!(
        fixture.call("site::sees", &[]).expect("values").to_string(),
        clean
    );
}

#[test]
fn a_version_has_its_own_code() {
    let (Some(one), Some(two)) = (Fixture::new(), Fixture::new()) else {
        return;
    };
    one.function("which", "", "'one'");
    two.function("which", "", "'two'");
    let other = RubyEnvironment {
        version: "2".to_owned(),
        ..two.environment("2")
    };
    let mut compiler = TestCompiler::default();
    let mut first = one.session();
    let mut second = one.workers.session(&other).expect("a session");
    let mut call = |session: &ruby_workers::RubySession| {
        let result = session.call_function("site::which", &[], None, &mut compiler);
        result.expect("a text").to_string()
    };
    assert_eq!(call(&mut first), "one");
    assert_eq!(call(&mut second), "two");
    one.workers.forget(&other);
    assert_eq!(call(&mut second), "two");
}

#[test]
fn random_numbers_differ_between_sessions() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function("random", "", "rand(2**60)");
    let first = fixture.call("site::random", &[]).expect("a number");
    let second = fixture.call("site::random", &[]).expect("a number");
    assert_ne!(first, second);
}
