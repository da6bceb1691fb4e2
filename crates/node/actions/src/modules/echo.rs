//! `echo echo`: returns its argument. Proves that messages travel in both directions.

use pxp::action::EchoParams;
use serde_json::json;
use serde_json::value::RawValue;

use super::request_plan::{RequestPlan, RequestRefusal, parse};

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let EchoParams { argument } = parse(params)?;
    Ok(RequestPlan::Reply(json!({ "outcome": argument })))
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan_of;
    use super::*;

    #[test]
    fn the_argument_comes_back_and_nothing_else_goes_in() {
        let reply = plan_of("echo", "echo", &json!({"argument": "hé\u{0}"})).unwrap();
        assert!(matches!(reply, RequestPlan::Reply(v) if v == json!({"outcome": "hé\u{0}"})));
        for bad in [
            json!({}),
            json!({"argument": 1}),
            json!({"argument": "x", "more": 1}),
        ] {
            assert!(
                matches!(plan_of("echo", "echo", &bad), Err(RequestRefusal::Input(_))),
                "{bad}"
            );
        }
    }
}
