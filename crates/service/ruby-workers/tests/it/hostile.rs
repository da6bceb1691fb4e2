//! Functions that do what they should not: each fails alone, and the workers go on.

use std::time::{Duration, Instant};

use pcore::Value;
use ruby_workers::RubyCallError;

use crate::fixture::{Fixture, TestCompiler};

/// Body of a function, and a part of its error.
const FATAL: [(&str, &str); 7] = [
    ("exit 3", "called exit (file: "),
    ("exit! 3", "with exit code 3"),
    ("abort 'bye'", "called exit (file: "),
    ("Process.kill(:KILL, Process.pid); loop {}", "by signal 9"),
    ("loop {}", "took longer than 1 s"),
    ("sleep", "took longer than 1 s"),
    (
        "begin; loop {}; rescue Exception; retry; end",
        "took longer than 1 s",
    ),
];

fn fixture() -> Option<Fixture> {
    fixture_with_time(Duration::from_secs(1))
}

fn fixture_with_time(time: Duration) -> Option<Fixture> {
    Fixture::with(|settings| {
        settings.call_time_max = time;
        settings.memory_max_bytes = 400 * 1024 * 1024;
        settings.output_max_bytes = 100_000;
        settings.frame_max_bytes = 1_000_000;
    })
}

#[test]
fn functions_that_end_or_hang_fail_with_their_name_and_file() {
    let Some(fixture) = fixture() else { return };
    fixture.function("good", "", "'good'");
    fixture.functions("fatal", FATAL.map(|(body, _)| body));
    for (index, (body, expected)) in FATAL.into_iter().enumerate() {
        let name = format!("fatal{index}");
        let session = fixture.session();
        let mut compiler = TestCompiler::default();
        let mut call = |name: &str| session.call_function(name, &[], None, &mut compiler);
        assert_eq!(call("site::good").expect("a text").to_string(), "good");
        let error = call(&format!("site::{name}")).expect_err(body).to_string();
        assert!(error.contains(expected), "{body}: {error}");
        assert!(
            error.contains(&format!("site/{name}.rb")),
            "{body}: {error}"
        );
        let error = call("site::good").expect_err("the session ended");
        assert!(matches!(error, RubyCallError::Ended { .. }), "{error}");
        assert!(session.is_ended());
        drop(session);
        let result = fixture.call("site::good", &[]).expect("a new session");
        assert_eq!(result.to_string(), "good");
    }
}

#[test]
fn floods_of_memory_output_and_values_end_at_their_bounds() {
    // a busy machine must reach the other bounds before this one
    let Some(fixture) = fixture_with_time(Duration::from_secs(30)) else {
        return;
    };
    let cases = [
        ("x = []; loop { x << 'y' * 1_000_000 }", "MB of memory"),
        ("'y' * 2_000_000_000", "MB of memory"),
        ("loop { puts 'x' * 1000 }", "printed more than 100000 bytes"),
        ("'y' * 2_000_000", "longer than 1000000 bytes"),
        ("puts 'y' * 99_000; 1", ""),
    ];
    fixture.functions("flood", cases.map(|(body, _)| body));
    for (index, (body, expected)) in cases.into_iter().enumerate() {
        let result = fixture.call(&format!("site::flood{index}"), &[]);
        match result {
            Ok(value) => assert_eq!(value, Value::from(1), "{body}"),
            Err(error) => assert!(error.to_string().contains(expected), "{body}: {error}"),
        }
    }
}

#[test]
fn deep_recursion_is_an_exception() {
    let Some(fixture) = fixture() else { return };
    fixture.function("recurses", "", "recurses");
    let error = fixture.call("site::recurses", &[]).expect_err("too deep");
    assert!(
        error.to_string().contains("stack level too deep"),
        "{error}"
    );
}

#[test]
fn copies_of_the_process_neither_answer_nor_stay() {
    let Some(fixture) = fixture() else { return };
    let marker = fixture.directory.path().join("pids");
    let note = format!(
        "File.write('{}', \"#{{Process.pid}}\\n\", mode: 'a')",
        marker.display()
    );
    fixture.function("forks", "", "fork ? 'parent' : 'child'");
    fixture.function(
        "daemons",
        "",
        &format!(
            "2.times {{ fork {{ {note}; Process.setsid; fork {{ {note}; sleep }}; sleep }} }}
                  sleep 0.01 until File.exist?('{0}') && File.readlines('{0}').size == 4",
            marker.display()
        ),
    );
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    for _ in 0..3 {
        let result = session.call_function("site::forks", &[], None, &mut compiler);
        assert_eq!(result.expect("one answer").to_string(), "parent");
    }
    session
        .call_function("site::daemons", &[], None, &mut compiler)
        .expect("undef");
    drop(session);
    let pids = std::fs::read_to_string(&marker).expect("process ids");
    assert_eq!(pids.lines().count(), 4);
    for pid in pids.lines() {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_gone = stat.is_empty() || stat.contains(") Z ");
        assert!(is_gone, "{pid} lives: {stat}");
    }
}

/// The copies hold the socket of the process that ended.
#[test]
fn the_end_of_a_process_that_forked_is_noticed_at_once() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let cases = [
        ("fork { sleep }; exit! 4", "with exit code 4"),
        (
            "fork { Process.setsid; fork { sleep }; sleep }; Process.kill(:KILL, Process.pid); sleep",
            "by signal 9",
        ),
        (
            "fork { loop { puts 'x'; sleep 0.1 } }; exit!",
            "with exit code 1",
        ),
    ];
    fixture.functions("leaves", cases.map(|(body, _)| body));
    fixture.function("good", "", "'good'");
    for (index, (body, expected)) in cases.into_iter().enumerate() {
        let session = fixture.session();
        let mut compiler = TestCompiler::default();
        session
            .call_function("site::good", &[], None, &mut compiler)
            .expect("a text");
        let since = Instant::now();
        let name = format!("site::leaves{index}");
        let error = session.call_function(&name, &[], None, &mut compiler);
        let error = error.expect_err(body);
        assert!(
            matches!(error, RubyCallError::Died { .. }),
            "{body}: {error}"
        );
        assert!(error.to_string().contains(expected), "{body}: {error}");
        let took = since.elapsed();
        assert!(took < Duration::from_secs(10), "{body}: {took:?}");
    }
}

/// The answer of a process that ends right after it is not lost.
#[test]
fn a_last_answer_is_read_before_the_end_is_noticed() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let body = "fork { sleep }; Thread.new { sleep 0.05; exit! }; 'answer'";
    fixture.function("answers", "", body);
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let mut call = || session.call_function("site::answers", &[], None, &mut compiler);
    assert_eq!(call().expect("an answer").to_string(), "answer");
    let error = loop {
        match call() {
            Ok(answer) => assert_eq!(answer.to_string(), "answer"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, RubyCallError::Died { .. }), "{error}");
}

#[test]
fn values_that_are_none_of_puppets_are_refused() {
    let Some(fixture) = fixture() else { return };
    let cases = [
        ("a = []; a << a; a", "nested deeper than"),
        ("h = {}; h['x'] = h; h", "nested deeper than"),
        ("Object.new", "class Object is none of Puppet's"),
        ("Class.new.new", "is none of Puppet's"),
        ("BasicObject.new", "a BasicObject is none of Puppet's"),
        ("-> { }", "Puppet"),
        ("2**64", "does not fit into 64 bits"),
        ("Float::NAN", "no Float"),
        ("\"\\xff\"", "not valid"),
        ("Time.now", "class Time is none of Puppet's"),
        ("Thread.current", "class Thread is none of Puppet's"),
    ];
    fixture.functions("foreign", cases.map(|(body, _)| body));
    for (index, (body, expected)) in cases.into_iter().enumerate() {
        let error = fixture.call(&format!("site::foreign{index}"), &[]);
        let error = error.expect_err(body).to_string();
        assert!(error.contains(expected), "{body}: {error}");
    }
}

#[test]
fn threads_do_not_disturb_the_connection() {
    let Some(fixture) = fixture() else { return };
    fixture.function(
        "threads",
        "",
        "8.times.map { |i| Thread.new { call_function('host', i)[0] } }.map(&:value).sum",
    );
    fixture.function(
        "later",
        "",
        "Thread.new { loop { call_function('host', 1) } }; 'started'",
    );
    fixture.function("good", "", "call_function('host', 2)");
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let result = session.call_function("site::threads", &[], None, &mut compiler);
    assert_eq!(result.expect("a sum").to_string(), "28");
    // a thread that goes on after its call does not mix its questions into the next one
    let result = session.call_function("site::later", &[], None, &mut compiler);
    assert_eq!(result.expect("a text").to_string(), "started");
    for _ in 0..50 {
        let result = session.call_function("site::good", &[], None, &mut compiler);
        assert_eq!(result.expect("an array").to_string(), "[2]");
    }
}
