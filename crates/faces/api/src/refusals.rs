//! Errors that all commands share if they create no job.

use api_types::{ApiError, kinds};
use jobs::{
    ApplicationGraphError, DependencyCycle, JobSubmitError, NodeProduct, NodeResolveError,
    ScopeError,
};
use serde_json::{Value, json};

use crate::code;
use crate::defaults::CATALOG_RETRY_SECONDS;
use crate::failure::ApiFailure;

/// The error for a job that was checked and not accepted.
pub(crate) fn submit_refusal(error: &JobSubmitError) -> ApiFailure {
    let text = error.to_string();
    let refused = match error {
        JobSubmitError::InDoubt { never_starts, .. } => {
            ApiError::new(kinds::OUTCOME_UNKNOWN, text).with("never_starts", json!(never_starts))
        }
        JobSubmitError::Unanswered => {
            ApiError::new(kinds::OUTCOME_UNKNOWN, text).with("never_starts", json!(false))
        }
        JobSubmitError::ShuttingDown => ApiError::new(kinds::UNAVAILABLE, text),
        _ => return ApiFailure::internal("store the job", error),
    };
    ApiFailure(refused)
}

/// The error for a scope without nodes.
pub(crate) fn scope_refusal(error: ScopeError) -> ApiFailure {
    let text = error.to_string();
    let refused = match error {
        ScopeError::EmptyTarget => ApiError::new(kinds::EMPTY_TARGET, text),
        ScopeError::EmptyEnvironment(environment) => {
            ApiError::new(kinds::EMPTY_ENVIRONMENT, text).with("environment", json!(environment))
        }
        ScopeError::TooManyNodes(_) => ApiError::invalid("scope.nodes", text),
        ScopeError::NoEnvironment => ApiError::invalid("scope.whole_environment", text),
        ScopeError::ApplicationWithoutEnvironment => ApiError::invalid("scope.application", text),
        ScopeError::ApplicationsDisabled(_) => ApiError::new(kinds::UNKNOWN_APPLICATION, text),
        ScopeError::UnknownApplication { instances, .. } => {
            ApiError::new(kinds::UNKNOWN_APPLICATION, text).with("instances", json!(instances))
        }
        ScopeError::Applications(error) => return applications_refusal(error),
        ScopeError::Resolve(error) => return resolve_refusal("scope", &error),
        error => return ApiFailure::internal("resolve the scope", &error),
    };
    ApiFailure(refused)
}

/// The error for applications that are not known.
fn applications_refusal(error: ApplicationGraphError) -> ApiFailure {
    let text = error.to_string();
    match error {
        ApplicationGraphError::Code(error) => code::code_error(error),
        ApplicationGraphError::Compile(_) => ApiError::new(kinds::CATALOG_COMPILE, text).into(),
        ApplicationGraphError::Environment(_) => {
            ApiError::new(kinds::INVALID_ENVIRONMENT, text).into()
        }
        ApplicationGraphError::Unavailable(_) => ApiError::new(kinds::UNAVAILABLE, text)
            .with("retry_after_seconds", json!(CATALOG_RETRY_SECONDS))
            .into(),
        error => ApiFailure::internal("read the applications", &error),
    }
}

/// The error for nodes that wait for each other.
pub(crate) fn cycle_refusal(cycle: &DependencyCycle) -> ApiFailure {
    let step =
        |product: &NodeProduct| json!({"node": product.node, "capability": product.capability});
    let path: Vec<Value> = cycle.path.iter().map(step).collect();
    let refused = ApiError::new(kinds::DEPENDENCY_CYCLE, cycle.to_string());
    ApiFailure(refused.with("cycle", json!(path)))
}

/// The error for a scope at `place` that could not be resolved.
pub(crate) fn resolve_refusal(place: &str, error: &NodeResolveError) -> ApiFailure {
    let text = error.to_string();
    let refused = match error {
        NodeResolveError::Query(_) => ApiError::new(kinds::QUERY, text),
        NodeResolveError::Unreachable(_) => ApiError::new(kinds::PUPPETDB, text),
        NodeResolveError::Busy(_) => ApiError::new(kinds::UNAVAILABLE, text),
        NodeResolveError::UnknownGroup(group) | NodeResolveError::NoRules(group) => {
            ApiError::invalid("scope.node_group", text).with("node_group", json!(group))
        }
        NodeResolveError::Missing(_) => ApiError::invalid(place, text),
        _ => return ApiFailure::internal("look nodes up", error),
    };
    ApiFailure(refused)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use store::StoreError;

    use super::*;

    fn kind(ApiFailure(told): &ApiFailure) -> (u16, &str) {
        let name = told.body.kind.rsplit('/').next();
        (told.status, name.unwrap_or_default())
    }

    #[test]
    fn a_command_that_may_have_been_kept_is_told_as_such() {
        let lost: store::SharedCause = Arc::new(std::io::Error::other("gone"));
        for never_starts in [true, false] {
            let source = StoreError::OutcomeUnknown(Arc::clone(&lost));
            let ApiFailure(told) = submit_refusal(&JobSubmitError::InDoubt {
                source,
                never_starts,
            });
            assert_eq!(told.body.kind, "tutti/outcome-unknown");
            assert_eq!(told.body.details["never_starts"], never_starts);
            assert!(told.body.msg.contains("list of jobs"), "{}", told.body.msg);
        }
        let ApiFailure(told) = submit_refusal(&JobSubmitError::Unanswered);
        assert_eq!(told.body.details["never_starts"], false);
    }

    #[test]
    fn every_reason_for_no_nodes_has_its_kind() {
        let text = || "x".to_owned();
        for (error, expected) in [
            (ScopeError::EmptyTarget, (400, "empty-target")),
            (
                ScopeError::EmptyEnvironment(text()),
                (400, "empty-environment"),
            ),
            (ScopeError::TooManyNodes(7), (400, "validation-error")),
            (ScopeError::NoEnvironment, (400, "validation-error")),
            (
                ScopeError::ApplicationWithoutEnvironment,
                (400, "validation-error"),
            ),
            (
                ScopeError::ApplicationsDisabled(text()),
                (404, "unknown-application"),
            ),
            (
                ScopeError::UnknownApplication {
                    environment: text(),
                    selector: "Lamp[x]".parse().unwrap(),
                    instances: Vec::new(),
                },
                (404, "unknown-application"),
            ),
            (
                ApplicationGraphError::Compile(text()).into(),
                (422, "catalog-compile-error"),
            ),
            (
                ApplicationGraphError::Unavailable(text()).into(),
                (503, "service-unavailable"),
            ),
            (
                ApplicationGraphError::Broken(text()).into(),
                (500, "unknown-error"),
            ),
            (NodeResolveError::Query(text()).into(), (400, "query-error")),
            (
                NodeResolveError::Unreachable(text()).into(),
                (400, "puppetdb-error"),
            ),
            (
                NodeResolveError::UnknownGroup(text()).into(),
                (400, "validation-error"),
            ),
            (
                NodeResolveError::NoRules(text()).into(),
                (400, "validation-error"),
            ),
            (
                NodeResolveError::Missing("x").into(),
                (400, "validation-error"),
            ),
            (
                NodeResolveError::Busy(text()).into(),
                (503, "service-unavailable"),
            ),
            (
                NodeResolveError::Broken(text()).into(),
                (500, "unknown-error"),
            ),
        ] {
            let text = error.to_string();
            assert_eq!(kind(&scope_refusal(error)), expected, "{text}");
        }
    }
}
