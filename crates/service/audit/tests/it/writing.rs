//! The entries that are written, and the time at which they are.

use audit::{AuditActor, AuditOutcome};

use crate::bench::{Bench, act, both};

both!(
    a_command_is_announced_and_its_result_follows,
    a_command_that_breaks_off_says_so,
    callers_at_once_make_one_chain,
    refusals_are_counted_together,
    hostile_texts_are_kept_as_they_are,
    a_store_that_is_closed_refuses_the_command,
);

async fn a_command_is_announced_and_its_result_follows(bench: Bench) {
    let audit = bench.audit().await;
    let intent = audit.intent(act("command_task")).await.unwrap();
    // Durable before the command is executed: another reader sees it now.
    let rows = bench.store.audit_entries(1, 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].entry.phase, "intent");
    assert_eq!(rows[0].seq, intent.seq());
    let outcome = AuditOutcome {
        status: Some(202),
        object: Some(audit::AuditObject::named("job", "12")),
        ..AuditOutcome::default()
    };
    intent.finish(outcome).await;
    audit.shutdown().await;
    let rows = bench.store.audit_entries(1, 10).await.unwrap();
    assert_eq!(rows.len(), 2);
    let result = &rows[1].entry;
    assert_eq!((result.phase.as_str(), result.intent), ("result", Some(1)));
    assert_eq!(result.status, Some(202));
    assert_eq!(
        (result.object_type.as_str(), result.object_id.as_str()),
        ("job", "12")
    );
    assert_eq!(result.actor_name, "ann");
    assert_eq!(result.address.as_deref(), Some("192.0.2.7"));
    let report = bench.verify().await.unwrap();
    assert_eq!((report.entries, report.without_result), (2, 0));
}

async fn a_command_that_breaks_off_says_so(bench: Bench) {
    let audit = bench.audit().await;
    drop(audit.intent(act("command_task")).await.unwrap());
    audit.shutdown().await;
    let rows = bench.store.audit_entries(2, 1).await.unwrap();
    assert_eq!(
        (rows[0].entry.phase.as_str(), rows[0].entry.status),
        ("result", None)
    );
    assert!(rows[0].entry.details.contains("broke off"));
}

async fn callers_at_once_make_one_chain(bench: Bench) {
    const CALLERS: usize = 200;
    let audit = bench.audit().await;
    let mut calls = tokio::task::JoinSet::new();
    for i in 0..CALLERS {
        let audit = audit.clone();
        calls.spawn(async move {
            let intent = audit.intent(act(&format!("step_{i}"))).await.unwrap();
            intent.finish(AuditOutcome::default()).await;
        });
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap();
    }
    audit.shutdown().await;
    let report = bench.verify().await.unwrap();
    assert_eq!(report.entries, 2 * CALLERS as u64);
    assert_eq!((report.first, report.last), (1, 2 * CALLERS as i64));
    assert_eq!(report.without_result, 0);
}

async fn refusals_are_counted_together(bench: Bench) {
    let audit = bench.audit().await;
    let outcome = AuditOutcome {
        status: Some(403),
        denied: Some("tasks:run:package".to_owned()),
        ..AuditOutcome::default()
    };
    for _ in 0..500 {
        audit.record_refusal(&act("command_task"), &outcome).await;
    }
    let mut other = act("command_task");
    other.actor = AuditActor::certificate("web.example.com");
    audit.record_refusal(&other, &outcome).await;
    let rows = bench.store.audit_entries(1, 1_000).await.unwrap();
    assert_eq!(rows.len(), 2, "the first of each, at once");
    audit.shutdown().await;
    let rows = bench.store.audit_entries(1, 1_000).await.unwrap();
    assert_eq!(rows.len(), 3);
    let counted = &rows[2].entry;
    assert_eq!((counted.times, counted.actor_name.as_str()), (499, "ann"));
    assert_eq!(counted.permission.as_deref(), Some("tasks:run:package"));
    assert_eq!(counted.decision, "denied");
    assert_eq!(bench.verify().await.unwrap().denied, 501);
}

async fn hostile_texts_are_kept_as_they_are(bench: Bench) {
    let audit = bench.audit().await;
    let mut act = act("x");
    act.actor.name = "a\0b'; DROP TABLE audit; --\u{202e}\u{1f600}".to_owned();
    act.object.id = "../../etc/passwd".to_owned();
    act.details
        .insert("k\0".to_owned(), serde_json::json!("v\0\"\n"));
    audit.record(&act, &AuditOutcome::default()).await.unwrap();
    audit.shutdown().await;
    bench.verify().await.unwrap();
    let rows = bench.store.audit_entries(1, 1).await.unwrap();
    assert!(rows[0].entry.actor_name.starts_with("a\u{2400}b'; DROP"));
    assert_eq!(rows[0].entry.details, r#"{"k\u0000":"v\u0000\"\n"}"#);
}

async fn a_store_that_is_closed_refuses_the_command(bench: Bench) {
    let audit = bench.audit().await;
    bench.store.close().await;
    let error = audit.intent(act("command_task")).await.unwrap_err();
    assert!(error.to_string().contains("nothing was done"), "{error}");
}
