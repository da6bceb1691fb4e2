//! Usage by day.

use store::{JobRunChange, Store, UsageRow};

use crate::engine::{Bench, both, job, run_to};

both!(what_puppet_changed_is_summed_up_by_day_and_tasks_are_not_in_it);

const DAY_MS: i64 = 24 * 3_600 * 1_000;

/// Writes a job of this kind whose run on `node` starts at `at_ms` and has the result `result`.
async fn ran(store: &Store, kind: &str, node: &str, at_ms: i64, result: &str) {
    let mut new = job(&[node]);
    new.kind = kind.to_owned();
    let number = store.insert_job(new).await.unwrap();
    let mut end = run_to(number, node, "finished", at_ms + 1);
    if let JobRunChange::Run(run) = &mut end {
        run.result = Some(result.to_owned());
    }
    let changes = vec![run_to(number, node, "running", at_ms), end];
    store.commit(changes).await.unwrap();
}

async fn what_puppet_changed_is_summed_up_by_day_and_tasks_are_not_in_it(bench: Bench) {
    let store = &bench.store;
    let of = |changed: i64, corrective: i64| {
        format!(r#"{{"metrics":{{"changed":{changed},"corrective_change":{corrective}}}}}"#)
    };
    ran(store, "deploy", "a", 5, &of(3, 1)).await;
    ran(store, "deploy", "b", DAY_MS - 1, &of(4, 4)).await;
    ran(store, "deploy", "b", DAY_MS, &of(2, 0)).await;
    ran(store, "deploy", "c", 6, r#"{"_error":{}}"#).await;
    ran(store, "task", "a", 7, &of(100, 50)).await;
    ran(store, "plan_task", "d", 8, &of(100, 50)).await;
    let most = i64::MAX;
    ran(store, "deploy", "e", 2 * DAY_MS, &of(most, most)).await;
    ran(store, "deploy", "f", 2 * DAY_MS, &of(most, most)).await;
    let days = store.usage(0, 3 * DAY_MS).await.unwrap();
    let nothing = UsageRow {
        day: 0,
        nodes: 0,
        without_agent: 0,
        corrective: 0,
        intentional: 0,
        tasks: 0,
        plans: 0,
    };
    let expected = [
        UsageRow {
            day: 2,
            nodes: 2,
            corrective: 2 * u64::from(u32::MAX),
            ..nothing
        },
        UsageRow {
            day: 1,
            nodes: 1,
            intentional: 2,
            ..nothing
        },
        UsageRow {
            nodes: 4,
            corrective: 5,
            intentional: 2,
            tasks: 1,
            plans: 1,
            ..nothing
        },
    ];
    assert_eq!(days, expected);
    assert_eq!(
        store.usage(DAY_MS, 2 * DAY_MS).await.unwrap(),
        expected[1..2]
    );
}
