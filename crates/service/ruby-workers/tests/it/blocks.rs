//! Blocks of Ruby code that a function passes to the compiler: how they end, and their bounds.

use std::time::Duration;

use pcore::Value;
use ruby_workers::RubyCallError;

use crate::fixture::{Fixture, TestCompiler};

/// Bodies of functions, each with its result. `host_map` calls a block for each element.
const ENDS: [(&str, &str); 8] = [
    (
        "call_function('host_map', [1, 2]) { |x| break \"broken #{x}\" }",
        "broken 1",
    ),
    (
        "call_function('host_map', [1, 2]) { |x| return \"returned #{x}\" }",
        "returned 1",
    ),
    (
        "call_function('host_map', [1, 2]) { |x| next x if x == 1; call_function('host', x) }",
        "[1, [2]]",
    ),
    (
        "catch(:out) { call_function('host_map', [1]) { |x| call_function('host_map', [x]) { |y| throw :out, y } } }",
        "1",
    ),
    (
        "(1..300).map { |n| call_function('host_map', [n]) { |x| break x } }.sum",
        "45150",
    ),
    (
        "begin; call_function('host_map', [1]) { |x| raise KeyError, 'own' }; rescue KeyError => e; e.message; end",
        "own",
    ),
    (
        "call_function('host_map', [1, 2]) { |x| begin; call_function('fail_here'); rescue => e; e.message; end }",
        "[fail_here fails in the compiler, fail_here fails in the compiler]",
    ),
    (
        "Thread.new { call_function('host_map', [1, 2]) { |x| x + 1 } }.value",
        "[2, 3]",
    ),
];

#[test]
fn blocks_end_as_in_ruby_and_the_session_goes_on() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.functions("ends", ENDS.map(|(body, _)| body));
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    for round in 0..2 {
        for (index, (body, expected)) in ENDS.into_iter().enumerate() {
            let name = format!("site::ends{index}");
            let result = session.call_function(&name, &[], None, &mut compiler);
            let result = result.unwrap_or_else(|error| panic!("{round}: {body}: {error}"));
            assert_eq!(result.to_string(), expected, "{round}: {body}");
        }
    }
}

/// Bodies of blocks, and a part of the error.
const FATAL: [(&str, &str); 6] = [
    ("exit 3", "called exit (file: "),
    ("Process.kill(:KILL, Process.pid); loop {}", "by signal 9"),
    ("loop {}", "took longer than 1 s"),
    (
        "begin; loop {}; ensure; loop {}; end",
        "took longer than 1 s",
    ),
    ("y = []; loop { y << 'z' * 1_000_000 }", "MB of memory"),
    ("loop { puts 'x' * 1000 }", "printed more than 100000 bytes"),
];

#[test]
fn blocks_that_end_or_hang_name_the_function_that_passed_them() {
    let fixture = Fixture::with(|settings| {
        settings.call_time_max = Duration::from_secs(1);
        settings.memory_max_bytes = 400 * 1024 * 1024;
        settings.output_max_bytes = 100_000;
    });
    let Some(fixture) = fixture else { return };
    let bodies = FATAL.map(|(body, _)| format!("call_function('host_map', [1]) {{ |x| {body} }}"));
    fixture.functions("fatal", bodies.iter().map(String::as_str));
    for (index, (body, expected)) in FATAL.into_iter().enumerate() {
        let error = fixture.call(&format!("site::fatal{index}"), &[]);
        let error = error.expect_err(body).to_string();
        // a busy machine may reach the time before the memory
        let is_late = error.contains("took longer than 1 s");
        assert!(error.contains(expected) || is_late, "{body}: {error}");
        assert!(
            error.contains(&format!("site/fatal{index}.rb")),
            "{body}: {error}"
        );
    }
}

#[test]
fn calls_of_a_block_share_the_time_of_their_function() {
    let fixture = Fixture::with(|settings| settings.call_time_max = Duration::from_secs(1));
    let Some(fixture) = fixture else { return };
    fixture.function(
        "slow",
        "",
        "call_function('host_map', (1..60).to_a) { |x| sleep 0.05; x }",
    );
    fixture.function(
        "quick",
        "",
        "call_function('host_map', (1..60).to_a) { |x| x }.size",
    );
    assert_eq!(
        fixture.call("site::quick", &[]).expect("60"),
        Value::from(60)
    );
    let error = fixture.call("site::slow", &[]).expect_err("too long");
    assert!(error.to_string().contains("site::slow (file: "), "{error}");
    assert!(error.to_string().contains("longer than 1 s"), "{error}");
}

#[test]
fn a_block_cannot_be_called_after_its_function() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function("passes", "", "call_function('host_map', [1]) { |x| x }");
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let result = session.call_function("site::passes", &[], None, &mut compiler);
    assert!(result.is_ok(), "{result:?}");
    for block in [1, 7, u64::MAX] {
        let error = session.call_block(block, &[], &mut compiler);
        let error = error.expect_err("no block");
        assert!(matches!(
            error,
            RubyCallError::Raised { .. } | RubyCallError::TimedOut { .. }
        ));
        assert!(!session.is_ended(), "{error}");
    }
}
