//! Reports that nodes send, and that others send in their name.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::{Method, StatusCode};
use run_reports::RunReportFilter;
use serde_json::{Value, json};
use store::ListPage;

use crate::site::{Client, Site};

const UUID: &str = "0d6f5ae3-6f5b-4b52-8f0a-2f0d3a1c9b11";

fn report(host: &str) -> Value {
    json!({
        "host": host, "time": jiff::Timestamp::now().to_string(), "status": "changed",
        "transaction_uuid": UUID, "environment": "production", "report_format": 12,
        "logs": [{"level": "notice", "message": "hello", "source": "Puppet", "tags": ["notice"]}],
        "metrics": {}, "resource_statuses": {},
    })
}

async fn put(
    client: &Client,
    name: &str,
    headers: &[(&str, &str)],
    body: impl Into<reqwest::Body>,
) -> (StatusCode, String) {
    let path = format!("/puppet/v3/report/{name}?environment=production");
    let request = client.request(Method::PUT, &path).body(body);
    let add = |request: reqwest::RequestBuilder, (key, value): &(&str, &str)| {
        request.header(*key, *value)
    };
    let answer = headers.iter().fold(request, add).send().await.unwrap();
    (answer.status(), answer.text().await.unwrap())
}

const JSON: (&str, &str) = ("content-type", "application/json");

async fn messages(site: &Site) -> Vec<String> {
    let all = RunReportFilter::default();
    let listed = site
        .run_reports
        .list(&all, ListPage::default())
        .await
        .unwrap();
    let mut messages = Vec::new();
    for entry in listed.entries {
        let report = site.run_reports.find(&entry.summary.hash).await.unwrap();
        messages.extend(report.detail.logs.into_iter().map(|log| log.message));
    }
    messages
}

#[tokio::test]
async fn a_node_sends_its_report_in_the_formats_of_agents() {
    let site = Site::start().await;
    let node = site.node("web1");
    let sent = put(&node, "web1", &[JSON], report("web1").to_string()).await;
    assert_eq!(sent, (StatusCode::OK, "[]".to_owned()));
    assert_eq!(messages(&site).await, ["hello"]);

    let text = report("web1").to_string();
    let mut pson = text.replace("hello", "a?b").into_bytes();
    let at = pson.iter().position(|byte| *byte == b'?').unwrap();
    pson[at] = 0xff;
    let headers = [("content-type", "text/pson; charset=utf-8")];
    assert_eq!(put(&node, "web1", &headers, pson).await.0, StatusCode::OK);
    assert_eq!(messages(&site).await, ["a\u{fffd}b"]);

    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.replace("hello", "packed").as_bytes())
        .unwrap();
    let headers = [JSON, ("content-encoding", "gzip")];
    let sent = put(&node, "web1", &headers, gzip.finish().unwrap()).await;
    assert_eq!(sent.0, StatusCode::OK, "{}", sent.1);
    assert_eq!(messages(&site).await, ["packed"]);
}

#[tokio::test]
async fn nobody_reports_for_another_node() {
    let site = Site::start().await;
    let node = site.node("web1");
    let text = report("web2").to_string();
    let (status, body) = put(&site.nobody(), "web2", &[JSON], text.clone()).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    let (status, body) = put(&node, "web2", &[JSON], text.clone()).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["issue_kind"], "FAILED_AUTHORIZATION");
    // The content names another node than the path.
    let (status, body) = put(&node, "web1", &[JSON], text).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    assert!(
        body.contains("a node may report only about itself"),
        "{body}"
    );
    for name in ["WEB1", "web1%00", "..%2Fweb1", "web1.", "*"] {
        let (status, body) = put(&node, name, &[JSON], report("web1").to_string()).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{name}: {body}");
    }
    assert_eq!(messages(&site).await, [""; 0]);
}

#[tokio::test]
async fn bodies_that_are_no_report_are_refused_with_a_reason() {
    let site = Site::start().await;
    let node = site.node("web1");
    let limit = run_reports::defaults::MAX_REPORT_TEXT_BYTES;
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..64 {
        bomb.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    let text = report("web1").to_string();
    let gzip = ("content-encoding", "gzip");
    type RefusedBody<'a> = (&'a [(&'a str, &'a str)], Vec<u8>, u16);
    let cases: [RefusedBody<'_>; 9] = [
        (&[], text.clone().into(), 415),
        (&[("content-type", "text/yaml")], text.clone().into(), 415),
        (
            &[JSON, ("content-encoding", "br")],
            text.clone().into(),
            415,
        ),
        (&[JSON, gzip], text.into(), 400),
        (&[JSON], Vec::new(), 400),
        (&[JSON], b"{\"host\":".to_vec(), 400),
        (&[JSON], "[".repeat(100_000).into(), 400),
        (&[JSON], vec![b' '; limit + 1], 413),
        (&[JSON, gzip], bomb, 413),
    ];
    for (headers, body, expected) in cases {
        let (status, answer) = put(&node, "web1", headers, body).await;
        assert_eq!(status.as_u16(), expected, "{headers:?}: {answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert!(
            answer["message"].is_string() && answer["issue_kind"].is_string(),
            "{answer}"
        );
    }
    // A body whose length is not announced is cut at the limit, too.
    let piece = || Ok::<_, std::io::Error>(vec![b' '; 1 << 20]);
    let endless = futures_util::stream::repeat_with(piece);
    let path = "/puppet/v3/report/web1";
    let request = node.request(Method::PUT, path).header(JSON.0, JSON.1);
    let answer = request
        .body(reqwest::Body::wrap_stream(endless))
        .send()
        .await;
    // The connection may be closed before the client has read the answer.
    if let Ok(answer) = answer {
        assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
    // The server is as good as before.
    let sent = put(&node, "web1", &[JSON], report("web1").to_string()).await;
    assert_eq!(sent.0, StatusCode::OK, "{}", sent.1);
}

#[tokio::test]
async fn many_large_reports_at_once_are_all_taken() {
    let site = Site::start().await;
    let mut large = report("web1");
    large["padding"] = "x".repeat(6 << 20).into();
    let text = large.to_string();
    let mut sending = tokio::task::JoinSet::new();
    let node = std::sync::Arc::new(site.node("web1"));
    for _ in 0..40 {
        let (node, text) = (node.clone(), text.clone());
        sending.spawn(async move { put(&node, "web1", &[JSON], text).await });
    }
    while let Some(sent) = sending.join_next().await {
        let (status, body) = sent.unwrap();
        assert_eq!(status, StatusCode::OK, "{body}");
    }
}
