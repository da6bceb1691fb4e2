//! A trapperkeeper program (puppetserver, PuppetDB) as a child process. Main function: [`start`].
//!
//! Invariant: readiness is read from the restart file, which the program itself writes.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::service::{Service, ServiceSpec};

/// Path of the Java runtime of this machine.
pub(super) const INSTALLED: &str = "/usr/bin/java";

/// Maximum duration of a start: half a minute on an idle machine, and this one may be compiling.
const START_DEADLINE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(200);

/// Runs `command arguments…` and waits until it has written `1` into `restart_file`. The command is
/// [`INSTALLED`], or one that runs another Java runtime.
pub(super) async fn start(
    name: &str,
    command: &[OsString],
    arguments: Vec<OsString>,
    restart_file: &Path,
    log: &Path,
) -> Result<Service> {
    // A file of an earlier start would be misleading.
    match std::fs::remove_file(restart_file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let (program, first) = command.split_first().context("no command")?;
    let arguments = first.iter().cloned().chain(arguments);
    let mut service = ServiceSpec::new(name, Path::new(program), arguments, log).spawn()?;
    let ended = tokio::select! {
        ready = tokio::time::timeout(START_DEADLINE, ready(restart_file)) => match ready {
            Ok(()) => return Ok(service),
            Err(_) => None,
        },
        status = service.ended() => Some(status?),
    };
    let log = service.log_text();
    match ended {
        Some(status) => bail!("{name} ended: {status}; log:\n{log}"),
        None => bail!("{name} did not get ready; log:\n{log}"),
    }
}

/// Options for a JVM that shares two cores and little memory with a test.
pub fn options(heap_mib: u32) -> Vec<OsString> {
    [
        format!("-Xmx{heap_mib}m"),
        "-XX:+UseSerialGC".to_owned(),
        // Programs that live for a minute gain nothing from the slow second compiler.
        "-XX:TieredStopAtLevel=1".to_owned(),
        "-Djava.security.egd=file:/dev/urandom".to_owned(),
    ]
    .map(OsString::from)
    .to_vec()
}

/// Options for a JVM whose speed is measured.
pub(super) fn tuned_options(heap_mib: u32) -> Vec<OsString> {
    [
        format!("-Xms{heap_mib}m"),
        format!("-Xmx{heap_mib}m"),
        "-Djava.security.egd=file:/dev/urandom".to_owned(),
    ]
    .map(OsString::from)
    .to_vec()
}

/// Writes a logging configuration for standard output only; returns its path.
pub(super) fn logging(directory: &Path) -> Result<std::path::PathBuf> {
    let path = directory.join("logback.xml");
    let text = "<configuration><appender name=\"STDOUT\" \
                class=\"ch.qos.logback.core.ConsoleAppender\"><encoder><pattern>%d %-5p [%c{2}] \
                %m%n</pattern></encoder></appender><root level=\"info\"><appender-ref \
                ref=\"STDOUT\"/></root></configuration>\n";
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

async fn ready(restart_file: &Path) {
    // The program provides no other event to wait for.
    while !std::fs::read(restart_file).is_ok_and(|bytes| bytes.starts_with(b"1")) {
        tokio::time::sleep(LOOK).await;
    }
}
