//! The program that makes one Puppet run: [`runner_main`].
//!
//! Its parent is a wrapper, its output is the action's. Invariants: it never starts two runs at
//! once, nor one beside a run in progress that it knows of; the result is in the spool entry before
//! the program ends.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pxp::action::{PuppetCause, PuppetErrorType, PuppetResult};

use super::direct::{DirectRun, DirectStep};
use super::lock::{self, WaitingFor};
use super::run_turn::{LeasedRun, RunLocks, RunObstacle, RunTurn};
use super::runner_request::{FileChecks, PuppetModuleConfig, RunnerRequest};
use super::settings::PuppetSettings;
use super::{cause, environment, reported_reruns, result, spawn};
use crate::defaults::{
    FULL_RUN_INTERVAL, LOCK_LOOK_INTERVAL, LOCK_WAIT, RUNNER_ORDER_BYTES, SCANNED_OUTPUT_BYTES,
};
use crate::leases::NodeLeases;
use crate::spool::{STDERR_FILE, STDOUT_FILE};

/// Makes a run. `entry` is the spool entry; the order comes on stdin.
pub(crate) fn runner_main(entry: Option<OsString>) -> ExitCode {
    let Some(entry) = entry.map(PathBuf::from).filter(|path| path.is_absolute()) else {
        return ExitCode::from(2);
    };
    let result = match read_order() {
        Ok(order) => perform(&entry, &order, LOCK_WAIT),
        Err(error) => PuppetResult::unknown().failed(
            PuppetErrorType::InvalidJson,
            PuppetCause::NotStarted,
            format!("cannot read the order for the run: {error}"),
        ),
    };
    if let Err(error) = result::write_result(&entry, &result) {
        write_log_line(&format!("cannot record the result of the run: {error}"));
        return ExitCode::FAILURE;
    }
    if result.error_type.is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn read_order() -> io::Result<RunnerRequest> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(RUNNER_ORDER_BYTES)
        .read_to_end(&mut bytes)?;
    Ok(decode_errors::json::from_slice(&bytes)?)
}

/// Prints a line of the agent in the action's output.
fn write_log_line(text: &str) {
    let mut stdout = io::stdout().lock();
    // If the line cannot be written, the output lacks it; nothing else depends on it.
    let _ = writeln!(stdout, "tutti-agent: {text}").and_then(|()| stdout.flush());
}

/// Makes the run. It waits for other runs for at most `patience`, unless the node's configuration
/// sets another limit.
pub(super) fn perform(entry: &Path, order: &RunnerRequest, patience: Duration) -> PuppetResult {
    let failed =
        |error_type, cause, text: String| PuppetResult::unknown().failed(error_type, cause, text);
    let config = match PuppetModuleConfig::read(order.config_file.as_deref()) {
        Ok(config) => config,
        Err(why) => {
            return failed(
                PuppetErrorType::AgentFailedToStart,
                PuppetCause::NotStarted,
                why,
            );
        }
    };
    let puppet = match environment::find(config.puppet_bin.as_deref()) {
        Ok(puppet) => puppet,
        Err(places) => {
            return failed(
                PuppetErrorType::NoPuppetBin,
                PuppetCause::NotInstalled,
                format!(
                    "Puppet is not installed on this node (looked for {places}); install \
                     puppet-agent or openvox-agent, or set `puppet_bin` in pxp-module-puppet.conf"
                ),
            );
        }
    };
    let own = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut variables = environment::variables(own, &puppet);
    if order.reports_reruns {
        variables.push(reported_reruns::variable(entry));
    }
    let settings = PuppetSettings::read_cached(&order.settings_file, &puppet);
    PuppetRunner {
        entry,
        order,
        leases: order.leases(),
        puppet,
        variables,
        settings,
        direct: match config.files {
            FileChecks::Puppet => None,
            FileChecks::Native => Some(
                config
                    .full_run_interval_s
                    .map_or(FULL_RUN_INTERVAL, Duration::from_secs),
            ),
        },
        asked: false,
        began: Instant::now(),
        waited: Duration::ZERO,
        patience: config.lock_wait_s.map_or(patience, Duration::from_secs),
    }
    .perform()
}

struct PuppetRunner<'a> {
    entry: &'a Path,
    order: &'a RunnerRequest,
    leases: NodeLeases,
    puppet: PathBuf,
    variables: Vec<(String, String)>,
    settings: Option<PuppetSettings>,
    /// With native checks of files: longest time between two runs of Puppet.
    direct: Option<Duration>,
    asked: bool,
    began: Instant,
    waited: Duration,
    patience: Duration,
}

/// The catalog that Puppet applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CatalogSource {
    /// As the options and Puppet's own settings say, which is usually a new one of the server.
    Server,
    /// The last one.
    Last,
}

/// Reason for which a run cannot start.
enum RunHindrance {
    Disabled(String),
    /// Another run, of this process, or a lease did not end in time.
    Busy(Option<RunObstacle>),
}

impl PuppetRunner<'_> {
    fn perform(mut self) -> PuppetResult {
        let mut result = match self.run_attempts() {
            Ok(result) => result,
            Err(hindrance) => self.fail_hindered(hindrance),
        };
        WaitingFor::clear(self.entry);
        if self.order.reports_reruns {
            result.reruns = reported_reruns::read(self.entry);
            if let (false, Some(run)) = (result.reruns.is_empty(), self.direct_run()) {
                run.require_full_run();
            }
        }
        result.waited_ms = u64::try_from(self.waited.as_millis()).unwrap_or(u64::MAX);
        result
    }

    /// Repeats the run until Puppet does not exit in favour of another run.
    fn run_attempts(&mut self) -> Result<PuppetResult, RunHindrance> {
        loop {
            if self.direct.is_some() || self.order.lease.is_some() {
                self.ask_settings();
            }
            // The lease is kept for the rest of the round.
            let leased = self.wait()?;
            let source = match self.choose_step() {
                DirectStep::Unchanged(result) => return Ok(*result),
                DirectStep::LastCatalog(_) => CatalogSource::Last,
                DirectStep::NewCatalog(_) => CatalogSource::Server,
            };
            let output = OutputMark::now(self.entry);
            let report = result::report_path(self.entry);
            let status = match self.run_once(&report, source, leased.as_ref()) {
                Ok(status) => status,
                Err(error) => return Ok(self.not_started_result(&error)),
            };
            if report.exists() {
                self.publish(&report);
                let result = result::read_report_result(self.entry, status);
                self.record_run(&result, source);
                return Ok(result);
            }
            // There may have been a reason not to run; Puppet knows the paths to look at.
            self.ask_settings();
            let printed = output.duration_since();
            if !cause::says_in_progress(&printed) {
                self.check_enabled()?;
                return Ok(result::build_without_report(
                    status,
                    cause::printed_errors(&printed),
                ));
            }
            if self.began.elapsed() >= self.patience {
                return Err(RunHindrance::Busy(None));
            }
            std::thread::sleep(LOCK_LOOK_INTERVAL);
        }
    }

    fn direct_run(&self) -> Option<DirectRun<'_>> {
        Some(DirectRun {
            flags: &self.order.flags,
            settings: self.settings.as_ref()?.catalog.as_ref()?,
            settings_file: &self.order.settings_file,
            full_run_interval: self.direct?,
        })
    }

    /// With native checks of files, decides whether Puppet has work.
    fn choose_step(&self) -> DirectStep {
        let Some(run) = self.direct_run() else {
            return DirectStep::NewCatalog(String::new());
        };
        let step = run.decide();
        match &step {
            DirectStep::Unchanged(_) => {
                write_log_line(
                    "all files are as the last catalog says, which is current; Puppet is not started",
                );
            }
            DirectStep::LastCatalog(why) => {
                write_log_line(&format!("Puppet applies the last catalog: {why}"));
            }
            DirectStep::NewCatalog(why) => {
                write_log_line(&format!("Puppet asks for a catalog: {why}"));
            }
        }
        step
    }

    fn record_run(&self, result: &PuppetResult, source: CatalogSource) {
        if let Some(run) = self.direct_run() {
            run.record_run(result, source == CatalogSource::Server);
        }
    }

    fn run_once(
        &self,
        report: &Path,
        source: CatalogSource,
        leased: Option<&LeasedRun>,
    ) -> io::Result<ExitStatus> {
        let directory = report.parent().unwrap_or(self.entry);
        match std::fs::create_dir(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let mut args = vec!["agent".to_owned()];
        args.extend(self.order.flags.iter().cloned());
        if source == CatalogSource::Last {
            args.push("--use_cached_catalog".to_owned());
        }
        if let Some(leased) = leased {
            let lock_file = leased.lock_file.to_string_lossy().into_owned();
            args.extend(["--agent_catalog_run_lockfile".to_owned(), lock_file]);
        }
        args.extend([
            "--detailed-exitcodes".to_owned(),
            "--lastrunreport".to_owned(),
            report.to_string_lossy().into_owned(),
        ]);
        spawn::run(&self.puppet, &args, &self.variables)
    }

    /// Waits for a run in progress and for the lease of another job, if Puppet's locks are known. Returns the run's own
    /// lease if it is held.
    fn wait(&mut self) -> Result<Option<LeasedRun>, RunHindrance> {
        self.check_enabled()?;
        let Some(settings) = self.settings.clone() else {
            return Ok(None);
        };
        let since = Instant::now();
        let mut told = None;
        let turn = loop {
            let obstacle = match self.look_at_locks(&settings) {
                RunTurn::Free(leased) => break Ok(leased),
                RunTurn::Busy(obstacle) => obstacle,
            };
            // The lease that this run names replaces one without an end within seconds.
            let is_hopeless = obstacle.is_lasting() && self.order.lease.is_none();
            if self.began.elapsed() >= self.patience || is_hopeless {
                break Err(RunHindrance::Busy(Some(obstacle)));
            }
            if told.as_ref() != Some(&obstacle) {
                self.tell_waiting(&obstacle);
                told = Some(obstacle);
            }
            std::thread::sleep(LOCK_LOOK_INTERVAL);
        };
        if told.is_some() {
            self.waited += since.elapsed();
            WaitingFor::clear(self.entry);
        }
        let leased = turn?;
        // Puppet may have been disabled meanwhile.
        self.check_enabled()?;
        Ok(leased)
    }

    fn look_at_locks(&self, settings: &PuppetSettings) -> RunTurn {
        let locks = RunLocks {
            standard: &settings.agent_catalog_run_lockfile,
            leases: &self.leases,
            lease: self.order.lease,
        };
        locks.look()
    }

    fn check_enabled(&self) -> Result<(), RunHindrance> {
        let settings = self.settings.as_ref();
        match settings.and_then(|it| lock::read_disabled_message(&it.agent_disabled_lockfile)) {
            Some(reason) => Err(RunHindrance::Disabled(reason)),
            None => Ok(()),
        }
    }

    fn tell_waiting(&self, obstacle: &RunObstacle) {
        let left = self.patience.saturating_sub(self.began.elapsed());
        write_log_line(&format!(
            "{}; waiting for its end, {} seconds at most",
            obstacle.describe(),
            left.as_secs()
        ));
        let waiting = WaitingFor {
            pid: obstacle.pid(),
            since: Timestamp::now(),
            lease: obstacle.lease_name().map(str::to_owned),
        };
        waiting.write(self.entry);
    }

    fn ask_settings(&mut self) {
        if self.settings.is_none() && !self.asked {
            self.asked = true;
            match PuppetSettings::query_puppet(
                &self.order.settings_file,
                &self.puppet,
                &self.variables,
            ) {
                Ok(settings) => self.settings = Some(settings),
                Err(why) => write_log_line(&format!("cannot find Puppet's lock files: {why}")),
            }
        }
    }

    /// Copies the report to its usual path for other readers, unless a newer one is there.
    fn publish(&mut self, report: &Path) {
        self.ask_settings();
        let Some(settings) = &self.settings else {
            return;
        };
        if let Err(error) = copy_if_newer(report, &settings.lastrunreport) {
            let place = settings.lastrunreport.display();
            write_log_line(&format!("cannot copy the report to {place}: {error}"));
        }
    }

    fn fail_hindered(&self, hindrance: RunHindrance) -> PuppetResult {
        match hindrance {
            RunHindrance::Disabled(reason) => {
                let why = if reason.is_empty() {
                    "no reason was given".to_owned()
                } else {
                    format!("reason: {reason}")
                };
                PuppetResult::unknown().failed(
                    PuppetErrorType::AgentDisabled,
                    PuppetCause::Disabled,
                    format!(
                        "runs of Puppet are disabled on this node ({why}); \
                         `puppet agent --enable` on the node allows them again"
                    ),
                )
            }
            RunHindrance::Busy(obstacle) => PuppetResult::unknown().failed(
                PuppetErrorType::AgentAlreadyRunning,
                PuppetCause::AlreadyRunning,
                self.explain_busy(obstacle.as_ref()),
            ),
        }
    }

    fn explain_busy(&self, obstacle: Option<&RunObstacle>) -> String {
        let seconds = self.patience.as_secs();
        let lasting = obstacle.filter(|it| it.is_lasting());
        if let Some(name) = lasting.and_then(RunObstacle::lease_name) {
            return format!(
                "{name} keeps other runs of Puppet from starting until a later ordered run succeeds here; \
                 `tutti node release` ends it"
            );
        }
        if let Some(name) = obstacle.and_then(RunObstacle::lease_name) {
            return format!(
                "{name} keeps other runs of Puppet from starting, and did not end within {seconds} \
                 seconds; try again after that job, or end the lease with `tutti-agent lease release` \
                 on the node"
            );
        }
        let who = obstacle.map_or(String::new(), |it| format!(" (process {})", it.pid()));
        format!(
            "another run of Puppet{who} did not end within {seconds} seconds; try again later, or \
             look at what holds it up"
        )
    }

    fn not_started_result(&self, error: &io::Error) -> PuppetResult {
        PuppetResult::unknown().failed(
            PuppetErrorType::AgentFailedToStart,
            PuppetCause::NotStarted,
            format!(
                "cannot start {}: {error}; check the installation of Puppet and `puppet_bin`",
                self.puppet.display()
            ),
        )
    }
}

fn copy_if_newer(from: &Path, to: &Path) -> io::Result<()> {
    let written = std::fs::metadata(from)?.modified()?;
    if std::fs::metadata(to).is_ok_and(|meta| meta.modified().is_ok_and(|it| it > written)) {
        return Ok(());
    }
    let directory = to.parent().ok_or(io::ErrorKind::InvalidInput)?;
    // Readable only by its owner until it is in place; links are never followed.
    let mut copy = tempfile::NamedTempFile::new_in(directory)?;
    io::copy(&mut File::open(from)?, copy.as_file_mut())?;
    let mode = std::fs::metadata(from)?.permissions();
    copy.as_file().set_permissions(mode)?;
    copy.persist(to).map_err(|error| error.error)?;
    Ok(())
}

/// Position in the action's output at one moment.
struct OutputMark {
    streams: [(PathBuf, u64); 2],
}

impl OutputMark {
    fn now(entry: &Path) -> Self {
        let streams = [STDOUT_FILE, STDERR_FILE].map(|name| {
            let path = entry.join(name);
            let size = std::fs::metadata(&path).map_or(0, |meta| meta.len());
            (path, size)
        });
        Self { streams }
    }

    /// The end of the output written since, both streams one after the other.
    fn duration_since(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (path, from) in &self.streams {
            let read = |bytes: &mut Vec<u8>| -> io::Result<()> {
                let mut file = File::open(path)?;
                let size = file.metadata()?.len();
                let start = (*from).max(size.saturating_sub(SCANNED_OUTPUT_BYTES));
                file.seek(SeekFrom::Start(start))?;
                file.take(SCANNED_OUTPUT_BYTES).read_to_end(bytes)?;
                Ok(())
            };
            // A stream that cannot be read is left out.
            let _ = read(&mut bytes);
            bytes.push(b'\n');
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
