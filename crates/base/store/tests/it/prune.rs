//! Pruning of old jobs.

use store::{JobListFilter, ListPage, PrunedRows};

use crate::engine::{Bench, both, job, job_to, run_to};

both!(old_jobs_go_and_their_numbers_stay_used);

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
