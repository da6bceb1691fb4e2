//! Check-in of a follower: its report and the answer.
//!
//! Invariant: a report is parsed before any of it is used.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use api_types::{CheckInCommand, CheckedIn, FileSyncSubmodule, FollowedEnvironment};
use environments::EnvironmentName;
use store::CodeFollowerRow;
use tokio::time::{Instant, timeout_at};

use super::{CheckInError, FileSync, milliseconds};
use crate::defaults::{FOLLOWER_ERROR_BYTES, FOLLOWER_NOTED, FOLLOWER_POLL, GENERATION_MAX};
use crate::follower_board::{FollowerBoard, FollowerReport, ReportedEnvironment};
use code_store::version::VersionSignature;
use store::now_ms;

impl FileSync {
    /// Records the report of a follower. The answer is sent when it differs from the follower's
    /// cursor, or after [`FOLLOWER_POLL`].
    pub async fn check_in(
        &self,
        name: &str,
        command: CheckInCommand,
    ) -> Result<CheckedIn, CheckInError> {
        let report = parse_report(&command.environments)?;
        self.record_check_in(name, report, &command.environments)
            .await?;
        let deadline = Instant::now() + FOLLOWER_POLL;
        let mut changed = self.inner.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let answer = self.to_response();
            if command.cursor.as_ref() != Some(&answer.cursor) {
                return Ok(answer);
            }
            match timeout_at(deadline, changed.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Ok(answer),
            }
        }
    }

    async fn record_check_in(
        &self,
        name: &str,
        report: FollowerReport,
        told: &BTreeMap<String, FollowedEnvironment>,
    ) -> Result<(), CheckInError> {
        let now = now_ms();
        let (ahead, is_other, gone) = {
            let mut board = self.board();
            let gone = board.remove_expired(now);
            let is_other = board.report_of(name) != Some(&report);
            let ahead = board.check_in(name, report, now);
            (ahead.map_err(|_| CheckInError::Full)?, is_other, gone)
        };
        self.notify_changed();
        for name in gone {
            self.inner.store.forget_code_follower(&name).await?;
        }
        for environment in ahead {
            tracing::warn!(%environment, follower = name, "a follower knows a later switch than this server's database");
            let live = self.inner.versions.live_version(&environment);
            self.announce(&environment, live.as_ref()).await?;
        }
        let is_due = {
            let noted = self
                .inner
                .recorded_check_ins
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let noted = noted.get(name);
            noted.is_none_or(|at| now - at > milliseconds(FOLLOWER_NOTED))
        };
        if is_other || is_due {
            let row = CodeFollowerRow {
                name: name.to_owned(),
                seen_ms: now,
                report: serde_json::to_string(told).unwrap_or_default(),
            };
            self.inner.store.set_code_follower(&row).await?;
            let mut noted = self
                .inner
                .recorded_check_ins
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            noted.insert(name.to_owned(), now);
        }
        Ok(())
    }

    fn to_response(&self) -> CheckedIn {
        let board = self.board();
        let offered = board.offered().iter();
        CheckedIn {
            cursor: format!("{}-{}", self.inner.series, board.change_count()),
            lease_s: self.inner.settings.lease.as_secs(),
            environments: to_submodules(&board),
            staging: offered
                .map(|(of, it)| (of.to_string(), it.to_string()))
                .collect(),
            forced: board.force_count(),
        }
    }
}

pub(super) fn to_submodules(board: &FollowerBoard) -> BTreeMap<String, FileSyncSubmodule> {
    let each = board.environments().iter().map(|(of, it)| {
        let shown = FileSyncSubmodule {
            commit: it.signature.as_ref().map(ToString::to_string),
            generation: it.generation,
        };
        (of.to_string(), shown)
    });
    each.collect()
}

/// Parses and checks the report of a follower.
pub(super) fn parse_report(
    told: &BTreeMap<String, FollowedEnvironment>,
) -> Result<FollowerReport, CheckInError> {
    let mut report = FollowerReport::new();
    for (name, had) in told {
        let environment: EnvironmentName = name.parse().map_err(|error| {
            CheckInError::Invalid("environments", format!("has a bad name: {error}"))
        })?;
        let invalid = |what: String| {
            CheckInError::Invalid("environments", format!("of {environment}: {what}"))
        };
        let signature = |text: &Option<String>| {
            let parsed = text.as_deref().map(str::parse::<VersionSignature>);
            parsed
                .transpose()
                .map_err(|error| invalid(error.to_string()))
        };
        if !(0..=GENERATION_MAX).contains(&had.generation) {
            return Err(invalid("no such generation".to_owned()));
        }
        let why = had.error.as_deref().unwrap_or_default();
        let why = &why[..why.floor_char_boundary(FOLLOWER_ERROR_BYTES)];
        let failed = signature(&had.failed)?.map(|it| (it, why.to_owned()));
        let had = ReportedEnvironment {
            generation: had.generation,
            signature: signature(&had.version)?,
            staged: signature(&had.staged)?,
            failed,
        };
        report.insert(environment, had);
    }
    Ok(report)
}
