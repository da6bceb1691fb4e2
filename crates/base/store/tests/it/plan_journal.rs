//! The journal of plans: steps started once, with their job, and ended once; cutting and resuming.

use store::{
    AwaitedAnswer, ListPage, NewPlanEvent, NewPlanJob, NewPlanStep, PlanAnswer, PlanChange,
    PlanJournalWrite, PlanOutcome, PlanRunRow, PlanStepEnd, PlanStepKey, PlanStepRow, Store,
    StoreError,
};

use crate::engine::{Bench, both, job, job_to, run_to};

both!(
    what_is_written_is_read_and_survives,
    a_step_is_begun_once_and_makes_one_job,
    nothing_is_written_to_a_plan_that_is_over,
    an_answer_counts_once,
    a_failed_plan_goes_on_from_a_step,
    what_sleeping_plans_wait_for_is_known,
    results_that_a_plan_may_need_are_kept,
    steps_are_shown_in_their_order_and_by_what_they_wait_for,
    a_plan_knows_until_when_it_may_run,
);

fn plan(request_id: &str) -> NewPlanJob {
    NewPlanJob {
        request_id: request_id.to_owned(),
        plan: "app::deploy".to_owned(),
        environment: "production".to_owned(),
        options: "{}".to_owned(),
        userdata: "{}".to_owned(),
        owner: "admin".to_owned(),
        owner_id: "id-of-admin".to_owned(),
        created_ms: 1_000,
    }
}

fn event(kind: &str) -> NewPlanEvent {
    NewPlanEvent {
        kind: kind.to_owned(),
        at_ms: 2_000,
        details: "{}".to_owned(),
        message: String::new(),
    }
}

fn key(branch: &str, step: i64) -> PlanStepKey {
    PlanStepKey {
        branch: branch.to_owned(),
        step,
    }
}

fn step(branch: &str, number: i64, began: i64) -> NewPlanStep {
    NewPlanStep {
        key: key(branch, number),
        kind: "task".to_owned(),
        site: "app::deploy (deploy.pp:3)".to_owned(),
        arguments: r#"{"task":"package"}"#.to_owned(),
        hash: "00ff".to_owned(),
        state: "begun".to_owned(),
        began,
        delivered: None,
        until_ms: None,
        asks: AwaitedAnswer::NotAwaited,
        outcome: None,
        begun_ms: 1_000,
    }
}

fn end(branch: &str, number: i64, state: &str, delivered: i64) -> PlanChange {
    PlanChange::End(PlanStepEnd {
        key: key(branch, number),
        state: state.to_owned(),
        delivered: Some(delivered),
        outcome: Some("[1]".to_owned()),
        ended_ms: 3_000,
    })
}

fn outcome(state: &str) -> PlanOutcome {
    PlanOutcome {
        state: state.to_owned(),
        result: "null".to_owned(),
        event: event("plan_finished"),
    }
}

async fn begun(store: &Store) -> i64 {
    let id = format!("{:?}", std::time::Instant::now());
    store
        .insert_plan_run(&plan(&id), vec![7], None, None)
        .await
        .unwrap()
}

async fn journal(store: &Store, plan: i64) -> Vec<PlanStepRow> {
    // With pages of one, no step is left out or read twice.
    let (mut rows, mut last) = (Vec::new(), None);
    loop {
        let page = store.plan_journal(plan, last.as_ref(), 1).await.unwrap();
        let Some(row) = page.into_iter().next() else {
            return rows;
        };
        last = Some(row.step.key.clone());
        rows.push(row);
    }
}

async fn write(store: &Store, plan: i64, changes: &[PlanChange]) -> bool {
    store.change_plan(plan, changes).await.unwrap()
}

async fn what_is_written_is_read_and_survives(mut bench: Bench) {
    let plan = begun(&bench.store).await;
    assert_eq!(
        bench.store.sealed_plan_request(plan).await.unwrap(),
        Some(vec![7])
    );
    let told = NewPlanStep {
        state: "done".to_owned(),
        delivered: Some(2),
        outcome: Some("null".to_owned()),
        ..step("", 2, 2)
    };
    let sleep = NewPlanStep {
        until_ms: Some(99),
        ..step("2.1", 1, 3)
    };
    let changes = [
        PlanChange::Begin(step("", 1, 1)),
        PlanChange::Begin(told.clone()),
        PlanChange::Event(event("out_message")),
        PlanChange::Begin(sleep.clone()),
        end("", 1, "failed", 4),
    ];
    assert!(write(&bench.store, plan, &changes).await);
    bench.reopen().await;
    let rows = journal(&bench.store, plan).await;
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0].step.state, "failed");
    assert_eq!(
        (rows[0].step.delivered, rows[0].ended_ms),
        (Some(4), Some(3_000))
    );
    assert_eq!(rows[0].step.outcome.as_deref(), Some("[1]"));
    assert_eq!((&rows[1].step, rows[1].ended_ms), (&told, Some(1_000)));
    assert_eq!((&rows[2].step, rows[2].ended_ms), (&sleep, None));
    let one = bench.store.plan_journal_step(plan, &key("2.1", 1)).await;
    assert_eq!(one.unwrap().as_ref(), Some(&rows[2]));
    let events = bench.store.plan_events(plan, 0, 10).await.unwrap();
    assert_eq!(events.len(), 1);
}

async fn a_step_is_begun_once_and_makes_one_job(bench: Bench) {
    let store = &bench.store;
    let plan = begun(store).await;
    let marked = |number: i64| {
        let mut new = job(&["a"]);
        new.plan_job = Some(plan);
        new.mark = Some(PlanJournalWrite {
            earlier_changes: vec![PlanChange::Event(event("out_message"))],
            step: step("", number, number),
        });
        new
    };
    let first = store.insert_job(marked(1)).await.unwrap();
    let again = store.insert_job(marked(1)).await;
    assert!(matches!(again, Err(StoreError::Refused(_))), "{again:?}");
    let second = store.insert_job(marked(2)).await.unwrap();
    assert_eq!(
        second.get(),
        first.get() + 1,
        "the refused job took no number"
    );
    let rows = journal(store, plan).await;
    let jobs: Vec<_> = rows.iter().map(|row| row.job.unwrap()).collect();
    assert_eq!(jobs, [first, second]);
    let again = [PlanChange::Begin(step("", 2, 9))];
    let again = store.change_plan(plan, &again).await;
    assert!(matches!(again, Err(StoreError::Refused(_))));
    // The earlier changes were written with the job, once, and so was the job's own event.
    let events = store.plan_events(plan, 0, 10).await.unwrap();
    assert_eq!(events.len(), 4);
}

async fn nothing_is_written_to_a_plan_that_is_over(bench: Bench) {
    let store = &bench.store;
    let plan = begun(store).await;
    let last = [PlanChange::Begin(step("", 1, 1))];
    assert!(
        store
            .end_plan_run(plan, &last, &outcome("success"))
            .await
            .unwrap()
    );
    assert!(
        !store
            .end_plan_run(plan, &[], &outcome("failure"))
            .await
            .unwrap()
    );
    for late in [
        PlanChange::Begin(step("", 2, 2)),
        end("", 1, "done", 2),
        PlanChange::Event(event("out_message")),
    ] {
        assert!(!write(store, plan, &[late]).await);
    }
    let mut late = job(&["a"]);
    late.plan_job = Some(plan);
    let (before, step) = (Vec::new(), step("", 3, 3));
    late.mark = Some(PlanJournalWrite {
        earlier_changes: before,
        step,
    });
    assert!(matches!(
        store.insert_job(late).await,
        Err(StoreError::Refused(_))
    ));
    let rows = journal(store, plan).await;
    assert_eq!(
        (rows.len(), rows[0].step.state.as_str()),
        (1, "begun"),
        "{rows:?}"
    );
    // A plan that succeeded cannot be resumed.
    let reopened = store.reopen_plan(plan, None, &event("plan_resumed")).await;
    assert!(!reopened.unwrap());
    assert_eq!(store.prune_plan_jobs(9_000).await.unwrap(), 1);
    assert_eq!(journal(store, plan).await, []);
    assert_eq!(store.sealed_plan_request(plan).await.unwrap(), None);
}

async fn an_answer_counts_once(bench: Bench) {
    let store = &bench.store;
    let plan = begun(store).await;
    let asked = NewPlanStep {
        asks: AwaitedAnswer::Sealed,
        ..step("", 1, 1)
    };
    let works = step("", 3, 2);
    let changes = [asked, works].map(PlanChange::Begin);
    assert!(write(store, plan, &changes).await);
    let answer = |number, outcome: Option<&str>, sealed: Option<Vec<u8>>| PlanAnswer {
        key: key("", number),
        outcome: outcome.map(str::to_owned),
        sealed,
        event: event("answered"),
    };
    let give = async |answer| store.answer_plan_step(plan, &answer).await.unwrap();
    assert!(
        !give(answer(2, Some("1"), None)).await,
        "there is no such step"
    );
    assert!(!give(answer(3, Some("1"), None)).await, "nobody is asked");
    assert!(give(answer(1, None, Some(vec![9]))).await);
    assert!(!give(answer(1, Some("2"), None)).await);
    let rows = journal(store, plan).await;
    assert_eq!(
        (rows[0].step.outcome.as_deref(), rows[0].sealed.as_deref()),
        (None, Some(&[9][..]))
    );
    assert_eq!(rows[0].step.state, "done");
    // The outcome is delivered to the plan; the answer stays.
    let seen = PlanChange::End(PlanStepEnd {
        key: key("", 1),
        state: "done".to_owned(),
        delivered: Some(2),
        outcome: None,
        ended_ms: 3_000,
    });
    assert!(write(store, plan, &[seen]).await);
    let rows = journal(store, plan).await;
    assert_eq!(rows[0].sealed.as_deref(), Some(&[9][..]));
    assert_eq!(
        store.plan_events(plan, 0, 10).await.unwrap().len(),
        1,
        "told once"
    );
}

async fn a_failed_plan_goes_on_from_a_step(mut bench: Bench) {
    let plan = begun(&bench.store).await;
    let changes = [
        PlanChange::Begin(step("", 1, 1)),
        PlanChange::Begin(step("1", 1, 2)),
        end("", 1, "done", 3),
        PlanChange::Begin(step("", 2, 4)),
        end("", 2, "failed", 5),
        PlanChange::Begin(step("", 3, 6)),
        end("1", 1, "done", 7),
        end("", 3, "done", 8),
    ];
    assert!(write(&bench.store, plan, &changes).await);
    let resume = key("", 2);
    let reopen = async |store: &Store| {
        let event = event("plan_resumed");
        store.reopen_plan(plan, Some(&resume), &event).await
    };
    assert!(!reopen(&bench.store).await.unwrap(), "it runs");
    let failed = outcome("failure");
    let ended = bench.store.end_plan_run(plan, &[], &failed).await;
    assert!(ended.unwrap());
    assert!(reopen(&bench.store).await.unwrap());
    bench.reopen().await;
    let rows = journal(&bench.store, plan).await;
    let kept: Vec<_> = rows
        .iter()
        .map(|row| {
            let step = &row.step;
            (step.key.branch.as_str(), step.key.step, step.delivered)
        })
        .collect();
    // The step and its consequences are deleted; later outcomes are not delivered.
    assert_eq!(kept, [("", 1, Some(3)), ("1", 1, None)]);
    assert_eq!(
        rows[1].step.outcome.as_deref(),
        Some("[1]"),
        "and is not lost"
    );
    let row = bench.store.plan_job(plan).await.unwrap().unwrap();
    assert_eq!(
        (row.state.as_str(), row.result, row.finished_ms),
        ("running", None, None)
    );
    let unfinished = bench.store.unfinished_plans().await.unwrap();
    let asleep = false;
    assert_eq!(
        unfinished,
        [PlanRunRow {
            plan_job: plan,
            asleep,
            timeout_ms: None,
            until_ms: None,
        }]
    );
    let events = bench.store.plan_events(plan, 0, 10).await.unwrap();
    assert_eq!(events.last().unwrap().kind, "plan_resumed");
}

async fn what_sleeping_plans_wait_for_is_known(mut bench: Bench) {
    let store = &bench.store;
    let (awake, asleep, over) = (begun(store).await, begun(store).await, begun(store).await);
    for plan in [awake, asleep, over] {
        let changes = [
            PlanChange::Begin(step("", 1, 1)),
            end("", 1, "done", 2),
            PlanChange::Begin(step("", 2, 3)),
        ];
        assert!(write(store, plan, &changes).await);
    }
    store.plan_sleeps(asleep, true).await.unwrap();
    store.plan_sleeps(over, true).await.unwrap();
    let failed = outcome("failure");
    assert!(store.end_plan_run(over, &[], &failed).await.unwrap());
    bench.reopen().await;
    let awaited = bench.store.awaited_plan_steps().await.unwrap();
    let awaited: Vec<_> = awaited
        .into_iter()
        .map(|row| (row.plan_job, row.step.key))
        .collect();
    assert_eq!(awaited, [(asleep, key("", 2))]);
    let unfinished = bench.store.unfinished_plans().await.unwrap();
    let flags: Vec<_> = unfinished
        .iter()
        .map(|row| (row.plan_job, row.asleep))
        .collect();
    assert_eq!(flags, [(awake, false), (asleep, true)]);
}

async fn results_that_a_plan_may_need_are_kept(bench: Bench) {
    let store = &bench.store;
    let plan = begun(store).await;
    let mut new = job(&["a"]);
    new.plan_job = Some(plan);
    let (before, step) = (Vec::new(), step("", 1, 1));
    new.mark = Some(PlanJournalWrite {
        earlier_changes: before,
        step,
    });
    let number = store.insert_job(new).await.unwrap();
    let changes = vec![
        run_to(number, "a", "finished", 2_000),
        job_to(number, "finished", 2_000),
    ];
    store.commit(changes).await.unwrap();
    assert_eq!(store.prune_jobs(9_000).await.unwrap().jobs, 0);
    let done = outcome("success");
    assert!(store.end_plan_run(plan, &[], &done).await.unwrap());
    assert_eq!(store.prune_jobs(9_000).await.unwrap().jobs, 1);
}

async fn steps_are_shown_in_their_order_and_by_what_they_wait_for(bench: Bench) {
    let store = &bench.store;
    let plan = begun(store).await;
    let asked = NewPlanStep {
        asks: AwaitedAnswer::Plain,
        ..step("", 10, 2)
    };
    let sleeps = NewPlanStep {
        until_ms: Some(99),
        ..step("", 2, 3)
    };
    let changes = [
        PlanChange::Begin(step("1", 1, 1)),
        PlanChange::Begin(asked),
        PlanChange::Begin(sleeps),
        PlanChange::Begin(step("", 1, 4)),
        end("1", 1, "failed", 5),
    ];
    assert!(write(store, plan, &changes).await);
    let list = async |state, limit, offset| {
        let page = ListPage {
            limit: Some(limit),
            offset,
        };
        let (rows, total) = store.plan_step_list(plan, state, page).await.unwrap();
        let shown = rows
            .into_iter()
            .map(|row| (row.key, row.state, row.ended_ms));
        (shown.collect::<Vec<_>>(), total)
    };
    let row = |branch, number, state: &str, ended| (key(branch, number), state.to_owned(), ended);
    let all = [
        row("1", 1, "failed", Some(3_000)),
        row("", 10, "waiting", None),
        row("", 2, "sleeping", None),
        row("", 1, "running", None),
    ];
    assert_eq!(list(None, 10, 0).await, (all.to_vec(), 4));
    assert_eq!(list(None, 2, 1).await, (all[1..3].to_vec(), 4));
    assert_eq!(list(Some("waiting"), 10, 0).await, (all[1..2].to_vec(), 1));
    assert_eq!(list(Some("begun"), 10, 0).await, (Vec::new(), 0));
}

async fn a_plan_knows_until_when_it_may_run(bench: Bench) {
    let store = &bench.store;
    let plan = store
        .insert_plan_run(&plan("r"), vec![7], Some(500), None)
        .await;
    let plan = plan.unwrap();
    let until = async || store.plan_run(plan).await.unwrap().unwrap().until_ms;
    assert_eq!(until().await, Some(1_500), "from its start");
    let unfinished = store.unfinished_plans().await.unwrap();
    assert_eq!(unfinished[0].until_ms, Some(1_500));
    let failed = outcome("failure");
    assert!(store.end_plan_run(plan, &[], &failed).await.unwrap());
    let reopened = store.reopen_plan(plan, None, &event("plan_resumed")).await;
    assert!(reopened.unwrap());
    assert_eq!(until().await, Some(2_500), "from its resumption");
    assert_eq!(store.plan_run(plan + 1).await.unwrap(), None);
}
