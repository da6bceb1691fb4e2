//! `ping ping`: answers at once. `request_hops` once carried PCP v1 debug chunks; brokers no longer
//! send them, so it is empty.

use pxp::action::PingParams;
use serde_json::json;
use serde_json::value::RawValue;

use super::request_plan::{RequestPlan, RequestRefusal, parse};

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let PingParams {
        sender_timestamp: _,
    } = parse(params)?;
    Ok(RequestPlan::Reply(json!({ "request_hops": [] })))
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan_of;
    use super::*;

    #[test]
    fn a_ping_is_answered_with_or_without_a_time() {
        for good in [
            json!({}),
            json!({"sender_timestamp": "2026-11-21T06:08:12Z"}),
        ] {
            assert!(
                matches!(plan_of("ping", "ping", &good), Ok(RequestPlan::Reply(_))),
                "{good}"
            );
        }
        assert!(plan_of("ping", "ping", &json!({"sender_timestamp": 1})).is_err());
    }
}
