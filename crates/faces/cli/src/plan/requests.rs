//! Requests for plans, plan jobs and their events.

use api_types::{
    PlanAnswerCommand, PlanDetail, PlanEvent, PlanEvents, PlanJob, PlanName, StopPlanCommand,
};
use serde_json::Value;

use super::question::PlanPrompt;
use crate::Result;
use crate::client::ApiClient;
use crate::task::requests::split_name;

/// The server's description of a plan.
pub(crate) async fn fetch_plan_detail(
    client: &ApiClient,
    plan: &str,
    environment: &str,
) -> Result<PlanDetail> {
    let (module, name) = split_name(plan);
    let path = ["orchestrator", "v1", "plans", module, name];
    client.get(&path, &[("environment", environment)]).await
}

pub(super) async fn fetch_plan_job(client: &ApiClient, number: &str) -> Result<PlanJob> {
    let path = ["orchestrator", "v1", "plan_jobs", number];
    client.get(&path, &[]).await
}

/// All events of a plan job, page by page.
pub(super) async fn fetch_events(client: &ApiClient, number: &str) -> Result<Vec<PlanEvent>> {
    let mut events = Vec::new();
    let mut start = "0".to_owned();
    loop {
        let page = fetch_page(client, number, &start).await?;
        if page.items.is_empty() || page.next_events.event == start {
            return Ok(events);
        }
        events.extend(page.items);
        start = page.next_events.event;
    }
}

/// The cursor after the last event so far.
pub(super) async fn fetch_end_cursor(client: &ApiClient, number: &str) -> Result<String> {
    let last = fetch_events(client, number).await?.pop();
    let next = last.and_then(|event| event.id.parse::<u64>().ok());
    Ok(next.map_or(0, |id| id.saturating_add(1)).to_string())
}

/// The events from a cursor on.
pub(super) async fn fetch_page(
    client: &ApiClient,
    number: &str,
    start: &str,
) -> Result<PlanEvents> {
    let path = ["orchestrator", "v1", "plan_jobs", number, "events"];
    client.get(&path, &[("start", start)]).await
}

/// Sends an answer to the plan.
pub(super) async fn send_answer(
    client: &ApiClient,
    number: &str,
    question: &PlanPrompt,
    answer: Value,
) -> Result<()> {
    let command = PlanAnswerCommand {
        plan_job: number.to_owned(),
        step: question.step.clone(),
        answer,
        sensitive: question.sensitive,
    };
    let path = ["orchestrator", "v1", "command", "plan_answer"];
    let _: PlanName = client.post(&path, &command).await?;
    Ok(())
}

/// Stops the plan, and with `jobs` its running jobs.
pub(super) async fn stop_plan(client: &ApiClient, number: &str, jobs: bool) -> Result<PlanName> {
    let command = StopPlanCommand {
        plan_job: number.to_owned(),
        jobs,
    };
    let path = ["orchestrator", "v1", "command", "stop_plan"];
    client.post(&path, &command).await
}
