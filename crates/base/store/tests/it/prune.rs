//! Pruning of old jobs.

use store::defaults::REGULAR_JOBS;
use store::{JobListFilter, ListPage, PrunedRows, ScheduleProgress, SlotClaim, SlotKey};

use crate::engine::{Bench, both, job, job_to, run_to};
use crate::older_history::schedule;

both!(
    old_jobs_go_and_their_numbers_stay_used,
    the_newest_regular_runs_are_kept,
);

async fn old_jobs_go_and_their_numbers_stay_used(bench: Bench) {
    let store = &bench.store;
    let mut numbers = Vec::new();
    for index in 0..70 {
        let number = store.insert_job(job(&["a", "b"])).await.unwrap();
        // Two remain: one that is not over and one that ended late.
        let changes = match index {
            0 => vec![run_to(number, "a", "running", 1)],
            1 => vec![job_to(number, "failed", 9_000)],
            _ => vec![
                run_to(number, "a", "finished", 2),
                job_to(number, "failed", 3),
            ],
        };
        store.commit(changes).await.unwrap();
        numbers.push(number);
    }
    let pruned = store.prune_jobs(9_000).await.unwrap();
    assert_eq!(
        pruned,
        PrunedRows {
            jobs: 68,
            events: 136,
            runs: 136
        }
    );
    assert_eq!(
        store.prune_jobs(9_000).await.unwrap(),
        PrunedRows::default()
    );
    let (left, total) = store
        .jobs(&JobListFilter::default(), ListPage::default())
        .await
        .unwrap();
    let left: Vec<_> = left.iter().map(|row| row.number).collect();
    assert_eq!((left.as_slice(), total), (&numbers[..2], 2));
    assert!(store.events(numbers[5], 0, 10).await.unwrap().is_empty());
    assert!(store.job_states(numbers[5]).await.unwrap().is_empty());
    let last_event = store.last_event_id().await.unwrap();
    let next = store.insert_job(job(&["a"])).await.unwrap();
    assert_eq!(next.get(), 71);
    let applied = store
        .commit(vec![run_to(next, "a", "running", 1)])
        .await
        .unwrap();
    assert!(applied[0].event_id.unwrap() > last_event);
}

async fn the_newest_regular_runs_are_kept(bench: Bench) {
    let store = &bench.store;
    let schedules = [
        ("deploy", r#"{"code":"latest","splay":60}"#),
        ("task", r#"{"noop":false,"splay":60}"#),
        ("deploy", r#"{"description":"x,\"splay\":60"}"#),
    ];
    let mut jobs = Vec::new();
    for (number, (command, options)) in schedules.into_iter().enumerate() {
        let new = schedule(&number.to_string(), 1);
        let schedule = store.insert_schedule(new).await.unwrap();
        let revision = store.schedule(schedule).await.unwrap().unwrap().revision;
        let mut numbers = Vec::new();
        for slot_ms in 0..REGULAR_JOBS + 70 {
            let slot = SlotKey { schedule, slot_ms };
            let claim = SlotClaim {
                slot,
                revision,
                claim: "c".to_owned(),
                at_ms: slot_ms,
                advance: ScheduleProgress::default(),
            };
            assert!(store.claim_slot(claim).await.unwrap());
            let mut new = job(&["a"]);
            new.command = command.to_owned();
            new.options = options.to_owned();
            new.slot = Some(slot);
            let number = store.insert_job(new).await.unwrap();
            let ends = vec![job_to(number, "finished", 9_000)];
            store.commit(ends).await.unwrap();
            store.end_slot(slot, None).await.unwrap();
            numbers.push(number);
        }
        jobs.push(numbers);
    }
    let pruned = store.prune_jobs(1).await.unwrap();
    assert_eq!((pruned.jobs, pruned.runs), (70, 70));
    assert!(store.job(jobs[0][69]).await.unwrap().is_none());
    for kept in [jobs[0][70], jobs[1][0], jobs[2][0]] {
        assert!(store.job(kept).await.unwrap().is_some());
    }
    assert_eq!(store.prune_jobs(1).await.unwrap(), PrunedRows::default());
}
