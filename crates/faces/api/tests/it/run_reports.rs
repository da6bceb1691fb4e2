//! `/tutti/v1/reports`: lists and details.

use api_types::Route;
use http::StatusCode;
use run_reports::RunReport;
use serde_json::{Value, json};

use crate::world::World;

const PLACE: &str = "/tutti/v1/reports";

/// A request that is valid except for its token.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    match route.operation_id {
        "run_reports" => Some((PLACE, String::new())),
        "run_report" => Some(("/tutti/v1/reports/0123456789abcdef", String::new())),
        _ => None,
    }
}

/// Reports of two nodes, which arrived in this order.
async fn world() -> World {
    let world = World::new().await;
    let runs = [
        ("web", 1, "unchanged"),
        ("web", 2, "failed"),
        ("db", 3, "changed"),
    ];
    for (node, run, status) in runs {
        let certname: pcp::Certname = node.parse().expect("a certname");
        let received: jiff::Timestamp =
            format!("2026-11-28T03:0{run}:00Z").parse().expect("a time");
        let text = json!({
            "host": node, "status": status, "time": received.to_string(), "environment": "production",
            "transaction_uuid": format!("00000000-0000-0000-0000-00000000000{run}"),
            "job_id": if run == 2 { json!("7") } else { json!(null) },
            "metrics": {"resources": {"values": [["total", "Total", 12], ["failed", "Failed", 1]]}},
            "logs": [{"level": "err", "message": "no such user", "source": "Service[web]"}],
            "resource_statuses": {"Service[web]": {
                "resource_type": "Service", "title": "web", "failed": true, "file": "/site.pp", "line": 3,
                "events": [{"status": "failure", "property": "ensure", "previous_value": "stopped",
                    "desired_value": "running", "message": "failed"}],
            }},
        });
        let report = RunReport::from_json(&certname, &text.to_string(), received).expect("read");
        let reports = &world.state.run_reports;
        let packed = reports.pack_report(report).expect("packed");
        reports.record_report(packed).await.expect("recorded");
    }
    world
}

async fn nodes(world: &World, query: &str) -> Vec<String> {
    let reply = world.get(&format!("{PLACE}{query}")).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let list = reply.json();
    let items = list["items"].as_array().expect("a list");
    let label = |item: &Value| format!("{} {}", item["node"], item["status"]).replace('"', "");
    items.iter().map(label).collect()
}

#[tokio::test]
async fn reports_are_listed_newest_first_and_filtered() {
    let world = world().await;
    assert_eq!(
        nodes(&world, "").await,
        ["db changed", "web failed", "web unchanged"]
    );
    assert_eq!(
        nodes(&world, "?node=web&status=failed").await,
        ["web failed"]
    );
    assert_eq!(nodes(&world, "?job=7").await, ["web failed"]);
    assert_eq!(nodes(&world, "?limit=1&offset=1").await, ["web failed"]);
    assert_eq!(nodes(&world, "?node=..%2F").await, [""; 0]);
    for wrong in [
        "?status=great",
        "?limit=5001",
        "?limit=-1",
        "?order=asc",
        "?node=a&node=b",
    ] {
        let reply = world.get(&format!("{PLACE}{wrong}")).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

#[tokio::test]
async fn a_report_is_shown_with_its_details() {
    let world = world().await;
    let list = world.get(&format!("{PLACE}?status=failed")).await.json();
    let id = list["items"][0]["id"].as_str().expect("an id");
    let reply = world.get(&format!("{PLACE}/{}", &id[..8])).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let report = reply.json();
    assert_eq!(report["id"], id);
    assert_eq!(report["job"], "7");
    assert_eq!(
        report["metrics"][0],
        json!({"category": "resources", "name": "total", "value": 12})
    );
    assert_eq!(report["logs"][0]["level"], "err");
    let resource = &report["resources"][0];
    assert_eq!(
        (&resource["type"], &resource["status"]),
        (&json!("Service"), &json!("failed"))
    );
    assert_eq!(resource["events"][0]["desired_value"], "running");
    for (wrong, status) in [
        ("abc", 400),
        ("..%2F..", 400),
        ("%00", 400),
        ("0123456789", 404),
    ] {
        let reply = world.get(&format!("{PLACE}/{wrong}")).await;
        assert_eq!(reply.status.as_u16(), status, "{wrong}: {}", reply.text());
    }
}
