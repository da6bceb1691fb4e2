//! Recovery of the spool that earlier agents left: [`recover`] follows running actions again, sends
//! unsent outcomes, and reports the remaining entries truthfully.
//!
//! Invariants: it runs before the first request is accepted; nothing is started here, and an action
//! that was not started is first made impossible to start (see [`Claim`](crate::spool::Claim)).

use std::io;
use std::sync::Arc;

use pxp::TransactionId;

use super::Shared;
use super::disk::on_disk;
use super::end::End;
use super::execute::reattach;
use super::run::finish;
use crate::process::{ExitRecord, ProcessIdentity, boot_id};
use crate::spool::{Claim, ClaimError, Entry, Record, Status};

/// State in which an entry was left.
enum Found {
    /// Ended and summarised, but perhaps not delivered.
    Finished,
    /// Ended while no agent was running.
    Ended(End),
    Running(ProcessIdentity),
}

/// Processes the whole spool. The requester of an entry with an unreadable record is not known: the
/// entry is logged, reported to requesters that query it, and left to the purge.
pub(super) async fn recover(shared: &Arc<Shared>) -> io::Result<()> {
    let spool = shared.spool.clone();
    let entries = on_disk(move || spool.entries()).await?;
    for (id, entry) in entries {
        let looked_at = entry.clone();
        match on_disk(move || look(&looked_at)).await {
            Ok((record, found)) => resume(shared, &id, entry, record, found),
            Err(error) => {
                tracing::warn!(transaction_id = %id, %error, "unusable entry in the spool");
            }
        }
    }
    Ok(())
}

fn resume(shared: &Arc<Shared>, id: &TransactionId, entry: Entry, record: Record, found: Found) {
    match found {
        Found::Finished => {
            let delivery = record.delivery();
            if record.tutti.is_some() && record.notify_outcome && !delivery.acknowledged {
                let requester = record.requester.clone();
                shared.courier.add(id.clone(), requester, delivery.sends);
            }
        }
        Found::Ended(end) => {
            let turn = shared.transactions.resume(id);
            turn.active.set_entry(entry.clone());
            let owned = Arc::clone(shared);
            shared.spawn(async move { finish(&owned, turn, record, entry, end).await });
        }
        Found::Running(identity) => {
            tracing::info!(transaction_id = %id, pid = identity.pid, "found a running action again");
            let turn = shared.transactions.resume(id);
            turn.active.set_entry(entry.clone());
            let owned = Arc::clone(shared);
            shared.spawn(async move {
                let mut stops = turn.active.stops();
                let end = reattach(identity, &entry, &mut stops).await;
                finish(&owned, turn, record, entry, end).await;
            });
        }
    }
}

fn look(entry: &Entry) -> io::Result<(Record, Found)> {
    let record = entry.record()?;
    if record.status != Status::Running {
        return Ok((record, Found::Finished));
    }
    let Some(extension) = &record.tutti else {
        // An entry of pxp-agent: its own files are read when it is queried.
        return Ok((record, Found::Finished));
    };
    let same_boot = boot_id()? == extension.boot_id;
    let found = unfinished(entry, same_boot)?;
    Ok((record, found))
}

fn unfinished(entry: &Entry, same_boot: bool) -> io::Result<Found> {
    match entry.exit() {
        Ok(Some(exit)) => return Ok(Found::Ended(End::Exit(exit))),
        Ok(None) => {}
        Err(error) => {
            let end = End::unreadable(same_boot, "exit record", &error);
            return Ok(Found::Ended(end));
        }
    }
    let claim = match entry.claim() {
        Ok(claim) => claim,
        Err(error) => return Ok(Found::Ended(End::unreadable(same_boot, "claim", &error))),
    };
    match claim {
        Some(Claim::Started(identity)) if identity.open().is_some() => Ok(Found::Running(identity)),
        Some(Claim::Started(_)) => {
            // The wrapper may have recorded the end right before it exited.
            let end = match entry.exit()? {
                Some(exit) => End::Exit(exit),
                None => End::unrecorded(same_boot),
            };
            Ok(Found::Ended(end))
        }
        Some(Claim::Abandoned) => never_started(entry),
        // A claim made before the restart of the machine may not have reached the disk.
        None if !same_boot => Ok(Found::Ended(End::unrecorded(false))),
        None => match entry.take_claim(&Claim::Abandoned) {
            Ok(()) => never_started(entry),
            // A wrapper took the claim first; now it can be followed.
            Err(ClaimError::Taken) => unfinished(entry, same_boot),
            Err(ClaimError::Io(error)) => Err(error),
        },
    }
}

fn never_started(entry: &Entry) -> io::Result<Found> {
    let why = "the agent was restarted before the action was started; it did not run";
    let exit = ExitRecord::not_run(1, Some(why.to_owned()));
    entry.write_exit(&exit).map_err(|error| error.source)?;
    Ok(Found::Ended(End::Exit(exit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> (tempfile::TempDir, Entry) {
        let dir = tempfile::tempdir().unwrap();
        let spool = crate::spool::Spool::open(dir.path()).unwrap();
        let entry = spool.scratch();
        entry.make().unwrap();
        (dir, entry)
    }

    #[test]
    fn an_unclaimed_entry_of_this_boot_did_not_run_and_never_will() {
        let (_dir, entry) = entry();
        let found = unfinished(&entry, true).unwrap();
        assert!(matches!(found, Found::Ended(End::Exit(exit)) if exit.error.is_some()));
        assert!(matches!(
            entry.take_claim(&Claim::Abandoned),
            Err(ClaimError::Taken)
        ));
    }

    #[test]
    fn an_empty_claim_or_exit_record_of_an_earlier_boot_means_that_the_machine_was_restarted() {
        for file in ["claim.json", "exit.json"] {
            for content in ["", "\0\0\0\0", "{\"Started\":{"] {
                let (_dir, entry) = entry();
                std::fs::write(entry.path().join(file), content).unwrap();
                let found = unfinished(&entry, false).unwrap();
                let Found::Ended(End::Undetermined(why)) = found else {
                    panic!("{file} {content:?}");
                };
                assert!(why.contains("the machine was restarted"), "{why}");
                let found = unfinished(&entry, true).unwrap();
                let Found::Ended(End::Undetermined(why)) = found else {
                    panic!("{file} {content:?}");
                };
                assert!(why.contains("unreadable"), "{why}");
            }
        }
    }

    #[test]
    fn an_unclaimed_entry_of_an_earlier_boot_is_unknown() {
        let (_dir, entry) = entry();
        let found = unfinished(&entry, false).unwrap();
        assert!(matches!(found, Found::Ended(End::Undetermined(_))));
    }

    #[test]
    fn a_claim_of_a_process_that_is_gone_is_unknown() {
        let (_dir, entry) = entry();
        let mut gone = ProcessIdentity::current().unwrap();
        gone.start_ticks += 1;
        entry.take_claim(&Claim::Started(gone)).unwrap();
        assert!(matches!(
            unfinished(&entry, true).unwrap(),
            Found::Ended(End::Undetermined(_))
        ));
    }

    #[test]
    fn a_claim_of_a_living_process_is_followed() {
        let (_dir, entry) = entry();
        let me = ProcessIdentity::current().unwrap();
        entry.take_claim(&Claim::Started(me.clone())).unwrap();
        assert!(matches!(unfinished(&entry, true).unwrap(), Found::Running(found) if found == me));
    }
}
