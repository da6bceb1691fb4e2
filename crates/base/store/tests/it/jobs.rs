//! Jobs: numbers, states, lists.

use store::{
    BatchChange, JobListFilter, JobNumber, JobOrder, JobRunChange, ListPage, RolloutRow, StoreError,
};

use crate::engine::{Bench, applied, both, event, job, job_to, run_to};

both!(
    numbers_are_contiguous_over_failures_and_restarts,
    concurrent_callers_get_contiguous_numbers,
    a_job_is_read_as_it_was_written,
    states_go_forward_only_and_are_remembered,
    lists_are_filtered_ordered_and_paged,
    unfinished_jobs_come_with_their_secrets_and_runs,
    a_failed_neighbour_does_not_hurt,
    batches_go_forward_only_and_a_job_that_stops_waits_for_none,
    unknown_states_are_refused,
);

async fn numbers_are_contiguous_over_failures_and_restarts(mut bench: Bench) {
    for expected in 1..=5 {
        let twice = {
            let mut twice = job(&["a"]);
            twice.runs.push(twice.runs[0].clone());
            twice
        };
        assert!(matches!(
            bench.store.insert_job(twice).await,
            Err(StoreError::Refused(_))
        ));
        assert_eq!(
            bench.store.insert_job(job(&["a"])).await.unwrap().get(),
            expected
        );
        bench.reopen().await;
    }
}

async fn concurrent_callers_get_contiguous_numbers(bench: Bench) {
    let calls = (0..200).map(|_| {
        let store = bench.store.clone();
        tokio::spawn(async move { store.insert_job(job(&["a", "b"])).await.unwrap().get() })
    });
    let mut numbers = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        numbers.push(call.await.unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=200).collect::<Vec<_>>());
}

async fn a_job_is_read_as_it_was_written(bench: Bench) {
    let mut new = job(&["b", "a"]);
    new.states = vec!["ready".to_owned(), "running".to_owned()];
    new.description = "NUL \0 is shown, ü is kept".to_owned();
    new.userdata = r#"{"k":"\u0000"}"#.to_owned();
    new.events = vec![event("job_note", 7)];
    let number = bench.store.insert_job(new).await.unwrap();
    let row = bench.store.job(number).await.unwrap().unwrap();
    assert_eq!((row.state.as_str(), row.node_count), ("running", 2));
    assert_eq!(
        (row.created_ms, row.started_ms, row.finished_ms),
        (1_000, Some(1_000), None)
    );
    assert_eq!(row.description, "NUL \u{2400} is shown, ü is kept");
    assert_eq!(row.userdata, r#"{"k":"\u0000"}"#, "JSON loses nothing");
    assert_eq!(row.task.as_deref(), Some("package"));
    assert_eq!(
        bench.store.events(number, 0, 10).await.unwrap()[0].kind,
        "job_note"
    );
    assert_eq!(
        bench.store.job(JobNumber::new(99).unwrap()).await.unwrap(),
        None
    );
}

async fn states_go_forward_only_and_are_remembered(bench: Bench) {
    let store = &bench.store;
    let number = store.insert_job(job(&["a"])).await.unwrap();
    assert!(applied(store, job_to(number, "running", 2_000)).await);
    assert!(
        !applied(store, job_to(number, "running", 2_001)).await,
        "it is there already"
    );
    assert!(
        !applied(store, job_to(number, "ready", 2_002)).await,
        "back"
    );
    assert!(applied(store, job_to(number, "stopping", 3_000)).await);
    assert!(applied(store, job_to(number, "stopped", 4_000)).await);
    for state in ["finished", "failed", "stopped", "running"] {
        assert!(
            !applied(store, job_to(number, state, 5_000)).await,
            "{state}"
        );
    }
    let row = store.job(number).await.unwrap().unwrap();
    assert_eq!((row.state.as_str(), row.changed_ms), ("stopped", 4_000));
    assert_eq!(
        (row.started_ms, row.finished_ms),
        (Some(2_000), Some(4_000))
    );
    let history = store.job_states(number).await.unwrap();
    let history: Vec<_> = history
        .iter()
        .map(|row| (row.state.as_str(), row.enter_ms))
        .collect();
    let expected = [
        ("ready", 1_000),
        ("running", 2_000),
        ("stopping", 3_000),
        ("stopped", 4_000),
    ];
    assert_eq!(history, expected);
    let events = store.events(number, 0, 10).await.unwrap();
    assert_eq!(events.len(), 3, "what is not applied leaves no event");
}

async fn lists_are_filtered_ordered_and_paged(bench: Bench) {
    let store = &bench.store;
    for (index, (task, owner)) in [
        ("package", "zoe"),
        ("service::x", "Ann"),
        ("pack_age", "bob"),
    ]
    .into_iter()
    .enumerate()
    {
        let nodes: &[&str] = if index == 1 { &["a", "b"] } else { &["a"] };
        let mut new = job(nodes);
        new.task = Some(task.to_owned());
        new.owner = owner.to_owned();
        let number = store.insert_job(new).await.unwrap();
        let ended = 10_000 + i64::try_from(index).unwrap();
        assert!(applied(store, job_to(number, "finished", ended)).await);
    }
    let mut waiting = job(&["a"]);
    (waiting.kind, waiting.task) = ("deploy".to_owned(), None);
    store.insert_job(waiting).await.unwrap();

    let listed = async |filter: JobListFilter, page| {
        let (rows, total) = store.jobs(&filter, page).await.unwrap();
        (
            rows.iter().map(|row| row.number.get()).collect::<Vec<_>>(),
            total,
        )
    };
    let all = ListPage::default();
    let filter = JobListFilter::default();
    assert_eq!(listed(filter.clone(), all).await, (vec![1, 2, 3, 4], 4));
    let descending = JobListFilter {
        descending: true,
        ..filter.clone()
    };
    let page = ListPage {
        limit: Some(2),
        offset: 1,
    };
    assert_eq!(listed(descending, page).await, (vec![3, 2], 4));
    let by_owner = JobListFilter {
        order_by: JobOrder::Owner,
        ..filter.clone()
    };
    assert_eq!(
        listed(by_owner, all).await.0,
        [2, 4, 3, 1],
        "by bytes on both engines"
    );
    let task = |part: &str| JobListFilter {
        task: Some(part.to_owned()),
        ..filter.clone()
    };
    assert_eq!(listed(task("pack"), all).await, (vec![1, 3], 2));
    assert_eq!(
        listed(task("pack_"), all).await.0,
        [3],
        "`_` is no wildcard"
    );
    assert_eq!(listed(task("Pack"), all).await.0, [0; 0], "case counts");
    assert_eq!(listed(task(""), all).await.1, 4);
    let deploys = JobListFilter {
        kind: Some("deploy".to_owned()),
        ..filter.clone()
    };
    assert_eq!(listed(deploys, all).await.0, [4]);
    let of_ann = JobListFilter {
        owner: Some("Ann".to_owned()),
        ..filter.clone()
    };
    assert_eq!(listed(of_ann, all).await, (vec![2], 1));
    let finished = JobListFilter {
        state: Some("finished".to_owned()),
        ..filter.clone()
    };
    assert_eq!(listed(finished, all).await, (vec![1, 2, 3], 3));
    let with = |certname: &str| JobListFilter {
        certname: Some(certname.to_owned()),
        ..filter.clone()
    };
    assert_eq!(listed(with("b"), all).await, (vec![2], 1));
    assert_eq!(listed(with("a"), all).await.1, 4);
    assert_eq!(listed(with("' OR 1=1 --"), all).await.1, 0);
    let ended = JobListFilter {
        min_finish_ms: Some(10_001),
        max_finish_ms: Some(10_001),
        ..filter.clone()
    };
    assert_eq!(listed(ended, all).await, (vec![2], 1));
    for order_by in [
        JobOrder::Number,
        JobOrder::Changed,
        JobOrder::Environment,
        JobOrder::State,
    ] {
        for descending in [false, true] {
            let filter = JobListFilter {
                order_by,
                descending,
                ..filter.clone()
            };
            assert_eq!(listed(filter, all).await.0.len(), 4);
        }
    }
}

async fn unfinished_jobs_come_with_their_secrets_and_runs(bench: Bench) {
    let store = &bench.store;
    let over = store.insert_job(job(&["a"])).await.unwrap();
    let open = store.insert_job(job(&["a", "b", "c"])).await.unwrap();
    let changes = vec![
        run_to(over, "a", "finished", 2),
        job_to(over, "finished", 3),
        run_to(open, "b", "failed", 4),
        run_to(open, "c", "running", 5),
    ];
    assert!(
        store
            .commit(changes)
            .await
            .unwrap()
            .iter()
            .all(|applied| applied.changed)
    );
    let unfinished = store.unfinished_jobs().await.unwrap();
    assert_eq!(unfinished.len(), 1);
    let job = &unfinished[0];
    assert_eq!(
        (job.job.number, job.sealed.as_deref()),
        (open, Some(&[1, 2, 3][..]))
    );
    let runs: Vec<_> = job
        .runs
        .iter()
        .map(|run| (run.certname.as_str(), run.state.as_str()))
        .collect();
    assert_eq!(runs, [("a", "ready"), ("c", "running")]);
    assert_eq!(job.node_states["failed"], 1);
}

async fn batches_go_forward_only_and_a_job_that_stops_waits_for_none(mut bench: Bench) {
    let plain = bench.store.insert_job(job(&["a"])).await.unwrap();
    let mut new = job(&["a", "b", "c"]);
    new.batches = Some(2);
    for (run, batch) in new.runs.iter_mut().zip([1, 2, 2]) {
        run.batch = Some(batch);
    }
    let number = bench.store.insert_job(new).await.unwrap();
    let enter = |job, batch, next_batch_ms| {
        let event = Some(event("batch_started", 5));
        JobRunChange::Batch(BatchChange {
            job,
            batch,
            next_batch_ms,
            event,
        })
    };
    let store = &bench.store;
    assert!(!applied(store, enter(plain, 1, None)).await, "it has none");
    assert!(applied(store, enter(number, 1, Some(7_000))).await);
    bench.reopen().await;
    let store = &bench.store;
    let rollout = async || store.job(number).await.unwrap().unwrap().rollout;
    let expected = |batch, next_batch_ms| {
        Some(RolloutRow {
            batches: 2,
            batch,
            next_batch_ms,
        })
    };
    assert_eq!(rollout().await, expected(1, Some(7_000)));
    assert!(applied(store, enter(number, 2, None)).await);
    assert!(!applied(store, enter(number, 1, Some(9_000))).await, "back");
    assert!(applied(store, run_to(number, "b", "finished", 8_000)).await);
    let states = store.batch_states(number).await.unwrap();
    let states: Vec<_> = states
        .iter()
        .map(|row| (row.batch, row.state.as_str(), row.count))
        .collect();
    assert_eq!(
        states,
        [(1, "ready", 1), (2, "finished", 1), (2, "ready", 1)]
    );
    assert!(applied(store, enter(number, 2, Some(9_000))).await);
    assert!(applied(store, job_to(number, "stopping", 9_000)).await);
    assert!(
        !applied(store, enter(number, 2, Some(9_500))).await,
        "it stops"
    );
    assert_eq!(rollout().await, expected(2, None));
    assert_eq!(store.job(plain).await.unwrap().unwrap().rollout, None);
    assert_eq!(store.batch_states(plain).await.unwrap(), []);
    let runs = store.runs_after(number, "", 9).await.unwrap();
    let batches: Vec<_> = runs.iter().map(|run| run.batch).collect();
    assert_eq!(batches, [Some(1), Some(2), Some(2)]);
}

#[tokio::test]
async fn damaged_numbers_of_batches_do_not_hide_the_other_jobs_on_sqlite() {
    let mut bench = Bench::sqlite().await;
    for _ in 0..3 {
        bench.store.insert_job(job(&["a"])).await.unwrap();
    }
    bench.store.close().await;
    let path = bench.config.url.strip_prefix("sqlite:").unwrap();
    rusqlite::Connection::open(path)
        .unwrap()
        .execute_batch(
            "UPDATE jobs SET batches = 2 WHERE number = 1; \
             UPDATE jobs SET batches = 2, batch = -1 WHERE number = 2",
        )
        .unwrap();
    bench.reopen().await;
    let unfinished = bench.store.unfinished_jobs().await.unwrap();
    assert_eq!(unfinished.len(), 3);
    let rollouts = unfinished.iter().map(|it| it.job.rollout);
    let batches: Vec<_> = rollouts.map(|it| it.map(|it| it.batch)).collect();
    assert_eq!(batches, [Some(0), Some(0), None]);
}

async fn a_failed_neighbour_does_not_hurt(bench: Bench) {
    let calls = (0..100).map(|index| {
        let store = bench.store.clone();
        let mut new = job(&["a"]);
        if index % 7 == 3 {
            new.runs.push(new.runs[0].clone());
        }
        let bad = new.runs.len() > 1;
        tokio::spawn(async move { (bad, store.insert_job(new).await) })
    });
    let mut numbers = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        let (bad, outcome) = call.await.unwrap();
        assert_eq!(bad, outcome.is_err());
        numbers.extend(outcome.ok().map(JobNumber::get));
    }
    numbers.sort_unstable();
    let good = i64::try_from(numbers.len()).unwrap();
    assert_eq!(numbers, (1..=good).collect::<Vec<_>>());
}

async fn unknown_states_are_refused(bench: Bench) {
    let mut new = job(&["a"]);
    new.states = Vec::new();
    assert!(matches!(
        bench.store.insert_job(new).await,
        Err(StoreError::NoState)
    ));
    let mut new = job(&["a"]);
    new.runs[0].state = "stopped".to_owned();
    let error = bench.store.insert_job(new).await.unwrap_err();
    assert_eq!(error.to_string(), "no run has the state \"stopped\"");
    let number = bench.store.insert_job(job(&["a"])).await.unwrap();
    let changes = vec![
        run_to(number, "a", "finished", 1),
        job_to(number, "errored", 1),
    ];
    assert!(bench.store.commit(changes).await.is_err());
    let run = bench.store.run(number, "a").await.unwrap().unwrap();
    assert_eq!(run.state, "ready", "all of a commit or nothing");
}
