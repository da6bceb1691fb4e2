//! Plan jobs: numbers, steps in the transaction of their job, the end, pruning.

use store::{
    JobOrder, ListPage, NewPlanEvent, NewPlanJob, PlanJobFilter, PlanJobRow, PlanOutcome, Store,
    StoreError,
};

use crate::engine::{Bench, both, job};

both!(
    numbers_are_contiguous_and_steps_are_seen,
    a_plan_job_that_is_over_refuses_steps_events_and_another_end,
    old_plan_jobs_go_and_their_numbers_stay_used,
    lists_are_ordered_and_leave_results_out,
);

fn plan(request_id: &str) -> NewPlanJob {
    NewPlanJob {
        request_id: request_id.to_owned(),
        plan: "app::deploy".to_owned(),
        environment: String::new(),
        options: "{}".to_owned(),
        userdata: "{}".to_owned(),
        owner: "admin".to_owned(),
        owner_id: "id-of-admin".to_owned(),
        created_ms: 1_000,
    }
}

fn event(kind: &str, at_ms: i64) -> NewPlanEvent {
    NewPlanEvent {
        kind: kind.to_owned(),
        at_ms,
        details: "{}".to_owned(),
        message: String::new(),
    }
}

async fn finish(store: &Store, number: i64, at_ms: i64) -> bool {
    let outcome = PlanOutcome {
        state: "success".to_owned(),
        result: "[1]".to_owned(),
        event: event("plan_finished", at_ms),
    };
    store.finish_plan_job(number, &outcome).await.unwrap()
}

async fn numbers_are_contiguous_and_steps_are_seen(mut bench: Bench) {
    for expected in 1..=3 {
        let name = expected.to_string();
        assert_eq!(
            bench.store.insert_plan_job(&plan(&name)).await.unwrap(),
            expected
        );
        let again = bench.store.insert_plan_job(&plan(&name)).await;
        assert!(matches!(again, Err(StoreError::Refused(_))));
        bench.reopen().await;
    }
    let mut step = job(&["a"]);
    step.plan_job = Some(2);
    let number = bench.store.insert_job(step).await.unwrap();
    let states = bench.store.plan_steps(2).await.unwrap();
    assert_eq!(states.len(), 1);
    assert_eq!((states[0].job, states[0].state.as_str()), (number, "ready"));
    let events = bench.store.plan_events(2, 0, 10).await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].details, format!(r#"{{"job-id":"{number}"}}"#));
    // Bolt's commands and file transfers are tasks of its shims.
    for (task, kind, what) in [
        ("package", "task_start", "task package"),
        ("bolt_shim::command", "command_start", "a command"),
        ("bolt_shim::upload", "upload_start", "an upload"),
        ("bolt_shim::download", "download_start", "a download"),
        (
            "apply_helpers::apply_catalog",
            "apply_start",
            "task apply_helpers::apply_catalog",
        ),
    ] {
        let mut step = job(&["a"]);
        step.task = Some(task.to_owned());
        step.plan_job = Some(3);
        let number = bench.store.insert_job(step).await.unwrap();
        let events = bench.store.plan_events(3, 0, 10).await.unwrap();
        let last = events.last().unwrap();
        assert_eq!(last.kind, kind);
        assert_eq!(last.message, format!("Started {what} as job {number}"));
    }
}

async fn a_plan_job_that_is_over_refuses_steps_events_and_another_end(bench: Bench) {
    let store = &bench.store;
    let number = store.insert_plan_job(&plan("1")).await.unwrap();
    assert!(finish(store, number, 2_000).await);
    assert!(!finish(store, number, 3_000).await);
    let late = event("out_message", 4_000);
    assert!(!store.insert_plan_event(number, &late).await.unwrap());
    for plan_job in [number, 99] {
        let mut late = job(&["a"]);
        late.plan_job = Some(plan_job);
        let refused = store.insert_job(late).await;
        assert!(
            matches!(refused, Err(StoreError::Refused(_))),
            "{refused:?}"
        );
    }
    // The refused jobs took no number.
    assert_eq!(store.insert_job(job(&["a"])).await.unwrap().get(), 1);
    let row = store.plan_job(number).await.unwrap().unwrap();
    assert_eq!(
        (row.state.as_str(), row.finished_ms, row.result.as_deref()),
        ("success", Some(2_000), Some("[1]"))
    );
    let events = store.plan_events(number, 0, 10).await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(
        store.plan_event(events[0].id).await.unwrap().as_ref(),
        Some(&events[0])
    );
}

async fn old_plan_jobs_go_and_their_numbers_stay_used(bench: Bench) {
    let store = &bench.store;
    for index in 0..70 {
        let number = store
            .insert_plan_job(&plan(&index.to_string()))
            .await
            .unwrap();
        // Two remain: a running one and one that ended late.
        match index {
            0 => {}
            1 => assert!(finish(store, number, 9_000).await),
            _ => assert!(finish(store, number, 2_000).await),
        }
    }
    assert_eq!(store.prune_plan_jobs(9_000).await.unwrap(), 68);
    assert_eq!(store.prune_plan_jobs(9_000).await.unwrap(), 0);
    assert!(store.plan_events(5, 0, 10).await.unwrap().is_empty());
    assert_eq!(store.insert_plan_job(&plan("new")).await.unwrap(), 71);
}

async fn lists_are_ordered_and_leave_results_out(bench: Bench) {
    let store = &bench.store;
    for (name, owner) in [("1", "c"), ("2", "a"), ("3", "b")] {
        let mut new = plan(name);
        new.owner = owner.to_owned();
        store.insert_plan_job(&new).await.unwrap();
    }
    assert!(finish(store, 3, 5_000).await);
    let list = async |order_by, descending, results| {
        let filter = PlanJobFilter {
            order_by,
            descending,
            results,
            ..PlanJobFilter::default()
        };
        let (rows, total) = store.plan_jobs(&filter, ListPage::default()).await.unwrap();
        assert_eq!(total, 3);
        rows
    };
    let numbers = |rows: Vec<PlanJobRow>| rows.iter().map(|row| row.number).collect::<Vec<_>>();
    assert_eq!(
        numbers(list(JobOrder::Owner, false, false).await),
        [2, 3, 1]
    );
    assert_eq!(
        numbers(list(JobOrder::Changed, true, false).await),
        [3, 2, 1]
    );
    assert_eq!(
        numbers(list(JobOrder::State, false, false).await),
        [1, 2, 3]
    );
    let rows = list(JobOrder::Number, true, false).await;
    assert_eq!((rows[0].result.as_deref(), rows[0].result_chars), (None, 3));
    let rows = list(JobOrder::Number, true, true).await;
    assert_eq!(
        (rows[0].result.as_deref(), rows[1].result.as_deref()),
        (Some("[1]"), None)
    );
}
