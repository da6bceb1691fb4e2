//! Starts `ruby` with the first lines of a worker: [`start_ruby`].
//!
//! Invariant: the process inherits no descriptor but its socket, which is its stdin until it moved it
//! away, and no variable of this process's environment.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use serde_json::{Value as Json, json};

use crate::environment::RubyEnvironment;
use crate::error::RubyWorkerError;
use crate::hidden_files::hide_files;
use crate::settings::RubyWorkerSettings;

/// The program that `ruby` is started with; it reads [`scripts`].
const BOOT: &str = include_str!("ruby/boot.rb");

/// Directories in which programs are looked for, as functions may run some.
const PATH: &str =
    "/opt/puppetlabs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Name and text of each script of a worker, in the order in which they are evaluated.
pub(crate) fn scripts() -> Json {
    json!([
        ["wire.rb", include_str!("ruby/wire.rb")],
        ["values.rb", include_str!("ruby/values.rb")],
        ["scope.rb", include_str!("ruby/scope.rb")],
        ["functions.rb", include_str!("ruby/functions.rb")],
        ["calls.rb", include_str!("ruby/calls.rb")],
        ["transports.rb", include_str!("ruby/transports.rb")],
        ["session.rb", include_str!("ruby/session.rb")],
        ["template.rb", include_str!("ruby/template.rb")],
    ])
}

/// Starts the interpreter; gives it with this process's end of the socket.
pub(crate) fn start_ruby(
    settings: &RubyWorkerSettings,
    environment: &RubyEnvironment,
) -> Result<(Child, UnixStream), RubyWorkerError> {
    let failed = |source: io::Error| RubyWorkerError::Start {
        ruby: settings.ruby.clone(),
        source,
    };
    let (own, other) = UnixStream::pair().map_err(failed)?;
    let mut command = Command::new(&settings.ruby);
    command
        .arg("--external-encoding=UTF-8")
        .env_clear()
        .env("PATH", PATH)
        .env("LANG", "C.UTF-8")
        .env("HOME", "/nonexistent")
        .current_dir("/")
        .stdin(OwnedFd::from(other))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(library) = &settings.library {
        command.arg("-I").arg(library);
    }
    if let Some(user) = settings.user {
        command.uid(user.uid).gid(user.gid);
    }
    command.arg("-e").arg(BOOT);
    match spawn_restricted(&mut command, settings, environment)? {
        Ok(child) => Ok((child, own)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(RubyWorkerError::NotInstalled {
                path: settings.ruby.clone(),
            })
        }
        Err(error) => Err(failed(error)),
    }
}

/// Starts the program. Files are hidden from it by a thread that restricts itself and starts it, because a
/// restriction of a thread holds for good.
fn spawn_restricted(
    command: &mut Command,
    settings: &RubyWorkerSettings,
    environment: &RubyEnvironment,
) -> Result<io::Result<Child>, RubyWorkerError> {
    if settings.hidden_paths.hidden.is_empty() {
        return Ok(command.spawn());
    }
    let restricted = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            hide_files(&settings.hidden_paths, &environment.directory)?;
            Ok(command.spawn())
        });
        thread.join()
    });
    match restricted {
        Ok(started) => started.map_err(RubyWorkerError::HideFiles),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
