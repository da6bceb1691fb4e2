//! `status query`: the status of a transaction. The engine answers it.

use pxp::action::StatusParams;
use serde_json::value::RawValue;

use super::request_plan::{RequestPlan, RequestRefusal, parse};

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let StatusParams { transaction_id } = parse(params)?;
    Ok(RequestPlan::Status(transaction_id))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::plan_of;
    use super::*;

    #[test]
    fn an_id_that_could_be_a_path_is_refused() {
        let asked = plan_of("status", "query", &json!({"transaction_id": "t1"})).unwrap();
        assert!(matches!(asked, RequestPlan::Status(id) if id.as_str() == "t1"));
        for bad in ["../../etc", "a/b", "", ".hidden"] {
            let asked = plan_of("status", "query", &json!({"transaction_id": bad}));
            assert!(matches!(asked, Err(RequestRefusal::Input(_))), "{bad:?}");
        }
    }
}
