//! Recovery of the spool that earlier agents left: [`recover`] follows running actions again, sends
//! unsent outcomes, and reports the remaining entries truthfully.
//!
//! Invariants: it runs before the first request is accepted; nothing is started here, and an action
//! that was not started is first made impossible to start (see
//! [`ActionClaim`](crate::spool::ActionClaim)).

use std::io;
use std::sync::Arc;

use pxp::TransactionId;

use super::action_end::ActionEnd;
use super::disk::run_blocking;
use super::execute::reattach;
use super::run::finish;
use super::state::ActionEngineState;
use crate::process::{ExitRecord, ProcessIdentity, boot_id};
use crate::spool::{ActionClaim, ActionClaimError, RecordStatus, SpoolEntry, TransactionRecord};

/// State in which an entry was left.
enum RecoveredEntry {
    /// Ended and summarised, but perhaps not delivered.
    Finished,
    /// Ended while no agent was running.
    Ended(ActionEnd),
    Running(ProcessIdentity),
}

/// Processes the whole spool. The requester of an entry with an unreadable record is not known: the
/// entry is logged, reported to requesters that query it, and left to the purge.
pub(super) async fn recover(shared: &Arc<ActionEngineState>) -> io::Result<()> {
    let spool = shared.spool.clone();
    let entries = run_blocking(move || spool.entries()).await?;
    for (id, entry) in entries {
        let looked_at = entry.clone();
        match run_blocking(move || inspect_entry(&looked_at)).await {
            Ok((record, found)) => resume(shared, &id, entry, record, found),
            Err(error) => {
                tracing::warn!(transaction_id = %id, %error, "unusable entry in the spool");
            }
        }
    }
    Ok(())
}

fn resume(
    shared: &Arc<ActionEngineState>,
    id: &TransactionId,
    entry: SpoolEntry,
    record: TransactionRecord,
    found: RecoveredEntry,
) {
    match found {
        RecoveredEntry::Finished => {
            let delivery = record.delivery();
            if record.tutti.is_some() && record.notify_outcome && !delivery.acknowledged {
                let requester = record.requester.clone();
                shared.courier.add(id.clone(), requester, delivery.sends);
            }
        }
        RecoveredEntry::Ended(end) => {
            let turn = shared.transactions.resume(id);
            turn.active.set_entry(entry.clone());
            let owned = Arc::clone(shared);
            shared.spawn(async move { finish(&owned, turn, record, entry, end).await });
        }
        RecoveredEntry::Running(identity) => {
            tracing::info!(transaction_id = %id, pid = identity.pid, "found a running action again");
            let turn = shared.transactions.resume(id);
            turn.active.set_entry(entry.clone());
            let owned = Arc::clone(shared);
            shared.spawn(async move {
                let mut stops = turn.active.subscribe_stops();
                let end = reattach(identity, &entry, &mut stops).await;
                finish(&owned, turn, record, entry, end).await;
            });
        }
    }
}

fn inspect_entry(entry: &SpoolEntry) -> io::Result<(TransactionRecord, RecoveredEntry)> {
    let record = entry.record()?;
    if record.status != RecordStatus::Running {
        return Ok((record, RecoveredEntry::Finished));
    }
    let Some(extension) = &record.tutti else {
        // An entry of pxp-agent: its own files are read when it is queried.
        return Ok((record, RecoveredEntry::Finished));
    };
    let same_boot = boot_id()? == extension.boot_id;
    let found = recover_unfinished(entry, same_boot)?;
    Ok((record, found))
}

fn recover_unfinished(entry: &SpoolEntry, same_boot: bool) -> io::Result<RecoveredEntry> {
    match entry.exit() {
        Ok(Some(exit)) => return Ok(RecoveredEntry::Ended(ActionEnd::Exit(exit))),
        Ok(None) => {}
        Err(error) => {
            let end = ActionEnd::unreadable(same_boot, "exit record", &error);
            return Ok(RecoveredEntry::Ended(end));
        }
    }
    let claim = match entry.claim() {
        Ok(claim) => claim,
        Err(error) => {
            return Ok(RecoveredEntry::Ended(ActionEnd::unreadable(
                same_boot, "claim", &error,
            )));
        }
    };
    match claim {
        Some(ActionClaim::Started(identity)) if identity.open().is_some() => {
            Ok(RecoveredEntry::Running(identity))
        }
        Some(ActionClaim::Started(_)) => {
            // The wrapper may have recorded the end right before it exited.
            let end = match entry.exit()? {
                Some(exit) => ActionEnd::Exit(exit),
                None => ActionEnd::unrecorded(same_boot),
            };
            Ok(RecoveredEntry::Ended(end))
        }
        Some(ActionClaim::Abandoned) => finish_never_started(entry),
        // A claim made before the restart of the machine may not have reached the disk.
        None if !same_boot => Ok(RecoveredEntry::Ended(ActionEnd::unrecorded(false))),
        None => match entry.take_claim(&ActionClaim::Abandoned) {
            Ok(()) => finish_never_started(entry),
            // A wrapper took the claim first; now it can be followed.
            Err(ActionClaimError::Taken) => recover_unfinished(entry, same_boot),
            Err(ActionClaimError::Io(error)) => Err(error),
        },
    }
}

fn finish_never_started(entry: &SpoolEntry) -> io::Result<RecoveredEntry> {
    let why = "the agent was restarted before the action was started; it did not run";
    let exit = ExitRecord::not_run(1, Some(why.to_owned()));
    entry.write_exit(&exit).map_err(|error| error.source)?;
    Ok(RecoveredEntry::Ended(ActionEnd::Exit(exit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> (tempfile::TempDir, SpoolEntry) {
        let dir = tempfile::tempdir().unwrap();
        let spool = crate::spool::Spool::open(dir.path()).unwrap();
        let entry = spool.scratch();
        entry.make().unwrap();
        (dir, entry)
    }

    #[test]
    fn an_unclaimed_entry_of_this_boot_did_not_run_and_never_will() {
        let (_dir, entry) = entry();
        let found = recover_unfinished(&entry, true).unwrap();
        assert!(
            matches!(found, RecoveredEntry::Ended(ActionEnd::Exit(exit)) if exit.error.is_some())
        );
        assert!(matches!(
            entry.take_claim(&ActionClaim::Abandoned),
            Err(ActionClaimError::Taken)
        ));
    }

    #[test]
    fn an_empty_claim_or_exit_record_of_an_earlier_boot_means_that_the_machine_was_restarted() {
        for file in ["claim.json", "exit.json"] {
            for content in ["", "\0\0\0\0", "{\"Started\":{"] {
                let (_dir, entry) = entry();
                std::fs::write(entry.path().join(file), content).unwrap();
                let found = recover_unfinished(&entry, false).unwrap();
                let RecoveredEntry::Ended(ActionEnd::Undetermined(why)) = found else {
                    panic!("{file} {content:?}");
                };
                assert!(why.contains("the machine was restarted"), "{why}");
                let found = recover_unfinished(&entry, true).unwrap();
                let RecoveredEntry::Ended(ActionEnd::Undetermined(why)) = found else {
                    panic!("{file} {content:?}");
                };
                assert!(why.contains("unreadable"), "{why}");
            }
        }
    }

    #[test]
    fn an_unclaimed_entry_of_an_earlier_boot_is_unknown() {
        let (_dir, entry) = entry();
        let found = recover_unfinished(&entry, false).unwrap();
        assert!(matches!(
            found,
            RecoveredEntry::Ended(ActionEnd::Undetermined(_))
        ));
    }

    #[test]
    fn a_claim_of_a_process_that_is_gone_is_unknown() {
        let (_dir, entry) = entry();
        let mut gone = ProcessIdentity::current().unwrap();
        gone.start_ticks += 1;
        entry.take_claim(&ActionClaim::Started(gone)).unwrap();
        assert!(matches!(
            recover_unfinished(&entry, true).unwrap(),
            RecoveredEntry::Ended(ActionEnd::Undetermined(_))
        ));
    }

    #[test]
    fn a_claim_of_a_living_process_is_followed() {
        let (_dir, entry) = entry();
        let me = ProcessIdentity::current().unwrap();
        entry.take_claim(&ActionClaim::Started(me.clone())).unwrap();
        assert!(
            matches!(recover_unfinished(&entry, true).unwrap(), RecoveredEntry::Running(found) if found == me)
        );
    }
}
