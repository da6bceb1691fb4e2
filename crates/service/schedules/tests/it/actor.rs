//! The actor over a real store: from a timetable to jobs.

use schedules::defaults::{DUE_ROWS, SCHEDULE_BYTES, SCHEDULES_OF_OWNER};
use schedules::{
    OverlapPolicy, ScheduleDraft, ScheduleError, ScheduledJobKind, SkipReason, SlotOutcome,
    SubmissionError, Timetable, TimetableError,
};
use store::{JobChange, JobRunChange, LaunchedJob, ListPage, ScheduleFilter, SlotKey};

use crate::world::{Mood, World, draft, hourly, ms, new_job, new_plan_job};

testkit::both!(
    a_slot_becomes_one_job_with_its_secrets,
    a_refusal_is_shown_with_its_reason,
    a_run_that_goes_on_holds_the_next_slot,
    an_edit_takes_effect_and_a_deletion_is_final,
    a_start_in_the_past_makes_nothing,
    the_database_itself_refuses_a_second_job_for_a_slot,
    a_hundred_schedules_of_one_moment_are_all_launched,
    slots_that_wait_do_not_keep_those_of_other_schedules_from_starting,
    scheduled_jobs_are_bounded_in_number_and_size,
);

const START: &str = "2026-01-01T01:00:00Z";
const HOUR_MS: i64 = 3_600_000;

async fn a_slot_becomes_one_job_with_its_secrets() {
    let mut world = World::at("2026-01-01T00:30:00Z").await;
    let id = world.create(Timetable::once(ms(START))).await;
    assert_eq!(id, 1);
    let fresh = world.schedules.get(id).await.unwrap();
    assert_eq!((fresh.next_ms, &fresh.last), (Some(ms(START)), &None));
    assert_eq!(fresh.sensitive, ["password"]);
    world.set(ms(START));
    let (job, slot) = world.launched.recv().await.unwrap();
    assert_eq!((slot.schedule, slot.slot_ms), (id, ms(START)));
    assert_eq!((job.owner.as_str(), job.owner_id.as_str()), ("ada", "u-1"));
    assert_eq!(job.secrets["password"], "hunter2");
    assert!(!format!("{job:?}").contains("hunter2"));
    let ran = world
        .until(id, |now| {
            now.last.as_ref().is_some_and(|last| last.outcome.is_ok())
        })
        .await;
    assert_eq!((ran.next_ms, ran.runs), (None, 1));
    assert_eq!(world.jobs().await, 1);
    let database = world.database();
    assert!(database.holds("nightly").unwrap(), "what is no secret");
    assert!(!database.holds("hunter2").unwrap(), "sealed at rest");
    // The outcome is recorded last; the shutdown waits for it.
    world.schedules.shutdown().await;
    let fired = world.records.fired.lock().unwrap().clone();
    assert!(matches!(fired[..], [(at, SlotOutcome::Launched(_))] if at == ms(START)));
}

async fn a_refusal_is_shown_with_its_reason() {
    let world = World::at("2026-01-01T00:30:00Z").await;
    world.mood(Mood::Refuses);
    let id = world.create(hourly(START)).await;
    world.set(ms(START));
    let refused = |kind: &'static str| {
        move |now: &schedules::ScheduleView| {
            let last = now.last.as_ref().map(|last| &last.outcome);
            last.is_some_and(|outcome| outcome.as_ref().is_err_and(|error| error.kind == kind))
        }
    };
    let shown = world.until(id, refused("x/no")).await;
    assert_eq!(shown.next_ms, Some(ms(START) + HOUR_MS), "it goes on");
    world.mood(Mood::Breaks);
    world.set(ms(START) + HOUR_MS);
    world.until(id, refused("tutti/submission-broken")).await;
    world.mood(Mood::Works);
    *world.records.full.lock().unwrap() = true;
    world.set(ms(START) + 2 * HOUR_MS);
    world
        .until(id, refused("tutti/submission-unrecorded"))
        .await;
    assert_eq!(world.jobs().await, 0, "no record, no action");
}

async fn a_run_that_goes_on_holds_the_next_slot() {
    let world = World::at("2026-01-01T00:30:00Z").await;
    let skips = world.create(hourly(START)).await;
    let queues = world
        .create(Timetable {
            overlap: OverlapPolicy::Queue,
            ..hourly(START)
        })
        .await;
    world.set(ms(START));
    let ran =
        |now: &schedules::ScheduleView| now.last.as_ref().is_some_and(|last| last.outcome.is_ok());
    world.until(skips, ran).await;
    let first = world.until(queues, ran).await;
    world.set(ms(START) + HOUR_MS);
    let skipped = world.until(skips, |now| now.skipped.is_some()).await;
    assert_eq!(skipped.skipped.unwrap().reason, SkipReason::Overlap);
    world.until(queues, |now| now.queued_ms.is_some()).await;
    assert_eq!(world.jobs().await, 2);
    let LaunchedJob::Job(job) = first.last.unwrap().outcome.unwrap() else {
        panic!("no plan job is launched here");
    };
    let over = JobRunChange::Job(JobChange {
        job,
        to_state: "finished".to_owned(),
        at_ms: 9,
        duration_ms: None,
        event: None,
    });
    world.store.commit(vec![over]).await.unwrap();
    let second = world
        .until(queues, |now| now.runs == 2 && now.queued_ms.is_none())
        .await;
    assert_eq!(second.last.unwrap().slot_ms, ms(START) + HOUR_MS);
}

async fn an_edit_takes_effect_and_a_deletion_is_final() {
    let mut world = World::at("2026-01-01T00:30:00Z").await;
    let id = world.create(hourly(START)).await;
    let read = world.schedules.get(id).await.unwrap();
    let mut new = world.schedules.get_draft(id).await.unwrap();
    new.timetable = hourly("2026-01-01T05:00:00Z");
    world
        .schedules
        .replace(&read, new.clone(), true)
        .await
        .unwrap();
    assert!(matches!(
        world.schedules.replace(&read, new.clone(), true).await,
        Err(ScheduleError::Edited(1))
    ));
    world.set(ms("2026-01-01T04:59:59Z"));
    let moved = world.schedules.get(id).await.unwrap();
    assert_eq!(
        (moved.runs, moved.next_ms),
        (0, Some(ms("2026-01-01T05:00:00Z")))
    );
    // A new description leaves the slots as they are.
    let mut named = world.schedules.get_draft(id).await.unwrap();
    named.description = "new".to_owned();
    world.schedules.replace(&moved, named, false).await.unwrap();
    world.set(ms("2026-01-01T05:00:00Z"));
    let (job, _) = world.launched.recv().await.unwrap();
    assert_eq!(
        (job.description.as_str(), &job.secrets["password"]),
        ("new", &"hunter2".into())
    );
    world.schedules.disable(id).await.unwrap();
    assert!(matches!(
        world.schedules.disable(id).await,
        Err(ScheduleError::Disabled(1))
    ));
    let gone = world.schedules.get(id).await.unwrap();
    assert_eq!((gone.enabled, gone.next_ms), (false, None));
    let read = world.schedules.get(id).await.unwrap();
    assert!(matches!(
        world.schedules.replace(&read, new, true).await,
        Err(ScheduleError::Edited(1))
    ));
    assert!(matches!(
        world.schedules.get(9).await,
        Err(ScheduleError::Unknown(9))
    ));
    let (items, total) = world
        .schedules
        .list(&ScheduleFilter::default(), ListPage::default())
        .await
        .unwrap();
    assert_eq!((items.len(), total), (0, 0));
}

async fn a_start_in_the_past_makes_nothing() {
    let world = World::at("2026-01-01T02:00:00Z").await;
    let made = world
        .schedules
        .create(ScheduledJobKind::Task, "ada", "u-1", draft(hourly(START)));
    assert!(matches!(
        made.await,
        Err(ScheduleError::Timetable(TimetableError::Past))
    ));
    assert_eq!(
        world.create(hourly("2026-01-01T03:00:00Z")).await,
        1,
        "no number is lost"
    );
}

async fn the_database_itself_refuses_a_second_job_for_a_slot() {
    let world = World::at("2026-01-01T00:30:00Z").await;
    let slot = SlotKey {
        schedule: 4,
        slot_ms: 9,
    };
    let first = world.store.insert_job(new_job(Some(slot))).await.unwrap();
    assert!(world.store.insert_job(new_job(Some(slot))).await.is_err());
    assert_eq!(world.store.job_of_slot(slot).await.unwrap(), Some(first));
    assert_eq!(world.jobs().await, 1);

    let store = &world.store;
    let insert = async |request| {
        let (plan, sealed) = (new_plan_job(request), vec![7]);
        store.insert_plan_run(&plan, sealed, None, Some(slot)).await
    };
    assert_eq!(insert("a").await.unwrap(), 1);
    assert!(insert("b").await.is_err());
    assert_eq!(world.plan_jobs().await, 1, "nothing is left of the second");
    let error = SubmissionError::new("a/b", "c");
    assert_eq!(error.to_string(), "c (a/b)");
}

async fn a_hundred_schedules_of_one_moment_are_all_launched() {
    let world = World::at("2026-01-01T00:30:00Z").await;
    let spread = Timetable {
        spread_seconds: 600,
        ..Timetable::once(ms(START))
    };
    let mut starts = Vec::new();
    for _ in 0..100 {
        let id = world.create(spread.clone()).await;
        starts.push(world.schedules.get(id).await.unwrap().next_ms.unwrap());
    }
    let different: std::collections::BTreeSet<_> = starts.iter().collect();
    assert!(different.len() > 50, "they are spread: {}", different.len());
    for minute in 0..=11 {
        world.set(ms(START) + minute * 60_000);
        let past = |start: &&i64| **start <= ms(START) + minute * 60_000;
        let due = u64::try_from(starts.iter().filter(past).count()).unwrap();
        let all = async {
            while world.jobs().await < due {
                world.schedules.wake_actor();
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), all)
            .await
            .unwrap();
    }
    for id in 1..=100 {
        world
            .until(id, |now| {
                now.last.as_ref().is_some_and(|last| last.outcome.is_ok())
            })
            .await;
    }
    assert_eq!(world.jobs().await, 100);
}

async fn slots_that_wait_do_not_keep_those_of_other_schedules_from_starting() {
    let world = World::at("2026-01-01T00:30:00Z").await;
    // Their second slot is their last one, so they have none that is due when it waits.
    let queues = Timetable {
        overlap: OverlapPolicy::Queue,
        end_ms: Some(ms(START) + 2 * HOUR_MS - 1),
        ..hourly(START)
    };
    let mut waiting = Vec::new();
    for _ in 0..=DUE_ROWS {
        waiting.push(world.create(queues.clone()).await);
    }
    world.set(ms(START));
    for id in &waiting {
        world.until(*id, |now| now.runs == 1).await;
    }
    world.set(ms(START) + HOUR_MS);
    for id in &waiting {
        let waits = |now: &schedules::ScheduleView| now.queued_ms.is_some();
        let now = world.until(*id, waits).await;
        assert_eq!(now.next_ms, None);
    }
    let other = world
        .create(Timetable::once(ms(START) + HOUR_MS + 60_000))
        .await;
    world.set(ms(START) + HOUR_MS + 60_000);
    world.until(other, |now| now.runs == 1).await;
}

async fn scheduled_jobs_are_bounded_in_number_and_size() {
    let world = World::at("2026-01-01T00:30:00Z").await;
    let create = async |owner_id: &str, draft: ScheduleDraft| {
        let schedules = &world.schedules;
        let kind = ScheduledJobKind::Task;
        schedules.create(kind, "ada", owner_id, draft).await
    };
    let text = |bytes: usize| serde_json::Value::from("x".repeat(bytes));
    let mut large = draft(hourly(START));
    large.secrets.insert("p".to_owned(), text(SCHEDULE_BYTES));
    let refused = create("u-1", large.clone()).await;
    assert!(matches!(refused, Err(ScheduleError::TooLarge(_))));
    let first = world.create(hourly(START)).await;
    let read = world.schedules.get(first).await.unwrap();
    let refused = world.schedules.replace(&read, large, false).await;
    assert!(matches!(refused, Err(ScheduleError::TooLarge(_))));
    for _ in 1..SCHEDULES_OF_OWNER {
        world.create(hourly(START)).await;
    }
    let refused = create("u-1", draft(hourly(START))).await;
    assert!(matches!(refused, Err(ScheduleError::TooMany)));
    create("u-2", draft(hourly(START))).await.unwrap();
    world.schedules.disable(first).await.unwrap();
    world.create(hourly(START)).await;
}
