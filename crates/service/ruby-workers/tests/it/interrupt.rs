//! Another thread ends the waits of a session.

use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use ruby_workers::{
    RubyCallError, RubyInterrupt, RubyWorkerError, RubyWorkerSettings, RubyWorkers,
};

use crate::fixture::{Fixture, TestCompiler};

/// Far below the bounds of the workers, and far above the time of an interruption.
const PROMPT: Duration = Duration::from_secs(10);

/// A function that connects to a socket, so that the test knows that it runs, and goes on for ever.
fn endless(fixture: &Fixture) -> UnixListener {
    let path = fixture.directory.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let body = format!(
        "require 'socket'; UNIXSocket.new('{}').write('runs'); loop {{}}",
        path.display()
    );
    fixture.function("endless", "", &body);
    listener
}

fn wait_until_it_runs(listener: &UnixListener) {
    let (mut connection, _) = listener.accept().expect("a connection");
    let mut text = [0; 4];
    connection.read_exact(&mut text).expect("a text");
}

#[test]
fn an_interruption_ends_a_call() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let listener = endless(&fixture);
    fixture.function("good", "", "'good'");
    let interrupt = RubyInterrupt::new().expect("a descriptor");
    std::thread::scope(|scope| {
        let environment = fixture.environment("1");
        let (workers, interrupted) = (fixture.workers.clone(), interrupt.clone());
        let calling = scope.spawn(move || {
            let session = workers.interruptible_session(&environment, &interrupted);
            let session = session.expect("a session");
            let mut compiler = TestCompiler::default();
            let error = session.call_function("site::endless", &[], None, &mut compiler);
            (error.expect_err("endless"), session.is_ended())
        });
        wait_until_it_runs(&listener);
        let since = Instant::now();
        interrupt.interrupt();
        let (error, is_ended) = calling.join().expect("no panic");
        assert!(
            matches!(error, RubyCallError::Interrupted { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("site/endless.rb"), "{error}");
        assert!(is_ended && since.elapsed() < PROMPT);
    });
    assert_eq!(
        fixture.call("site::good", &[]).expect("a text").to_string(),
        "good"
    );
}

#[test]
fn an_interruption_ends_the_wait_for_a_process() {
    let Some(fixture) = Fixture::with(|settings| settings.processes_max = 1) else {
        return;
    };
    let first = fixture.session();
    let interrupt = RubyInterrupt::new().expect("a descriptor");
    let environment = fixture.environment("1");
    let since = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let session = fixture
                .workers
                .interruptible_session(&environment, &interrupt);
            session.map(drop)
        });
        interrupt.interrupt();
        let error = waiting.join().expect("no panic").expect_err("no slot");
        assert!(matches!(error, RubyWorkerError::Interrupted), "{error}");
    });
    // an interruption lasts
    let error = fixture
        .workers
        .interruptible_session(&environment, &interrupt);
    assert!(matches!(error, Err(RubyWorkerError::Interrupted)));
    assert!(since.elapsed() < PROMPT);
    drop(first);
    drop(fixture.session());
}

#[test]
fn an_interruption_ends_the_start_of_an_environment() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let library = fixture.directory.path().join("library");
    std::fs::create_dir(&library).expect("a directory");
    let path = fixture.directory.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let text = format!(
        "require 'socket'; UNIXSocket.new('{}').write('runs'); loop {{}}",
        path.display()
    );
    std::fs::write(library.join("puppet.rb"), text).expect("a file");
    let workers = RubyWorkers::new(RubyWorkerSettings {
        library: Some(library),
        ..RubyWorkerSettings::default()
    });
    let interrupt = RubyInterrupt::new().expect("a descriptor");
    let environment = fixture.environment("1");
    std::thread::scope(|scope| {
        let session = || {
            workers
                .interruptible_session(&environment, &interrupt)
                .map(drop)
        };
        let (starting, waiting) = (scope.spawn(session), scope.spawn(session));
        wait_until_it_runs(&listener);
        let since = Instant::now();
        interrupt.interrupt();
        for thread in [starting, waiting] {
            let error = thread.join().expect("no panic").expect_err("interrupted");
            assert!(matches!(error, RubyWorkerError::Interrupted), "{error}");
        }
        assert!(since.elapsed() < PROMPT);
    });
}
