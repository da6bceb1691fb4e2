//! `tutti hold_lease`, `release_lease` and `show_lease`: leases of this node. The engine answers them.

use pxp::action::ShowLeaseParams;
use serde_json::value::RawValue;

use super::request_plan::{RequestPlan, RequestRefusal, parse};

pub(super) fn plan_hold(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    parse(params).map(RequestPlan::HoldLease)
}

pub(super) fn plan_release(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    parse(params).map(RequestPlan::ReleaseLease)
}

pub(super) fn plan_show(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let ShowLeaseParams {} = parse(params)?;
    Ok(RequestPlan::ShowLease)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::super::tests::plan_of;
    use super::*;

    #[test]
    fn a_lease_is_a_uuid_and_parameters_are_closed() {
        let lease = Uuid::from_u128(7);
        let hold = |params| plan_of("tutti", "hold_lease", &params);
        let held = hold(json!({"lease": lease, "job": "12", "reason": "r", "ttl_s": 60}));
        assert!(matches!(held, Ok(RequestPlan::HoldLease(params)) if params.ttl_s == Some(60)));
        let release = |params| plan_of("tutti", "release_lease", &params);
        let released = release(json!({ "lease": lease }));
        assert!(
            matches!(released, Ok(RequestPlan::ReleaseLease(params)) if params.lease == Some(lease))
        );
        let any = release(json!({}));
        assert!(matches!(any, Ok(RequestPlan::ReleaseLease(params)) if params.lease.is_none()));
        let show = |params| plan_of("tutti", "show_lease", &params);
        assert!(matches!(show(json!({})), Ok(RequestPlan::ShowLease)));
        assert!(show(json!({"lease": lease})).is_err());
        for bad in [
            json!({"lease": "../../etc/passwd", "job": "12", "reason": "r"}),
            json!({"lease": lease, "job": "12", "reason": "r", "ttl_s": -1}),
            json!({"lease": lease, "job": "12", "reason": "r", "force": true}),
            json!({"lease": lease}),
            json!([]),
        ] {
            assert!(matches!(hold(bad), Err(RequestRefusal::Input(_))));
        }
        let bad = release(json!({"lease": "../../etc/passwd"}));
        assert!(matches!(bad, Err(RequestRefusal::Input(_))));
    }
}
