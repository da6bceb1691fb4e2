//! The event log.

use store::{EventChange, JobNumber, JobRunChange};

use crate::engine::{Bench, both, event, job, run_to};

both!(
    ids_ascend_over_all_jobs_and_restarts,
    events_are_read_from_an_id_on
);

async fn ids_ascend_over_all_jobs_and_restarts(mut bench: Bench) {
    let mut last = 0;
    for _ in 0..3 {
        let number = bench.store.insert_job(job(&["a"])).await.unwrap();
        let applied = bench
            .store
            .commit(vec![run_to(number, "a", "running", 1)])
            .await
            .unwrap();
        let id = applied[0].event_id.unwrap();
        assert!(id > last);
        last = id;
        assert_eq!(bench.store.last_event_id().await.unwrap(), id);
        bench.reopen().await;
    }
}

async fn events_are_read_from_an_id_on(bench: Bench) {
    let store = &bench.store;
    let number = store.insert_job(job(&["a"])).await.unwrap();
    let other = store.insert_job(job(&["a"])).await.unwrap();
    let note = |job, at_ms| {
        JobRunChange::Event(EventChange {
            job,
            event: event("note", at_ms),
        })
    };
    let changes = (0..10)
        .flat_map(|at_ms| [note(number, at_ms), note(other, at_ms)])
        .collect();
    let ids: Vec<i64> = store
        .commit(changes)
        .await
        .unwrap()
        .iter()
        .filter_map(|applied| applied.event_id)
        .collect();
    assert_eq!(ids.len(), 20);
    let read = store.events(number, ids[4], 3).await.unwrap();
    let read: Vec<_> = read.iter().map(|event| (event.id, event.at_ms)).collect();
    assert_eq!(read, [(ids[4], 2), (ids[6], 3), (ids[8], 4)]);
    let nowhere = note(JobNumber::new(99).unwrap(), 1);
    assert!(!store.commit(vec![nowhere]).await.unwrap()[0].changed);
}
