//! Sensitive output of nodes, sealed: kept for plans that may read it, and deleted with their end.

use store::{JobNumber, JobRunChange, NewPlanEvent, NewPlanJob, PlanOutcome, Store};

use crate::engine::{Bench, both, job, job_to, run_to};

both!(
    secrets_are_kept_for_plans_only_and_in_order,
    secrets_go_with_the_plan_that_ended_well,
    secrets_of_a_failed_plan_go_with_its_jobs,
    a_secret_comes_with_its_transition_or_not_at_all,
);

async fn plan(store: &Store, name: &str) -> i64 {
    let new = NewPlanJob {
        request_id: name.to_owned(),
        plan: "app::deploy".to_owned(),
        environment: String::new(),
        options: "{}".to_owned(),
        userdata: "{}".to_owned(),
        owner: "admin".to_owned(),
        owner_id: "id-of-admin".to_owned(),
        created_ms: 1_000,
    };
    store.insert_plan_job(&new).await.unwrap()
}

async fn end(store: &Store, plan: i64, state: &str) {
    let event = NewPlanEvent {
        kind: "plan_finished".to_owned(),
        at_ms: 2_000,
        details: "{}".to_owned(),
        message: String::new(),
    };
    let outcome = PlanOutcome {
        state: state.to_owned(),
        result: "null".to_owned(),
        event,
    };
    assert!(store.finish_plan_job(plan, &outcome).await.unwrap());
}

async fn step(store: &Store, plan: Option<i64>) -> JobNumber {
    let mut new = job(&["a", "b", "c"]);
    new.plan_job = plan;
    store.insert_job(new).await.unwrap()
}

async fn tell(store: &Store, job: JobNumber, certname: &str, sealed: &[u8]) -> bool {
    let JobRunChange::Run(mut change) = run_to(job, certname, "finished", 5) else {
        unreachable!("a run's change")
    };
    change.sealed = Some(sealed.to_vec());
    store.commit(vec![JobRunChange::Run(change)]).await.unwrap()[0].changed
}

async fn told(store: &Store, job: JobNumber) -> Vec<(String, Vec<u8>)> {
    let secrets = store.run_secrets(job, "a", "c").await.unwrap();
    let pair = |secret: store::RunSecret| (secret.certname, secret.sealed);
    secrets.into_iter().map(pair).collect()
}

async fn secrets_are_kept_for_plans_only_and_in_order(mut bench: Bench) {
    let plan = plan(&bench.store, "1").await;
    let (of_plan, other) = (
        step(&bench.store, Some(plan)).await,
        step(&bench.store, None).await,
    );
    for job in [of_plan, other] {
        assert!(tell(&bench.store, job, "c", &[3, 0, 255]).await);
        assert!(tell(&bench.store, job, "a", &[1]).await);
    }
    bench.reopen().await;
    let expected = [("a".to_owned(), vec![1]), ("c".to_owned(), vec![3, 0, 255])];
    assert_eq!(told(&bench.store, of_plan).await, expected);
    assert_eq!(told(&bench.store, other).await, []);
    let some = bench.store.run_secrets(of_plan, "b", "c").await.unwrap();
    assert_eq!(some.len(), 1);
}

async fn secrets_go_with_the_plan_that_ended_well(bench: Bench) {
    let store = &bench.store;
    let (ended, other) = (plan(store, "1").await, plan(store, "2").await);
    let jobs = [
        step(store, Some(ended)).await,
        step(store, Some(other)).await,
    ];
    for job in jobs {
        tell(store, job, "a", &[1]).await;
    }
    end(store, ended, "success").await;
    assert_eq!(told(store, jobs[0]).await, []);
    assert_eq!(told(store, jobs[1]).await.len(), 1, "another plan's");
    tell(store, jobs[0], "b", &[2]).await;
    assert_eq!(told(store, jobs[0]).await, [], "nobody reads it any more");
    assert_eq!(
        store.run(jobs[0], "b").await.unwrap().unwrap().state,
        "finished"
    );
}

async fn secrets_of_a_failed_plan_go_with_its_jobs(bench: Bench) {
    let store = &bench.store;
    let plan = plan(store, "1").await;
    let job = step(store, Some(plan)).await;
    tell(store, job, "a", &[1]).await;
    end(store, plan, "failure").await;
    tell(store, job, "b", &[2]).await;
    assert_eq!(told(store, job).await.len(), 2, "it may go on");
    store.commit(vec![job_to(job, "failed", 6)]).await.unwrap();
    store.prune_jobs(9_000).await.unwrap();
    assert_eq!(told(store, job).await, []);
}

async fn a_secret_comes_with_its_transition_or_not_at_all(bench: Bench) {
    let store = &bench.store;
    let plan = plan(store, "1").await;
    let job = step(store, Some(plan)).await;
    assert!(tell(store, job, "a", &[1]).await);
    assert!(!tell(store, job, "a", &[2]).await, "it is over already");
    assert_eq!(told(store, job).await, [("a".to_owned(), vec![1])]);
}
