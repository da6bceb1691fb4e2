//! Runs: states, order, lookup.

use std::collections::BTreeMap;

use store::{JobRunChange, ListPage, RunFilter, RunListOrder};

use crate::engine::{Bench, applied, both, job, job_to, run_to};

both!(
    states_are_counted_while_a_job_goes_on_and_summed_up_when_it_is_over,
    an_ended_run_never_changes_again,
    results_that_come_twice_change_nothing,
    lists_are_filtered_ordered_and_paged,
    ties_are_broken_by_certname_and_one_state_is_listed_in_any_order,
    durations_that_were_measured_come_before_differences_of_times_of_day,
    runs_are_read_some_at_a_time_in_any_order,
    a_run_is_found_by_its_transaction,
    states_are_counted_for_many_jobs,
);

async fn an_ended_run_never_changes_again(bench: Bench) {
    let store = &bench.store;
    let states = ["finished", "failed", "errored", "skipped"];
    for state in states {
        let number = store.insert_job(job(&["a"])).await.unwrap();
        assert!(applied(store, run_to(number, "a", "running", 5)).await);
        assert!(applied(store, run_to(number, "a", state, 6)).await);
        let before = store.run(number, "a").await.unwrap();
        for other in states.iter().chain(&["new", "ready", "running"]) {
            assert!(
                !applied(store, run_to(number, "a", other, 7)).await,
                "{state} to {other}"
            );
        }
        assert_eq!(store.run(number, "a").await.unwrap(), before);
        let run = before.unwrap();
        assert_eq!((run.started_ms, run.finished_ms), (Some(5), Some(6)));
        assert_eq!(store.events(number, 0, 10).await.unwrap().len(), 2);
        assert_eq!(run.latest_event_id, store.last_event_id_of(number).await);
    }
}

async fn results_that_come_twice_change_nothing(bench: Bench) {
    let number = bench.store.insert_job(job(&["a"])).await.unwrap();
    let change = run_to(number, "a", "finished", 6);
    let twice = bench
        .store
        .commit(vec![change.clone(), change.clone()])
        .await
        .unwrap();
    assert!(twice[0].changed && twice[0].event_id.is_some());
    assert!(!twice[1].changed && twice[1].event_id.is_none());
    assert!(!applied(&bench.store, change).await);
    let nobody = run_to(number, "nobody", "finished", 6);
    assert!(!applied(&bench.store, nobody).await, "an unknown node");
}

async fn lists_are_filtered_ordered_and_paged(bench: Bench) {
    let store = &bench.store;
    let number = store.insert_job(job(&["d", "a", "c", "b"])).await.unwrap();
    let changes = [
        ("a", "running", 10),
        ("b", "running", 11),
        ("c", "running", 12),
    ]
    .map(|(node, state, at_ms)| run_to(number, node, state, at_ms));
    store.commit(changes.to_vec()).await.unwrap();
    let changes = [("a", "finished", 30), ("b", "failed", 20)]
        .map(|(node, state, at_ms)| run_to(number, node, state, at_ms));
    store.commit(changes.to_vec()).await.unwrap();

    let listed = async |filter: RunFilter, page| {
        let (rows, total) = store.runs(number, &filter, page).await.unwrap();
        (
            rows.into_iter()
                .map(|row| row.certname)
                .collect::<Vec<_>>()
                .concat(),
            total,
        )
    };
    let by = |order_by, descending| RunFilter {
        order_by,
        descending,
        ..RunFilter::default()
    };
    let all = ListPage::default();
    for (order_by, descending, expected) in [
        (RunListOrder::Certname, false, "abcd"),
        (RunListOrder::Certname, true, "dcba"),
        (RunListOrder::Duration, false, "bacd"),
        (RunListOrder::Duration, true, "abcd"),
        (RunListOrder::State, false, "badc"),
        (RunListOrder::State, true, "cdab"),
        (RunListOrder::Started, false, "abcd"),
        (RunListOrder::Started, true, "cbad"),
        (RunListOrder::Finished, false, "bacd"),
        (RunListOrder::Finished, true, "abcd"),
    ] {
        let listed = listed(by(order_by, descending), all).await;
        assert_eq!(
            listed,
            (expected.to_owned(), 4),
            "{order_by:?} {descending}"
        );
    }
    let page = ListPage {
        limit: Some(2),
        offset: 1,
    };
    assert_eq!(
        listed(RunFilter::default(), page).await,
        ("bc".to_owned(), 4)
    );
    let failed = RunFilter {
        state: Some("failed".to_owned()),
        ..RunFilter::default()
    };
    assert_eq!(listed(failed, all).await, ("b".to_owned(), 1));
}

/// Capitals come before small letters, with `_` between them, for any language of the database.
async fn ties_are_broken_by_certname_and_one_state_is_listed_in_any_order(bench: Bench) {
    let store = &bench.store;
    let names = ["a-b", "a.b", "a_b", "B", "ab"];
    let number = store.insert_job(job(&names)).await.unwrap();
    let running = names[1..].iter().map(|name| (*name, "running", 10));
    let ended = [("a_b", "failed", 30), ("ab", "failed", 30)];
    for (node, state, at_ms) in running.chain(ended) {
        assert!(applied(store, run_to(number, node, state, at_ms)).await);
    }
    let listed = async |state: Option<&str>, order_by, descending| {
        let filter = RunFilter {
            state: state.map(str::to_owned),
            order_by,
            descending,
        };
        let all = store.run_names(number, &filter, ListPage::default()).await;
        let all = all.unwrap();
        // The pages together are the same list.
        for offset in 0..=all.len() {
            let page = ListPage {
                limit: Some(2),
                offset: offset as u64,
            };
            let some = store.run_names(number, &filter, page).await.unwrap();
            assert_eq!(some, all[offset..all.len().min(offset + 2)]);
        }
        all.join(" ")
    };
    for (order_by, ascending, descending) in [
        (
            RunListOrder::Certname,
            "B a-b a.b a_b ab",
            "ab a_b a.b a-b B",
        ),
        (RunListOrder::State, "a_b ab a-b B a.b", "a.b B a-b ab a_b"),
        (
            RunListOrder::Started,
            "B a.b a_b ab a-b",
            "B a.b a_b ab a-b",
        ),
        (
            RunListOrder::Finished,
            "a_b ab B a-b a.b",
            "a_b ab B a-b a.b",
        ),
        (
            RunListOrder::Duration,
            "a_b ab B a-b a.b",
            "a_b ab B a-b a.b",
        ),
    ] {
        assert_eq!(listed(None, order_by, false).await, ascending);
        assert_eq!(listed(None, order_by, true).await, descending);
    }
    for (order_by, ascending, descending) in [
        (RunListOrder::Certname, "a_b ab", "ab a_b"),
        (RunListOrder::State, "a_b ab", "ab a_b"),
        (RunListOrder::Started, "a_b ab", "a_b ab"),
        (RunListOrder::Finished, "a_b ab", "a_b ab"),
        (RunListOrder::Duration, "a_b ab", "a_b ab"),
    ] {
        let failed = Some("failed");
        assert_eq!(listed(failed, order_by, false).await, ascending);
        assert_eq!(listed(failed, order_by, true).await, descending);
    }
    let nowhere = listed(Some("no such"), RunListOrder::State, true).await;
    assert_eq!(nowhere, "");
}

async fn durations_that_were_measured_come_before_differences_of_times_of_day(bench: Bench) {
    let store = &bench.store;
    let number = store.insert_job(job(&["a", "b", "c", "d"])).await.unwrap();
    // The clock was set back during the first run, and forward during the second; the times of the
    // third are not known.
    for (node, end_ms, duration_ms) in [
        ("a", 1, Some(30)),
        ("b", 9_000, Some(10)),
        ("c", 120, None),
        ("d", 150, Some(50)),
    ] {
        store
            .commit(vec![run_to(number, node, "running", 100)])
            .await
            .unwrap();
        let JobRunChange::Run(mut end) = run_to(number, node, "finished", end_ms) else {
            unreachable!("a run's change");
        };
        end.duration_ms = duration_ms;
        store.commit(vec![JobRunChange::Run(end)]).await.unwrap();
        let run = store.run(number, node).await.unwrap().unwrap();
        assert_eq!(run.duration_ms, duration_ms);
    }
    for (descending, expected) in [(false, "bcad"), (true, "dacb")] {
        let filter = RunFilter {
            order_by: RunListOrder::Duration,
            descending,
            ..RunFilter::default()
        };
        let names = store.run_names(number, &filter, ListPage::default()).await;
        assert_eq!(names.unwrap().concat(), expected);
    }
    let JobRunChange::Job(mut over) = job_to(number, "finished", 200) else {
        unreachable!("a job's change");
    };
    over.duration_ms = Some(77);
    assert!(applied(store, JobRunChange::Job(over)).await);
    let row = store.job(number).await.unwrap().unwrap();
    assert_eq!(row.duration_ms, Some(77));
}

async fn runs_are_read_some_at_a_time_in_any_order(bench: Bench) {
    let store = &bench.store;
    let nodes: Vec<String> = (0..40).map(|n| format!("n{n:02}")).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let number = store.insert_job(job(&nodes)).await.unwrap();
    store.insert_job(job(&nodes)).await.unwrap();
    let changes = (0..40).map(|n| run_to(number, nodes[n], "running", 100 - n as i64));
    store.commit(changes.collect()).await.unwrap();
    for order_by in [RunListOrder::Certname, RunListOrder::Started] {
        let filter = RunFilter {
            order_by,
            descending: true,
            ..RunFilter::default()
        };
        let page = ListPage {
            limit: Some(38),
            offset: 1,
        };
        let (whole, _) = store.runs(number, &filter, page).await.unwrap();
        let names = store.run_names(number, &filter, page).await.unwrap();
        let mut pieces = Vec::new();
        for names in names.chunks(store::defaults::RUNS_TOGETHER) {
            pieces.extend(store.runs_named(number, names).await.unwrap());
        }
        assert_eq!(pieces, whole);
    }
    let (whole, _) = store
        .runs(number, &RunFilter::default(), ListPage::default())
        .await
        .unwrap();
    let (mut pieces, mut after) = (Vec::new(), String::new());
    loop {
        let page = store.runs_after(number, &after, 7).await.unwrap();
        let Some(run) = page.last() else { break };
        after.clone_from(&run.certname);
        pieces.extend(page);
    }
    assert_eq!(pieces, whole);
    let nobody = store.runs_named(number, &["nobody".to_owned()]).await;
    assert!(nobody.unwrap().is_empty());
}

async fn a_run_is_found_by_its_transaction(bench: Bench) {
    let new = job(&["a", "b"]);
    let transaction_id = new.runs[1].transaction_id.clone();
    let number = bench.store.insert_job(new).await.unwrap();
    let run = bench
        .store
        .run_by_transaction(&transaction_id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((run.job, run.certname.as_str()), (number, "b"));
    assert_eq!(bench.store.run_by_transaction("other").await.unwrap(), None);
    let mut again = job(&["c"]);
    again.runs[0].transaction_id = transaction_id;
    assert!(
        bench.store.insert_job(again).await.is_err(),
        "unique over all jobs"
    );
}

async fn states_are_counted_for_many_jobs(bench: Bench) {
    let store = &bench.store;
    let mut numbers = Vec::new();
    for _ in 0..4 {
        numbers.push(store.insert_job(job(&["a", "b"])).await.unwrap());
    }
    applied(store, run_to(numbers[3], "a", "failed", 1)).await;
    applied(store, job_to(numbers[3], "running", 1)).await;
    let states = store.node_states(&[numbers[3], numbers[0]]).await.unwrap();
    assert_eq!(
        states.keys().copied().collect::<Vec<_>>(),
        [numbers[0], numbers[3]]
    );
    assert_eq!(states[&numbers[0]]["ready"], 2);
    assert_eq!(
        (states[&numbers[3]]["ready"], states[&numbers[3]]["failed"]),
        (1, 1)
    );
}

/// The last event, for comparison with a run's `latest_event_id`.
trait LastEvent {
    async fn last_event_id_of(&self, job: store::JobNumber) -> i64;
}

impl LastEvent for store::Store {
    async fn last_event_id_of(&self, job: store::JobNumber) -> i64 {
        self.events(job, 0, 100)
            .await
            .unwrap()
            .last()
            .map_or(0, |event| event.id)
    }
}

async fn states_are_counted_while_a_job_goes_on_and_summed_up_when_it_is_over(bench: Bench) {
    let store = &bench.store;
    let counts = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
        let own = pairs
            .iter()
            .map(|(state, count)| ((*state).to_owned(), *count));
        own.collect()
    };
    let over = store.insert_job(job(&["a", "b", "c"])).await.unwrap();
    let early = store.insert_job(job(&["a", "b"])).await.unwrap();
    let open = store.insert_job(job(&["a"])).await.unwrap();
    let changes = vec![
        run_to(over, "a", "finished", 2_000),
        run_to(over, "b", "failed", 2_000),
        run_to(over, "c", "finished", 2_000),
        job_to(over, "failed", 2_001),
        // This job is over before its last run is.
        run_to(early, "a", "finished", 2_000),
        job_to(early, "stopped", 2_001),
    ];
    store.commit(changes).await.unwrap();
    let states = store.node_states(&[over, early, open]).await.unwrap();
    assert_eq!(states[&over], counts(&[("failed", 1), ("finished", 2)]));
    assert_eq!(states[&early], counts(&[("finished", 1), ("ready", 1)]));
    assert_eq!(states[&open], counts(&[("ready", 1)]));
    store
        .commit(vec![run_to(early, "b", "skipped", 3_000)])
        .await
        .unwrap();
    let states = store.node_states(&[early, over]).await.unwrap();
    assert_eq!(states[&early], counts(&[("finished", 1), ("skipped", 1)]));
    assert_eq!(states[&over], counts(&[("failed", 1), ("finished", 2)]));
}
