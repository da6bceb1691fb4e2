//! The messages that receivers get, and their times.

use std::time::Duration;

use api_types::{NewWebhook, WebhookEdit};
use serde_json::json;
use webhooks::{InvalidWebhook, SigningSecret, WebhookError};

use crate::receiver::Receiver;
use crate::world::{World, new_webhook};

testkit::both!(
    events_are_told_in_order_and_signed,
    only_the_types_asked_for_are_told,
    events_name_the_task_its_owner_and_the_nodes,
    questions_and_ends_of_plans_are_told_in_order_and_once,
    puppet_runs_are_told_to_webhooks_that_name_them,
    runs_that_were_told_to_no_webhook_in_time_are_counted,
    a_chat_gets_its_own_form_and_the_same_body_again,
    a_refused_event_comes_again_with_the_same_id_and_the_next_one_waits,
    what_was_not_taken_is_told_after_a_restart,
    a_dead_receiver_delays_nobody_else,
    a_receiver_that_is_gone_is_told_no_more,
    a_test_message_tells_what_the_receiver_did,
    a_key_is_sealed_at_rest_and_a_new_one_signs_from_then_on,
    what_cannot_be_used_is_refused,
);

async fn events_are_told_in_order_and_signed() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[]).await);
    world.happens(&["job_finished"]).await;
    let (_, secret) = world.hook(&receiver.url, &[]).await;
    world.happens(&["node_running", "job_finished"]).await;
    let (first, second) = (receiver.next().await, receiver.next().await);
    assert_eq!(first.json()["type"], "node_running", "not what was before");
    assert_eq!(second.json()["type"], "job_finished");
    let data = &second.json()["data"];
    assert_eq!(
        (&data["job"], &data["details"]["x"]),
        (&"2".into(), &1.into())
    );
    let secret = SigningSecret::parse(&secret).unwrap();
    let signed = secret.sign(&first.id, first.timestamp, &first.bytes);
    assert_eq!(signed, first.signature);
    world.webhooks.shutdown().await;
}

async fn only_the_types_asked_for_are_told() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[]).await);
    world.hook(&receiver.url, &["job_finished"]).await;
    world
        .happens(&["node_running", "node_finished", "job_finished"])
        .await;
    assert_eq!(receiver.next().await.json()["type"], "job_finished");
    world.webhooks.shutdown().await;
    assert!(receiver.is_quiet());
}

async fn events_name_the_task_its_owner_and_the_nodes() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[]).await);
    world
        .hook(&receiver.url, &["node_failed", "job_finished"])
        .await;
    world
        .runs(
            "package",
            &["node_finished", "node_failed", "node_finished"],
        )
        .await;
    let node = receiver.next().await.json()["data"].clone();
    assert_eq!(node["task"], "package");
    assert_eq!(
        node["nodes"],
        json!({"total": 3}),
        "single nodes are not counted"
    );
    let over = receiver.next().await.json()["data"].clone();
    let told = json!({
        "event": over["event"], "job": "1", "command": "task", "task": "package", "owner": "anna",
        "environment": "production", "description": "weekly",
        "nodes": {"total": 3, "succeeded": 2, "failed": 1, "errored": 0, "skipped": 0},
        "message": "job_finished happened", "details": {"state": "failed"},
    });
    assert_eq!(over, told);
    world.webhooks.shutdown().await;
}

async fn questions_and_ends_of_plans_are_told_in_order_and_once() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[]).await);
    let before = world.plan("rollout").await;
    world.happens_in_plan(before, "prompt", "Old?").await;
    let (hook, _) = world
        .hook(&receiver.url, &["prompt", "plan_finished", "plan_failed"])
        .await;
    let number = world.plan("rollout").await;
    for round in 0..1_000 {
        world
            .happens_in_plan(number, "out_message", &format!("round {round}"))
            .await;
    }
    world.happens_in_plan(number, "prompt", "Go on?").await;
    let question = receiver.next().await;
    let told = json!({
        "event": question.json()["data"]["event"], "command": "plan", "plan": "rollout",
        "plan_job": number.to_string(), "owner": "anna", "environment": "production",
        "message": "Go on?", "details": {"x": 1},
    });
    assert_eq!(question.json()["type"], "prompt");
    assert_eq!(question.json()["data"], told);
    assert!(question.id.starts_with("plan_event_"), "{}", question.id);
    // Until the answer has arrived, the event would be sent again after a restart.
    world.counts(hook, 1).await;
    // Another event happens while the webhooks are stopped; earlier events are not sent again.
    let change = WebhookEdit {
        template: Some("slack".to_owned()),
        ..WebhookEdit::default()
    };
    world.webhooks.change(hook, change).await.unwrap();
    world.webhooks.shutdown().await;
    world.plan_ends(number).await;
    let world = Box::pin(world.restarted()).await;
    let over = receiver.next().await;
    assert_ne!(over.id, question.id);
    assert_eq!(over.json()["text"], "Plan rollout failed");
    world.webhooks.shutdown().await;
    assert!(receiver.is_quiet());
}

async fn puppet_runs_are_told_to_webhooks_that_name_them() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[]).await);
    let mut all = Receiver::start(&[]).await;
    let mut later = Receiver::start(&[]).await;
    world.hook(&all.url, &[]).await;
    let (hook, _) = world.hook(&later.url, &["job_finished"]).await;
    let (named, _) = world
        .hook(&receiver.url, &["puppet_run_changed", "puppet_run_failed"])
        .await;
    for (id, status) in [("a1", "unchanged"), ("a2", "changed"), ("a2", "changed")] {
        world.puppet_ran(id, status).await;
    }
    let told = receiver.next().await;
    assert_eq!(told.id, "puppet_run_event_1");
    assert_eq!(told.json()["type"], "puppet_run_changed");
    let data = json!({
        "event": "1", "environment": "production", "node": "web1.example.com",
        "message": "Puppet run on web1.example.com changed 3 of 12 resources",
        "details": {"report": "a2", "status": "changed", "environment": "production",
            "resources": {"total": 12, "failed": 0, "changed": 3}},
    });
    assert_eq!(told.json()["data"], data);
    world.counts(named, 1).await;
    // A webhook that names runs from now on gets those from now on.
    let change = WebhookEdit {
        events: Some(vec!["puppet_run_changed".to_owned()]),
        template: Some("slack".to_owned()),
        ..WebhookEdit::default()
    };
    world.webhooks.change(hook, change).await.unwrap();
    world.webhooks.shutdown().await;
    world.puppet_ran("a3", "changed").await;
    world.happens(&["job_finished"]).await;
    let world = Box::pin(world.restarted()).await;
    let again = receiver.next().await;
    assert_eq!(again.json()["data"]["details"]["report"], "a3");
    let text = "Puppet run on web1.example.com changed 3 of 12 resources";
    assert_eq!(later.next().await.json()["text"], text);
    assert_eq!(all.next().await.json()["type"], "job_finished");
    world.webhooks.shutdown().await;
    assert!(receiver.is_quiet() && later.is_quiet() && all.is_quiet());
}

async fn runs_that_were_told_to_no_webhook_in_time_are_counted() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[]).await);
    let (hook, _) = world.hook(&receiver.url, &["puppet_run_failed"]).await;
    world.webhooks.shutdown().await;
    for id in ["a1", "a2", "a3"] {
        world.puppet_ran(id, "failed").await;
    }
    let pruned = world.store.prune_puppet_run_events(0, 1).await.unwrap();
    assert_eq!(pruned, 2);
    let world = Box::pin(world.restarted()).await;
    assert_eq!(receiver.next().await.id, "puppet_run_event_3");
    world.counts(hook, 1).await;
    world.webhooks.shutdown().await;
    let hook = world.webhooks.get(hook).await.unwrap();
    assert_eq!((hook.delivered, hook.given_up), (1, 2));
}

async fn a_chat_gets_its_own_form_and_the_same_body_again() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[500]).await);
    let (hook, secret) = world.hook(&receiver.url, &["job_finished"]).await;
    let change = WebhookEdit {
        template: Some("slack".to_owned()),
        ..WebhookEdit::default()
    };
    let (changed, _) = world.webhooks.change(hook, change).await.unwrap();
    assert_eq!(changed.template, "slack");
    let world = Box::pin(world.restarted()).await;
    assert_eq!(world.webhooks.get(hook).await.unwrap().template, "slack");
    world
        .runs("package", &["node_finished", "node_failed"])
        .await;
    let (first, again) = (receiver.next().await, receiver.next().await);
    assert_eq!((&first.id, &first.bytes), (&again.id, &again.bytes));
    let slack = first.json();
    assert_eq!(slack["text"], "Task package failed: 1 of 2 nodes succeeded");
    let fields = slack["blocks"][1]["fields"].as_array().unwrap();
    let fields: Vec<_> = fields.iter().map(|field| field["text"].clone()).collect();
    assert_eq!(
        json!(fields),
        json!([
            "Job\n1",
            "Owner\nanna",
            "Environment\nproduction",
            "Description\nweekly",
            "Nodes\n2: 1 succeeded, 1 failed"
        ])
    );
    let signed = SigningSecret::parse(&secret).unwrap();
    assert_eq!(
        signed.sign(&again.id, again.timestamp, &again.bytes),
        again.signature
    );
    world.webhooks.shutdown().await;
}

async fn a_refused_event_comes_again_with_the_same_id_and_the_next_one_waits() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[500, 302]).await);
    let (hook, _) = world.hook(&receiver.url, &[]).await;
    world.happens(&["node_running", "job_finished"]).await;
    let first = receiver.next().await;
    let again = [receiver.next().await, receiver.next().await];
    // A redirect counts as a failure: it is not followed.
    assert!(
        again
            .iter()
            .all(|one| one.id == first.id && one.bytes == first.bytes)
    );
    assert_eq!(receiver.next().await.json()["type"], "job_finished");
    let taken = async {
        while world.webhooks.get(hook).await.unwrap().delivered < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), taken)
        .await
        .unwrap();
    world.webhooks.shutdown().await;
    let after = world.webhooks.get(hook).await.unwrap();
    assert_eq!(
        (after.delivered, after.failing_since, after.last_error),
        (2, None, None)
    );
}

async fn what_was_not_taken_is_told_after_a_restart() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[503]).await);
    let (hook, _) = world.hook(&receiver.url, &[]).await;
    world.happens(&["job_finished"]).await;
    let refused = receiver.next().await;
    let world = Box::pin(world.restarted()).await;
    let taken = receiver.next().await;
    assert_eq!(taken.id, refused.id);
    let saved = async {
        while world.webhooks.get(hook).await.unwrap().delivered < 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), saved)
        .await
        .unwrap();
    let world = Box::pin(world.restarted()).await;
    world.webhooks.shutdown().await;
    assert!(receiver.is_quiet(), "what was taken is not told again");
}

async fn a_dead_receiver_delays_nobody_else() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[]).await);
    // A port on which no program listens.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = format!("http://{}/", closed.local_addr().unwrap());
    drop(closed);
    let (dead, _) = world.hook(&dead, &[]).await;
    world.hook(&receiver.url, &[]).await;
    world.happens(&["job_finished"]).await;
    assert_eq!(receiver.next().await.json()["type"], "job_finished");
    let failing = async {
        loop {
            let hook = world.webhooks.get(dead).await.unwrap();
            if let (Some(_), Some(error)) = (hook.failing_since, hook.last_error) {
                return error;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let error = tokio::time::timeout(Duration::from_secs(30), failing).await;
    assert!(error.unwrap().contains("cannot be reached"));
    world.webhooks.shutdown().await;
}

async fn a_receiver_that_is_gone_is_told_no_more() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[410]).await);
    let (hook, _) = world.hook(&receiver.url, &[]).await;
    world.happens(&["node_running", "job_finished"]).await;
    receiver.next().await;
    let off = async {
        while world.webhooks.get(hook).await.unwrap().enabled {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), off)
        .await
        .unwrap();
    // After it is enabled again, only new events are sent.
    let on = WebhookEdit {
        enabled: Some(true),
        ..WebhookEdit::default()
    };
    world.webhooks.change(hook, on).await.unwrap();
    world.happens(&["job_stopping"]).await;
    assert_eq!(receiver.next().await.json()["type"], "job_stopping");
    world.webhooks.shutdown().await;
}

async fn a_test_message_tells_what_the_receiver_did() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[204, 404]).await);
    let (hook, _) = world.hook(&receiver.url, &["job_finished"]).await;
    let told = world.webhooks.test(hook).await.unwrap();
    assert!(told.delivered && told.error.is_none(), "{told:?}");
    let got = receiver.next().await;
    assert_eq!(got.json()["type"], "test");
    assert_eq!(
        got.bytes,
        told.body.as_bytes(),
        "the test shows what was sent"
    );
    let refused = world.webhooks.test(hook).await.unwrap();
    let error = Some("the receiver answered 404");
    assert_eq!(
        (refused.delivered, refused.error.as_deref()),
        (false, error)
    );
    world.webhooks.shutdown().await;
}

async fn a_key_is_sealed_at_rest_and_a_new_one_signs_from_then_on() {
    let (world, mut receiver) = (World::new().await, Receiver::start(&[]).await);
    let (hook, old) = world.hook(&receiver.url, &[]).await;
    let renew = WebhookEdit {
        renew_secret: true,
        ..WebhookEdit::default()
    };
    let (_, new) = world.webhooks.change(hook, renew).await.unwrap();
    let new = new.unwrap();
    assert_ne!(new.expose(), old);
    world.happens(&["job_finished"]).await;
    let told = receiver.next().await;
    assert_eq!(
        new.sign(&told.id, told.timestamp, &told.bytes),
        told.signature
    );
    world.webhooks.shutdown().await;
    world.store.close().await;
    assert!(world.database.holds(&receiver.url).unwrap());
    for secret in [old.as_str(), new.expose()] {
        assert!(!world.database.holds(secret).unwrap(), "a key can be read");
    }
}

async fn what_cannot_be_used_is_refused() {
    let world = World::new().await;
    let refused = [
        new_webhook("http://example.com/", &[]),
        new_webhook("https://example.com/", &["no_such_event"]),
        NewWebhook {
            secret: Some("short".to_owned()),
            ..new_webhook("https://example.com/", &[])
        },
        NewWebhook {
            template: Some("irc".to_owned()),
            ..new_webhook("https://example.com/", &[])
        },
    ];
    let mut words = Vec::new();
    for new in refused {
        match world.webhooks.create(new, "admin".to_owned()).await {
            Err(WebhookError::Invalid(error)) => words.push(error),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(
        words.as_slice(),
        [
            InvalidWebhook::Url(_),
            InvalidWebhook::Events { .. },
            InvalidWebhook::Secret(_),
            InvalidWebhook::Template(_)
        ]
    ));
    assert!(world.webhooks.list().await.unwrap().is_empty());
    let unknown = world.webhooks.delete(uuid::Uuid::nil()).await;
    assert!(matches!(unknown, Err(WebhookError::Unknown(_))));
}
