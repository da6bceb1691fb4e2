//! Compilations that another thread ends.

use std::sync::Arc;

use compiler::{CompileInterrupt, CompileRequest};

use crate::world::environment;

/// Billions of rounds, which the limit of steps would end after many seconds.
const ENDLESS: &str = "Integer[1, 100000000000].each |$n| { $x = $n }";

#[test]
fn an_endless_compilation_ends_when_it_is_interrupted() {
    let environment = environment(ENDLESS);
    let interrupt = Arc::new(CompileInterrupt::default());
    let request = CompileRequest {
        certname: "a".to_owned(),
        interrupt: Some(Arc::clone(&interrupt)),
        ..CompileRequest::default()
    };
    let error = std::thread::scope(|scope| {
        let compiling = scope.spawn(|| compiler::compile(&environment, &request));
        interrupt.interrupt("the compilation took longer than a minute");
        compiling.join().unwrap().unwrap_err()
    });
    let message = error.to_string();
    assert!(message.contains("took longer than a minute"), "{message}");
}

#[test]
fn a_compilation_that_was_interrupted_before_gives_no_catalog() {
    let environment = environment("notify { 'a': }");
    let interrupt = Arc::new(CompileInterrupt::default());
    interrupt.interrupt("no request waits");
    interrupt.interrupt("a second reason");
    let request = CompileRequest {
        certname: "a".to_owned(),
        interrupt: Some(interrupt),
        ..CompileRequest::default()
    };
    let error = compiler::compile(&environment, &request).unwrap_err();
    assert_eq!(error.to_string(), "no request waits on node a");
}
