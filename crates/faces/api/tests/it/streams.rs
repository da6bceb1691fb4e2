//! Live events and output.

use api::ServerInfo;
use axum::body::{Body, Bytes};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::agents::Manner;
use crate::world::World;

/// A message of `text/event-stream`.
#[derive(Clone, Debug, Default, PartialEq)]
struct Message {
    id: Option<String>,
    event: String,
    data: Value,
}

/// A stream that is being read.
struct Reader {
    body: Body,
    text: String,
}

impl Reader {
    async fn open(world: &World, query: &str, last_event_id: Option<&str>) -> Self {
        let path = format!("/orchestrator/v1/events/stream{query}");
        let mut request = world.request("GET", &path, Body::empty());
        if let Some(id) = last_event_id {
            request
                .headers_mut()
                .insert("Last-Event-ID", id.parse().expect("a header"));
        }
        let response = world
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("never fails");
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            body: response.into_body(),
            text: String::new(),
        }
    }

    async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let message = parse(message);
                self.text = rest.to_owned();
                return Some(message);
            }
            let bytes: Bytes = self
                .body
                .frame()
                .await?
                .expect("no error")
                .into_data()
                .ok()?;
            self.text
                .push_str(std::str::from_utf8(&bytes).expect("UTF-8"));
        }
    }

    async fn rest(mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Some(message) = self.next().await {
            messages.push(message);
        }
        messages
    }
}

fn parse(text: &str) -> Message {
    let mut message = Message::default();
    for line in text.lines() {
        match line.split_once(": ").expect("a field") {
            ("id", id) => message.id = Some(id.to_owned()),
            ("event", event) => message.event = event.to_owned(),
            ("data", data) => message.data = serde_json::from_str(data).expect("JSON"),
            other => panic!("unexpected field {other:?}"),
        }
    }
    message
}

fn events(messages: &[Message]) -> Vec<&str> {
    messages
        .iter()
        .map(|message| message.event.as_str())
        .collect()
}

fn writes(bytes: &[u8]) -> Manner {
    Manner {
        writes: bytes.to_vec(),
        ..Manner::default()
    }
}

#[tokio::test]
async fn a_job_from_its_first_event_to_its_last() {
    let world = World::new().await;
    let nodes = world.nodes(1, &writes(b"hello\n"));
    let job = world.run(&nodes).await;
    let messages = Reader::open(&world, "?job=1", None).await.rest().await;
    let committed = messages.iter().filter(|message| message.event != "output");
    let committed: Vec<Message> = committed.cloned().collect();
    assert_eq!(
        events(&committed),
        ["node_running", "node_finished", "job_finished"]
    );
    // Output has no order relative to the start of the run, but comes before its end.
    let output = messages[..messages.len() - 2]
        .iter()
        .find(|message| message.event == "output");
    let data = json!({"node": "a", "stream": "stdout", "offset": 0, "data": "hello\n"});
    assert_eq!(
        output,
        Some(&Message {
            id: None,
            event: "output".to_owned(),
            data
        })
    );
    // The committed events are those of `jobs/:id/events`, with their numbers as ids; the event
    // that ends a node contains its result.
    let polled = world
        .ok(&format!("/orchestrator/v1/jobs/{job}/events"))
        .await;
    for (streamed, polled) in committed.iter().zip(polled["items"].as_array().unwrap()) {
        let mut expected = polled.clone();
        expected["job"] = json!(job);
        if streamed.event == "node_finished" {
            expected["details"]["result"] = json!({"_output": ""});
        }
        assert_eq!(streamed.data, expected);
        assert_eq!(streamed.id.as_deref(), polled["id"].as_str());
        assert_eq!(streamed.event, polled["type"]);
    }
}

#[tokio::test]
async fn a_job_that_is_over_is_replayed() {
    let world = World::new().await;
    let nodes = world.nodes(3, &Manner::default());
    let job = world.run(&nodes).await;
    world.over(&job).await;
    let all = Reader::open(&world, "?job=1", None).await.rest().await;
    assert_eq!(all.len(), 7);
    for (i, message) in all.iter().enumerate() {
        let id = message.id.as_deref();
        let rest = Reader::open(&world, "?job=1", id).await.rest().await;
        assert_eq!(rest, all[i + 1..], "Last-Event-ID goes on behind it");
        let query = format!("?job=1&start={}", id.unwrap());
        let rest = Reader::open(&world, &query, None).await.rest().await;
        assert_eq!(rest, all[i..], "start is inclusive");
    }
}

#[tokio::test]
async fn a_client_that_comes_back_misses_nothing() {
    let world = World::new().await;
    let nodes = world.nodes(
        1,
        &Manner {
            held: true,
            ..Manner::default()
        },
    );
    world.run(&nodes).await;
    let mut reader = Reader::open(&world, "?job=1", None).await;
    let first = reader.next().await.unwrap();
    assert_eq!(first.event, "node_running");
    drop(reader);
    world.agents.let_go();
    world.over("1").await;
    let rest = Reader::open(&world, "?job=1", first.id.as_deref())
        .await
        .rest()
        .await;
    assert_eq!(events(&rest), ["node_finished", "job_finished"]);
}

#[tokio::test]
async fn output_that_is_no_text_is_carried_whole() {
    let world = World::new().await;
    let bytes: Vec<u8> = (0..=255).collect();
    let nodes = world.nodes(1, &writes(&bytes));
    world.run(&nodes).await;
    let messages = Reader::open(&world, "?job=1", None).await.rest().await;
    let output = messages
        .iter()
        .find(|message| message.event == "output")
        .unwrap();
    let data = output.data["data_base64"].as_str().unwrap();
    assert_eq!(STANDARD.decode(data).unwrap(), bytes);
    assert!(output.data.get("data").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_holds_the_agent_back() {
    let text = "0123456789abcdef".repeat(100_000);
    let world = World::new().await;
    let nodes = world.nodes(1, &writes(text.as_bytes()));
    world.run(&nodes).await;
    let mut reader = Reader::open(&world, "?job=1", None).await;
    let mut written = world.agents.written();
    written.wait_for(|bytes| *bytes > 0).await.unwrap();
    // The engine answers pings in the meantime: it is not blocked, the agent only has no credit.
    let ping = json!({"nodes": ["a"]}).to_string();
    for _ in 0..20 {
        world
            .post("/orchestrator/v1/command/ping", ping.clone())
            .await;
    }
    let held = *written.borrow();
    assert!(
        held < text.len() as u64 / 2,
        "{held} of {} bytes",
        text.len()
    );
    let mut read = String::new();
    let mut last = String::new();
    while let Some(message) = reader.next().await {
        if message.event == "output" {
            assert_eq!(message.data["offset"], read.len(), "no hole");
            read.push_str(message.data["data"].as_str().unwrap());
        }
        last = message.event;
    }
    assert!(read == text);
    assert_eq!(last, "job_finished");
}

#[tokio::test]
async fn the_log_of_all_jobs() {
    let world = World::new().await;
    let nodes = world.nodes(1, &writes(b"not here"));
    for _ in 0..2 {
        let job = world.run(&nodes).await;
        world.over(&job).await;
    }
    let mut reader = Reader::open(&world, "?start=0", None).await;
    let mut seen = Vec::new();
    for _ in 0..6 {
        let message = reader.next().await.unwrap();
        assert!(message.id.is_some());
        seen.push((
            message.data["job"].as_str().unwrap().to_owned(),
            message.event,
        ));
    }
    let of = |job: &str| {
        let events = seen.iter().filter(|(of, _)| of == job);
        events.map(|(_, event)| event.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("1"), ["node_running", "node_finished", "job_finished"]);
    assert_eq!(of("2"), of("1"));
}

#[tokio::test]
async fn the_log_without_a_start_is_from_now_on() {
    let world = World::new().await;
    let nodes = world.nodes(1, &Manner::default());
    let job = world.run(&nodes).await;
    world.over(&job).await;
    let mut reader = Reader::open(&world, "", None).await;
    world.run(&nodes).await;
    assert_eq!(reader.next().await.unwrap().data["job"], "2");
}

#[tokio::test]
async fn streams_end_when_the_server_does() {
    let stopping = CancellationToken::new();
    let world = World::with(ServerInfo {
        stopping: stopping.clone(),
        ..ServerInfo::default()
    })
    .await;
    let nodes = world.nodes(
        1,
        &Manner {
            held: true,
            ..Manner::default()
        },
    );
    world.run(&nodes).await;
    let of_job = Reader::open(&world, "?job=1", None).await;
    let of_all = Reader::open(&world, "", None).await;
    stopping.cancel();
    let messages = of_job.rest().await;
    assert!(!events(&messages).contains(&"job_finished"));
    of_all.rest().await;
}

#[tokio::test]
async fn a_nonsense_last_event_id_is_refused() {
    let world = World::new().await;
    for id in ["x", "-1", "99999999999999999999"] {
        let mut request = world.request("GET", "/orchestrator/v1/events/stream", "");
        request
            .headers_mut()
            .insert("Last-Event-ID", id.parse().unwrap());
        let reply = world.send(request).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{id}");
        assert_eq!(reply.json()["details"]["path"], "Last-Event-ID");
    }
}

#[tokio::test]
async fn so_many_streams_and_no_more() {
    let mut world = World::new().await;
    let admin = world.token.clone();
    let mut open = Vec::new();
    for user in 0..api::defaults::STREAMS / api::defaults::STREAMS_EACH {
        world.token = superuser(&world, user).await;
        for _ in 0..api::defaults::STREAMS_EACH {
            open.push(Reader::open(&world, "", None).await);
        }
        let refused = world.get("/orchestrator/v1/events/stream").await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(refused.text().contains("you have"), "{}", refused.text());
    }
    world.token = admin;
    let refused = world.get("/orchestrator/v1/events/stream").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.text().contains("the server"), "{}", refused.text());
    open.pop();
    Reader::open(&world, "", None).await;
}

/// Creates a superuser; returns the user's token.
async fn superuser(world: &World, number: usize) -> String {
    use sha2::{Digest as _, Sha256};
    let id = format!("5f1c9f3e-0000-4000-8000-{number:012}");
    let user = store::NewUserRow {
        id: id.clone(),
        login: format!("user-{number}"),
        display_name: String::new(),
        email: String::new(),
        password_hash: None,
        is_superuser: true,
        is_remote: false,
        created_ms: 0,
    };
    world.store.insert_user(user).await.unwrap();
    let token = format!("token-{number}");
    let row = store::NewTokenRow {
        hash: Sha256::digest(&token).into(),
        id: token.clone(),
        user_id: id,
        ..store::NewTokenRow::default()
    };
    world.store.insert_token(row).await.unwrap();
    token
}

#[tokio::test]
async fn a_stream_ends_soon_after_its_token() {
    let mut world = World::new().await;
    let manner = Manner {
        held: true,
        ..Manner::default()
    };
    let nodes = world.nodes(1, &manner);
    world.run(&nodes).await;
    let admin = world.token.clone();
    let goes_on = Reader::open(&world, "", None).await;
    world.token = superuser(&world, 1).await;
    let of_job = Reader::open(&world, "?job=1", None).await;
    let of_all = Reader::open(&world, "", None).await;
    let access = &world.state.access;
    let admin = access.authenticate(&admin).await.unwrap();
    access.revoke_one(&admin, &world.token).await.unwrap();
    let messages = of_job.rest().await;
    assert!(!events(&messages).contains(&"job_finished"));
    of_all.rest().await;
    // The stream of a valid token survived the check that ended the others.
    let mut rest = Box::pin(goes_on.rest());
    assert!(futures_util::poll!(&mut rest).is_pending());
}
