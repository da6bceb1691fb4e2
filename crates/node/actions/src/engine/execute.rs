//! Execution of planned work in a spool entry: [`ActionExecution`].
//!
//! Invariant: [`ActionExecution::perform`] returns an [`ActionEnd`] that is true. An action that
//! did not run is never reported as having run, nor the other way round; if neither is known, the
//! end is reported as unknown.

use std::path::Path;

use futures_util::future::try_join_all;
use tokio::sync::watch;

use super::action_end::ActionEnd;
use super::disk::run_blocking;
use super::state::ActionEngineState;
use super::transactions::{StopRequest, TransactionGuard};
use crate::cache::{CachedFile, FileFetchError};
use crate::modules::{
    ActionPlan, FILES_DIRECTORY, FilePlan, ItemKind, PlannedFile, PlannedProgram, ProcessInput,
    RunPlan, install_item,
};
use crate::process::{
    ExitRecord, LaidOutFile, LaunchError, LocalAccount, ProcessIdentity, SupervisedAction,
    WrapperRequest,
};
use crate::spool::{ActionClaim, ActionClaimError, STDERR_FILE, STDOUT_FILE, SpoolEntry};

/// Exit code of an action that was cancelled before it began: SIGTERM's code.
const CANCELLED_EXITCODE: i32 = 128 + 15;

pub(super) struct ActionExecution<'a> {
    pub(super) shared: &'a ActionEngineState,
    pub(super) turn: &'a mut TransactionGuard,
    pub(super) entry: &'a SpoolEntry,
    /// Servers that have the files, as named by the requester.
    pub(super) file_servers: &'a [String],
}

impl ActionExecution<'_> {
    pub(super) async fn perform(mut self, work: ActionPlan) -> ActionEnd {
        let mut stops = self.turn.active.subscribe_stops();
        let shared = self.shared;
        let place = tokio::select! {
            biased;
            () = stop_wanted(&mut stops) => return self.cancelled().await,
            place = shared.places.acquire() => place.expect("the semaphore is never closed"),
        };
        let end = match work {
            ActionPlan::Run(plan) => self.run(plan, &mut stops).await,
            ActionPlan::Files(plan) => self.place_files(plan, &mut stops).await,
        };
        drop(place);
        end
    }

    async fn run(
        &mut self,
        mut plan: RunPlan,
        stops: &mut watch::Receiver<StopRequest>,
    ) -> ActionEnd {
        let files = std::mem::take(&mut plan.files);
        let fetched = tokio::select! {
            biased;
            () = stop_wanted(stops) => return self.cancelled().await,
            fetched = try_join_all(files.iter().map(|file| self.fetch(file))) => fetched,
        };
        let layout = match fetched {
            Ok(layout) => layout,
            Err(error) => return self.not_run(error.to_string()).await,
        };
        let account = match plan.user.take() {
            Some(name) => match run_blocking(move || Ok(LocalAccount::find(&name))).await {
                Ok(Ok(account)) => account,
                Ok(Err(error)) => return self.not_run(error.to_string()).await,
                Err(error) => return self.not_run(error.to_string()).await,
            },
            None => None,
        };
        let (order, stdin) = self.order(plan, layout, account.as_ref());
        let entry = self.entry.path();
        let launched =
            SupervisedAction::launch(&self.shared.config.wrapper, entry, &order, &stdin).await;
        drop((order, stdin));
        self.turn.release_bytes();
        match launched {
            Ok(supervised) => follow(supervised, self.entry, stops).await,
            Err(error @ (LaunchError::Spawn { .. } | LaunchError::NotRun(_))) => {
                self.not_run(error.to_string()).await
            }
            // The claim shows if the action was started.
            Err(error @ LaunchError::Silent) => match self.claim(ActionClaim::Abandoned).await {
                Ok(()) => self.not_run(error.to_string()).await,
                Err(ActionClaimError::Taken) => match self.entry.claim() {
                    Ok(Some(ActionClaim::Started(identity))) => {
                        reattach(identity, self.entry, stops).await
                    }
                    Ok(Some(ActionClaim::Abandoned)) => self.not_run(error.to_string()).await,
                    Ok(None) => ActionEnd::undetermined("its claim vanished from the spool"),
                    Err(cause) => {
                        ActionEnd::undetermined(format!("its claim is unreadable: {cause}"))
                    }
                },
                Err(ActionClaimError::Io(cause)) => {
                    ActionEnd::undetermined(format!("its wrapper ended without a word: {cause}"))
                }
            },
        }
    }

    async fn fetch(&self, file: &PlannedFile) -> Result<LaidOutFile, FileFetchError> {
        let CachedFile { path, sha256 } =
            self.shared.cache.get(&file.spec, self.file_servers).await?;
        Ok(LaidOutFile {
            source: path.to_string_lossy().into_owned(),
            sha256,
            destination: file.destination.clone(),
        })
    }

    fn order(
        &self,
        plan: RunPlan,
        layout: Vec<LaidOutFile>,
        account: Option<&LocalAccount>,
    ) -> (WrapperRequest, Vec<u8>) {
        let private = account
            .map(|account| account.private_directory(&uuid::Uuid::new_v4().simple().to_string()));
        let place = private.as_ref().map(|private| private.directory.as_path());
        let place = place.unwrap_or(self.entry.path());
        let (stdin, mut variables) = match plan.input {
            ProcessInput::Nothing => (vec![], vec![]),
            ProcessInput::Stdin(bytes) => (bytes, vec![]),
            ProcessInput::Task(input) => {
                let installdir = place.join(FILES_DIRECTORY);
                input.render(&installdir.to_string_lossy())
            }
            ProcessInput::Puppet(input) => {
                let config = &self.shared.config;
                let directory = config.modules_config_dir.as_deref();
                (input.render(directory, &config.spool_dir), vec![])
            }
        };
        if let Some(account) = account {
            variables.extend(account.variables());
        }
        variables.extend(plan.env);
        let config = &self.shared.config;
        let milliseconds =
            |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (program, args) = match plan.program {
            PlannedProgram::Installed(path) => (path, plan.args),
            PlannedProgram::File(path) => {
                (place.join(&path).to_string_lossy().into_owned(), plan.args)
            }
            PlannedProgram::AgentExecutable => {
                let (program, mut args) = self.own_executable(plan.args);
                args.push(self.entry.path().to_string_lossy().into_owned());
                (program, args)
            }
        };
        let (program, args) = match account {
            Some(account) => self.own_executable(account.become_args(&program, args)),
            None => (program, args),
        };
        let order = WrapperRequest {
            program,
            args,
            env: self.shared.environment.merge_variables(variables),
            layout,
            remove_layout: !plan.keep_files,
            stdin_bytes: stdin.len() as u64,
            max_output_bytes: config.max_spool_output_bytes,
            timeout_ms: config.action_timeout.map(milliseconds),
            stop_grace_ms: milliseconds(config.stop_grace),
            durability: self.entry.durability(),
            private,
        };
        (order, stdin)
    }

    /// The agent's own executable with the given arguments instead of a spool entry's path.
    fn own_executable(&self, words: Vec<String>) -> (String, Vec<String>) {
        let text = |part: &std::ffi::OsStr| part.to_string_lossy().into_owned();
        let mut command = self.shared.config.wrapper.iter().map(|part| text(part));
        let program = command.next().unwrap_or_default();
        (program, command.chain(words).collect())
    }

    /// Performs the work of the `file` module in the agent itself.
    async fn place_files(
        &mut self,
        plan: FilePlan,
        stops: &mut watch::Receiver<StopRequest>,
    ) -> ActionEnd {
        self.turn.release_bytes();
        let claimed = match ProcessIdentity::current() {
            Ok(me) => self.claim(ActionClaim::Started(me)).await,
            Err(error) => Err(ActionClaimError::Io(error)),
        };
        if let Err(error) = claimed {
            return self.not_run(error.to_string()).await;
        }
        for item in plan.items {
            let cached = match &item.kind {
                ItemKind::File(spec) => {
                    let fetched = tokio::select! {
                        biased;
                        () = stop_wanted(stops) => return self.cancelled().await,
                        fetched = self.shared.cache.get(spec, self.file_servers) => fetched,
                    };
                    match fetched {
                        Ok(cached) => Some(cached),
                        Err(error) => return self.not_run(error.to_string()).await,
                    }
                }
                ItemKind::Directory | ItemKind::Symlink { .. } => None,
            };
            let placed = run_blocking(move || {
                let cached = cached
                    .as_ref()
                    .map(|file| (file.path.as_path(), file.sha256));
                install_item(&item, cached).map_err(std::io::Error::other)
            })
            .await;
            if let Err(error) = placed {
                return self.not_run(error.to_string()).await;
            }
        }
        self.record(
            ExitRecord::not_run(0, None),
            Some((STDOUT_FILE, "downloaded")),
        )
        .await
    }

    async fn claim(&self, claim: ActionClaim) -> Result<(), ActionClaimError> {
        let entry = self.entry.clone();
        run_blocking(move || Ok(entry.take_claim(&claim))).await?
    }

    async fn cancelled(&self) -> ActionEnd {
        let mut record = ExitRecord::not_run(CANCELLED_EXITCODE, None);
        record.cancelled = true;
        self.record(
            record,
            Some((STDERR_FILE, "cancelled before it was started\n")),
        )
        .await
    }

    async fn not_run(&self, why: String) -> ActionEnd {
        self.record(ExitRecord::not_run(1, Some(why)), None).await
    }

    /// Writes the exit record of an end that no wrapper records.
    async fn record(
        &self,
        mut record: ExitRecord,
        text: Option<(&'static str, &'static str)>,
    ) -> ActionEnd {
        if let Some((stream, text)) = text {
            match stream {
                STDOUT_FILE => record.stdout_bytes = text.len() as u64,
                _ => record.stderr_bytes = text.len() as u64,
            }
        }
        let (entry, recorded) = (self.entry.clone(), record.clone());
        let written = run_blocking(move || {
            // If the text cannot be written, the result lacks it; nothing else depends on it.
            let output = text.map_or(Ok(()), |(stream, text)| entry.write_output(stream, text));
            entry.write_exit(&recorded).map_err(|error| error.source)?;
            output
        })
        .await;
        if let Err(error) = written {
            // The end is true and is reported anyway; it is lost only by a restart.
            tracing::error!(%error, "cannot record the end of an action");
        }
        ActionEnd::Exit(record)
    }
}

/// Waits for the end of a running action and passes stop requests on.
pub(super) async fn follow(
    mut supervised: SupervisedAction,
    entry: &SpoolEntry,
    stops: &mut watch::Receiver<StopRequest>,
) -> ActionEnd {
    stops.mark_changed();
    loop {
        tokio::select! {
            () = supervised.wait_ended() => break,
            Ok(()) = stops.changed() => match *stops.borrow_and_update() {
                StopRequest::No => {}
                StopRequest::Terminate => supervised.stop(false),
                StopRequest::Kill => supervised.stop(true),
            },
        }
    }
    end_of(entry.path())
}

/// Follows a wrapper that a previous agent process started.
pub(super) async fn reattach(
    identity: ProcessIdentity,
    entry: &SpoolEntry,
    stops: &mut watch::Receiver<StopRequest>,
) -> ActionEnd {
    match SupervisedAction::attach(identity) {
        Ok(supervised) => follow(supervised, entry, stops).await,
        Err(error) => ActionEnd::undetermined(format!("cannot watch the running action: {error}")),
    }
}

/// The end recorded by a wrapper that is gone or reported completion.
fn end_of(entry: &Path) -> ActionEnd {
    match ExitRecord::read(entry) {
        Ok(Some(record)) => ActionEnd::Exit(record),
        Ok(None) => ActionEnd::undetermined(
            "the process that supervised the action ended without recording it; what the action \
             started may still run",
        ),
        Err(error) => ActionEnd::undetermined(format!("its record is unreadable: {error}")),
    }
}

async fn stop_wanted(stops: &mut watch::Receiver<StopRequest>) {
    if stops
        .wait_for(|stop| *stop != StopRequest::No)
        .await
        .is_err()
    {
        // The sender lives in the turn, so this cannot happen; if it did, it would not be a stop
        // request.
        std::future::pending().await
    }
}
