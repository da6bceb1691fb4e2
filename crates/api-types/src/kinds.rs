//! The kinds of error, each with its HTTP status, as Puppet Enterprise names them.
//!
//! Clients branch on the name; the text beside it may change.

/// A kind: its name on the wire and the status that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// For example `puppetlabs.orchestrator/unknown-job`.
    pub name: &'static str,
    /// The HTTP status.
    pub status: u16,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $constant:ident = $status:literal $name:literal;)*) => {
        $($(#[$doc])* pub const $constant: Kind = Kind { name: $name, status: $status };)*

        /// Every kind, for documents and tests.
        pub const ALL: &[Kind] = &[$($constant),*];
    };
}

kinds! {
    /// Wrong type, format or key of a body, a query parameter or an id in the path.
    VALIDATION = 400 "puppetlabs.orchestrator/validation-error";
    /// The scope gives no node.
    EMPTY_TARGET = 400 "puppetlabs.orchestrator/empty-target";
    /// A query is invalid, or may not be asked by this user, or there is nobody to ask.
    QUERY = 400 "puppetlabs.orchestrator/query-error";
    /// No token, or one that was never issued.
    UNAUTHENTICATED = 401 "puppetlabs.rbac/user-unauthenticated";
    /// The token's time is over.
    TOKEN_EXPIRED = 401 "puppetlabs.rbac/token-expired";
    /// The user was revoked.
    USER_REVOKED = 401 "puppetlabs.rbac/user-revoked";
    /// The user lacks the permission; also for the task on those nodes.
    NOT_PERMITTED = 403 "puppetlabs.orchestrator/not-permitted";
    /// No such job.
    UNKNOWN_JOB = 404 "puppetlabs.orchestrator/unknown-job";
    /// No such environment.
    UNKNOWN_ENVIRONMENT = 404 "puppetlabs.orchestrator/unknown-environment";
    /// No such task in the environment.
    UNKNOWN_TASK = 404 "puppetlabs.orchestrator/unknown-task";
    /// No such service.
    UNKNOWN_SERVICE = 404 "puppetlabs.orchestrator/unknown-service";
    /// No such route.
    NOT_FOUND = 404 "puppetlabs.orchestrator/not-found";
    /// The route is there, with another method.
    METHOD_NOT_ALLOWED = 405 "puppetlabs.orchestrator/method-not-allowed";
    /// The body did not arrive in time.
    REQUEST_TIMEOUT = 408 "puppetlabs.orchestrator/request-timeout";
    /// The body is larger than the route takes.
    TOO_LARGE = 413 "puppetlabs.orchestrator/request-too-large";
    /// Too many failed logins; details carry `retry_after_seconds`.
    LOCKED_OUT = 429 "puppetlabs.rbac/too-many-failed-logins";
    /// Anything that is the server's own fault.
    UNKNOWN = 500 "puppetlabs.orchestrator/unknown-error";
    /// The server is on its way down, or too busy; try again.
    UNAVAILABLE = 503 "puppetlabs.orchestrator/service-unavailable";
}
