//! Traces of a job on a real agent, as received by a collector.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use reqwest::Method;
use serde_json::json;
use tokio::net::TcpListener;

use crate::world::World;

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const CANARY: &str = "CANARY-4711";

/// A collector that keeps all received spans.
struct Collector {
    address: String,
    bodies: Arc<Mutex<Vec<Bytes>>>,
}

impl Collector {
    async fn start() -> Self {
        let bodies = Arc::<Mutex<Vec<Bytes>>>::default();
        let kept = Arc::clone(&bodies);
        let take = move |body: Bytes| async move {
            kept.lock().unwrap().push(body);
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/v1/traces", post(take));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, bodies }
    }

    fn spans(&self) -> Vec<Span> {
        let bodies = self.bodies.lock().unwrap();
        let requests = bodies
            .iter()
            .map(|body| ExportTraceServiceRequest::decode(body.clone()).unwrap());
        let resources = requests.flat_map(|request| request.resource_spans);
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    fn bytes(&self) -> Vec<u8> {
        self.bodies.lock().unwrap().concat()
    }
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

fn only<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found = named(spans, name);
    let names: Vec<_> = spans.iter().map(|span| &span.name).collect();
    assert_eq!(found.len(), 1, "{name} in {names:?}");
    found[0]
}

fn attributes(span: &Span) -> BTreeMap<&str, String> {
    let shown = |value: &Any| match value {
        Any::StringValue(text) => text.clone(),
        Any::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let pairs = span.attributes.iter().map(|pair| {
        let value = pair.value.as_ref().and_then(|value| value.value.as_ref());
        (pair.key.as_str(), value.map(shown).unwrap_or_default())
    });
    pairs.collect()
}

async fn world(collector: &Collector, nodes: &[&str]) -> World {
    let section = format!("[telemetry]\notlp_endpoint = \"{}\"\n", collector.address);
    World::of(crate::installation(&section), nodes).await
}

#[tokio::test]
async fn a_job_is_one_trace_from_the_callers_request_to_the_agents_and_back() {
    let collector = Collector::start().await;
    let nodes = ["node0.test", "node1.test"];
    let world = world(&collector, &nodes).await;
    world.shell(
        "secret",
        &["word"],
        "echo \"$PT_word\"; echo \"$PT_word\" >&2; exit 3",
    );
    let body = json!({
        "environment": "production", "task": "secret", "params": {"word": CANARY},
        "scope": {"nodes": nodes}, "description": CANARY, "userdata": {"x": CANARY},
    });
    let path = format!("/orchestrator/v1/command/task?x={CANARY}");
    let command = world.client.request(Method::POST, &path);
    let answer = command
        .header("traceparent", CALLER)
        .json(&body)
        .send()
        .await;
    let answer: serde_json::Value = answer
        .unwrap()
        .error_for_status()
        .unwrap()
        .json()
        .await
        .unwrap();
    let job: u64 = answer["job"]["name"].as_str().unwrap().parse().unwrap();
    world.ended(job).await;
    let shown = world
        .client
        .get(&format!("/orchestrator/v1/jobs/{job}"))
        .await
        .unwrap();
    assert_eq!(shown["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    assert!(shown["options"].get("trace_id").is_none());
    let token = world.client.token().to_owned();
    // The shutdown sends the remaining spans.
    world.stop().await;

    let spans = collector.spans();
    let of_the_trace: Vec<Span> = spans
        .iter()
        .filter(|span| span.trace_id == 0x0af7651916cd43dd8448eb211c80319c_u128.to_be_bytes())
        .cloned()
        .collect();
    let spans = of_the_trace.as_slice();
    assert_eq!(spans.len(), 1 + 1 + 1 + 2 * 3, "{spans:#?}");
    let request = only(spans, "POST /orchestrator/v1/command/task");
    assert_eq!(request.parent_span_id, 0xb7ad6b7169203331_u64.to_be_bytes());
    assert_eq!(attributes(request)["http.response.status_code"], "202");
    let whole = only(spans, "job");
    assert_eq!(whole.parent_span_id, request.span_id);
    let facts = attributes(whole);
    assert_eq!(facts["tutti.job"], job.to_string());
    assert_eq!(
        (
            facts["tutti.job.kind"].as_str(),
            facts["tutti.job.nodes"].as_str()
        ),
        ("task", "2")
    );
    assert_eq!(facts["tutti.job.state"], "failed");
    assert_eq!(only(spans, "commit job").parent_span_id, whole.span_id);
    let runs = named(spans, "run");
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!(run.parent_span_id, whole.span_id);
        assert_eq!(attributes(run)["tutti.run.state"], "failed");
        for part in ["agent", "commit result"] {
            let parts = named(spans, part);
            let part = parts.iter().find(|part| part.parent_span_id == run.span_id);
            let part = part.expect("each run has its parts");
            assert!(run.start_time_unix_nano <= part.start_time_unix_nano);
            assert!(part.end_time_unix_nano <= run.end_time_unix_nano);
        }
    }

    let bytes = collector.bytes();
    for secret in [CANARY, &token] {
        let found = bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes());
        assert!(!found, "{secret} was told to the collector");
    }
}

#[tokio::test]
async fn a_job_goes_on_in_its_trace_after_the_server_was_killed() {
    let collector = Collector::start().await;
    let mut world = world(&collector, &["node0.test"]).await;
    let gate = world.gate("gated", "true", "true");
    let job = world.job("gated", &["node0.test"], gate.params()).await;
    gate.begun().await;
    let shown = world
        .client
        .get(&format!("/orchestrator/v1/jobs/{job}"))
        .await
        .unwrap();
    let trace = shown["trace_id"].as_str().unwrap().to_owned();
    world.kill_server().await;
    world.start_server().await;
    gate.open();
    let rows = world.ended(job).await;
    assert_eq!(rows[0]["state"], "finished");
    world.stop().await;

    let spans = collector.spans();
    let (whole, run) = (only(&spans, "job"), only(&spans, "run"));
    let hex: String = whole
        .trace_id
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(hex, trace);
    assert_eq!(run.parent_span_id, whole.span_id);
    assert_eq!(attributes(run)["tutti.run.state"], "finished");
}

#[tokio::test]
async fn a_collector_that_is_away_is_told_of_once_and_holds_up_nothing() {
    let section = "[telemetry]\notlp_endpoint = \"http://127.0.0.1:9\"\n";
    let world = World::of(crate::installation(section), &["node0.test"]).await;
    world.shell("nothing", &[], "true");
    for _ in 0..3 {
        let row = world.run("nothing", "node0.test", json!({})).await;
        assert_eq!(row["state"], "finished");
    }
    let server = world.server.as_ref().unwrap();
    crate::world::logged(server, "traces cannot be sent").await;
    assert_eq!(
        server.log_text().matches("traces cannot be sent").count(),
        1
    );
    world.stop().await;
}
