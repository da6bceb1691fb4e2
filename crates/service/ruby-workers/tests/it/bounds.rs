//! Numbers of processes, their start and their end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ruby_workers::{RubyCallError, RubyUser, RubyWorkerError, RubyWorkerSettings, RubyWorkers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::fixture::{Fixture, TestCompiler};

#[test]
fn a_missing_interpreter_or_library_names_the_package() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let environment = fixture.environment("1");
    let workers = RubyWorkers::new(RubyWorkerSettings {
        ruby: PathBuf::from("/nonexistent/ruby"),
        ..RubyWorkerSettings::default()
    });
    let error = workers.session(&environment).expect_err("no Ruby");
    assert!(
        matches!(error, RubyWorkerError::NotInstalled { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("puppet-agent"), "{error}");
    // a library without puppet.rb shadows nothing; one that raises is reported
    let library = fixture.directory.path().join("library");
    fs::create_dir(&library).expect("a directory");
    fs::write(
        library.join("puppet.rb"),
        "raise LoadError, 'cannot load such file'",
    )
    .expect("a file");
    let workers = RubyWorkers::new(RubyWorkerSettings {
        library: Some(library.clone()),
        ..RubyWorkerSettings::default()
    });
    let error = workers.session(&environment).expect_err("no Puppet");
    assert!(
        matches!(error, RubyWorkerError::LibraryMissing { .. }),
        "{error}"
    );
    fs::write(library.join("puppet.rb"), "raise 'broken'").expect("a file");
    let error = workers.session(&environment).expect_err("a broken Puppet");
    assert!(error.to_string().contains("broken"), "{error}");
}

#[test]
fn a_process_that_does_not_start_in_time_is_given_up() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let library = fixture.directory.path().join("library");
    fs::create_dir(&library).expect("a directory");
    fs::write(library.join("puppet.rb"), "loop {}").expect("a file");
    let workers = RubyWorkers::new(RubyWorkerSettings {
        library: Some(library),
        start_time_max: Duration::from_millis(300),
        ..RubyWorkerSettings::default()
    });
    let error = workers.session(&fixture.environment("1"));
    let error = error.expect_err("it hangs");
    assert!(matches!(error, RubyWorkerError::Silent { .. }), "{error}");
}

#[test]
fn sessions_beyond_the_number_wait_and_then_fail() {
    let fixture = Fixture::with(|settings| {
        settings.processes_max = 1;
        settings.call_time_max = Duration::from_millis(500);
    });
    let Some(fixture) = fixture else { return };
    let environment = fixture.environment("1");
    let first = fixture.session();
    let error = fixture.workers.session(&environment);
    let error = error.expect_err("no slot is free");
    assert!(
        matches!(error, RubyWorkerError::Busy { max: 1, .. }),
        "{error}"
    );
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fixture.workers.session(&environment).map(drop));
        drop(first);
        waiting.join().expect("no panic").expect("a free slot");
    });
}

#[test]
fn the_least_recently_used_version_ends() {
    let Some(fixture) = Fixture::with(|settings| settings.environments_max = 2) else {
        return;
    };
    fixture.function("parent", "", "Process.ppid");
    let mut compiler = TestCompiler::default();
    let mut parent = |version: &str| {
        let session = fixture.workers.session(&fixture.environment(version));
        let session = session.expect("a session");
        let result = session.call_function("site::parent", &[], None, &mut compiler);
        result.expect("a process id").to_string()
    };
    let first = parent("1");
    let second = parent("2");
    assert_eq!(parent("1"), first);
    let third = parent("3");
    assert!(!is_running(&second));
    assert!(is_running(&first) && is_running(&third));
    drop(fixture);
    assert!(!is_running(&first) && !is_running(&third));
}

#[test]
fn a_killed_process_of_an_environment_is_replaced_and_takes_its_sessions_along() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function("kills", "", "Process.kill(:KILL, Process.ppid); sleep");
    fixture.function("good", "", "'good'");
    let error = fixture.call("site::kills", &[]).expect_err("it dies");
    assert!(error.to_string().contains("site/kills.rb"), "{error}");
    let result = fixture.call("site::good", &[]).expect("a new process");
    assert_eq!(result.to_string(), "good");
}

/// An environment whose Ruby runs as another user; `None` if that is not possible.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn as_other_user(uid: u32, change: impl FnOnce(&mut RubyWorkerSettings)) -> Option<Fixture> {
    let is_root = fs::metadata("/proc/self")
        .is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0);
    if !is_root {
        eprintln!("skipped: only root can become another user");
        return None;
    }
    let fixture = Fixture::with(|settings| {
        settings.user = Some(RubyUser { uid, gid: 65534 });
        change(settings);
    })?;
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(fixture.directory.path(), permissions).expect("permissions");
    Some(fixture)
}

/// A function that starts processes without end gets no more of them; others go on.
#[test]
fn the_user_of_ruby_has_a_bounded_number_of_processes() {
    // a user that nothing else on the machine has
    let Some(fixture) = as_other_user(54_321, |settings| {
        settings.user_processes_max = 40;
        settings.call_time_max = Duration::from_secs(3);
    }) else {
        return;
    };
    // Ruby itself tries again when there is no process left
    let body = "loop { fork { sleep }; Puppet.notice('forked') }";
    fixture.function("forks", "", body);
    fixture.function("good", "", "'good'");
    std::thread::scope(|scope| {
        let forking = scope.spawn(|| {
            let mut compiler = TestCompiler::default();
            let session = fixture.session();
            let error = session.call_function("site::forks", &[], None, &mut compiler);
            (
                error.expect_err("it waits for a process"),
                compiler.log.len(),
            )
        });
        let result = fixture.call("site::good", &[]).expect("a text");
        assert_eq!(result.to_string(), "good");
        let (error, forked) = forking.join().expect("no panic");
        assert!(matches!(error, RubyCallError::TimedOut { .. }), "{error}");
        assert!((10..40).contains(&forked), "{forked}");
    });
    let result = fixture.call("site::good", &[]).expect("a text");
    assert_eq!(result.to_string(), "good");
}

#[test]
fn processes_run_as_the_user_of_the_settings() {
    let Some(fixture) = as_other_user(65534, |_| {}) else {
        return;
    };
    fixture.function(
        "user",
        "",
        "[Process.uid, Process.euid, Process.gid, Process.groups]",
    );
    let result = fixture.call("site::user", &[]).expect("ids");
    assert_eq!(result.to_string(), "[65534, 65534, 65534, []]");
}

fn is_running(pid: &str) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Set for the process that [`processes_end_when_the_server_is_killed`] kills.
const SERVER: &str = "TUTTI_RUBY_WORKERS_SERVER";

/// The server of [`processes_end_when_the_server_is_killed`]: does nothing in a usual run of the tests.
#[test]
fn server_that_is_killed() {
    if std::env::var_os(SERVER).is_none() {
        return;
    }
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.function(
        "busy",
        "",
        "Puppet.notice(\"#{Process.pid} #{Process.ppid}\"); loop {}",
    );
    let mut compiler = TestCompiler {
        prints_log: true,
        ..TestCompiler::default()
    };
    let session = fixture.session();
    let result = session.call_function("site::busy", &[], None, &mut compiler);
    panic!("{result:?}");
}

#[test]
fn processes_end_when_the_server_is_killed() {
    if Fixture::new().is_none() {
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let mut server = Command::new(program)
        .args(["bounds::server_that_is_killed", "--exact", "--nocapture"])
        .env(SERVER, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let output = BufReader::new(server.stdout.take().expect("its output"));
    let pids = output.lines().map_while(Result::ok).find_map(|line| {
        let pids = line.strip_prefix("pids ")?.split(' ').map(str::parse);
        Some(pids.map(|pid| pid.expect("a number")).collect::<Vec<i32>>())
    });
    let pids = pids.expect("the process ids");
    let fds: Vec<_> = pids
        .iter()
        .map(|pid| {
            let pid = rustix::process::Pid::from_raw(*pid).expect("not zero");
            let flags = rustix::process::PidfdFlags::empty();
            rustix::process::pidfd_open(pid, flags).expect("it runs")
        })
        .collect();
    server.kill().expect("a signal");
    server.wait().expect("its end");
    for fd in &fds {
        let mut polled = [PollFd::new(fd, PollFlags::IN)];
        let timeout = Timespec {
            tv_sec: 20,
            tv_nsec: 0,
        };
        let ended = poll(&mut polled, Some(&timeout)).expect("a poll");
        assert_eq!(ended, 1, "a process still runs");
    }
}
