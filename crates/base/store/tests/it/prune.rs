//! Pruning of old jobs.

use store::defaults::SCHEDULED_PUPPET_JOBS;
use store::{JobListFilter, ListPage, PrunedRows, SlotKey};

use crate::engine::{Bench, both, job, job_to, run_to};

both!(
    old_jobs_go_and_their_numbers_stay_used,
    the_newest_scheduled_puppet_runs_are_kept,
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

async fn the_newest_scheduled_puppet_runs_are_kept(bench: Bench) {
    let store = &bench.store;
    let insert = async |command: &str, schedule: i64, slot_ms: i64| {
        let mut new = job(&["a"]);
        new.command = command.to_owned();
        new.slot = Some(SlotKey { schedule, slot_ms });
        let number = store.insert_job(new).await.unwrap();
        store
            .commit(vec![job_to(number, "finished", 9_000)])
            .await
            .unwrap();
        number
    };
    let mut first = Vec::new();
    for slot in 0..SCHEDULED_PUPPET_JOBS + 70 {
        first.push(insert("deploy", 1, slot).await);
        insert("task", 2, slot).await;
    }
    let other = insert("deploy", 3, 0).await;
    let pruned = store.prune_jobs(1).await.unwrap();
    assert_eq!((pruned.jobs, pruned.runs), (70, 70));
    assert!(store.job(first[69]).await.unwrap().is_none());
    for kept in [first[70], other] {
        assert!(store.job(kept).await.unwrap().is_some());
    }
    assert_eq!(store.prune_jobs(1).await.unwrap(), PrunedRows::default());
}
