//! Kinds of error, by Puppet Enterprise's names, each with its HTTP status.
//!
//! Clients branch on the kind; the message may change.

/// Name of an error kind in the API, with its HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name in the API, for example `puppetlabs.orchestrator/unknown-job`.
    pub name: &'static str,
    /// HTTP status of the reply.
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
    /// The scope contains no node, or lacks a host of `targets`.
    EMPTY_TARGET = 400 "puppetlabs.orchestrator/empty-target";
    /// A name or pattern matches no node, or a short name matches several; nothing was done.
    UNKNOWN_NODE = 404 "tutti/unknown-node";
    /// The environment has no nodes.
    EMPTY_ENVIRONMENT = 400 "puppetlabs.orchestrator/empty-environment";
    /// The nodes of the scope wait for each other, by the applications of their environment.
    DEPENDENCY_CYCLE = 400 "puppetlabs.orchestrator/dependency-cycle";
    /// The environment has no such application or instance, or has not enabled applications.
    UNKNOWN_APPLICATION = 404 "tutti/unknown-application";
    /// `PuppetDB` does not respond.
    PUPPETDB = 400 "puppetlabs.orchestrator/puppetdb-error";
    /// The query is invalid, the user may not run it, or there is no `PuppetDB` or inventory to run
    /// it.
    QUERY = 400 "puppetlabs.orchestrator/query-error";
    /// A scheduled job would start in the past, or never.
    INVALID_TIME = 400 "puppetlabs.orchestrator/invalid-time";
    /// The scheduled job was deleted.
    DISABLED_SCHEDULED_JOB = 400 "puppetlabs.orchestrator/disabled-scheduled-job";
    /// No token, or one that was never issued, or a login that failed.
    UNAUTHENTICATED = 401 "puppetlabs.rbac/user-unauthenticated";
    /// The token was revoked.
    TOKEN_REVOKED = 401 "puppetlabs.rbac/token-revoked";
    /// The token was not used for too long.
    TOKEN_TIMED_OUT = 401 "puppetlabs.rbac/token-timed-out";
    /// The lifetime of the token is over.
    TOKEN_EXPIRED = 401 "puppetlabs.rbac/token-expired";
    /// The user was revoked, or is locked after failed logins.
    USER_REVOKED = 401 "puppetlabs.rbac/user-revoked";
    /// Programs that authenticate by certificate cannot log in for a token.
    API_USER_LOGIN = 401 "puppetlabs.rbac/api-user-login";
    /// The user of an external directory has the login of a local user or of another person.
    REMOTE_USER_CONFLICT = 401 "puppetlabs.rbac/remote-user-conflict";
    /// The body of a request about users and roles is not JSON.
    RBAC_MALFORMED = 400 "puppetlabs.rbac/malformed-request";
    /// The body of a request about users and roles has the wrong shape; details carry `submitted`,
    /// `schema` and `error`.
    RBAC_SCHEMA = 400 "puppetlabs.rbac/schema-violation";
    /// The id in the body is not the one in the path.
    INCONSISTENT_ID = 400 "puppetlabs.rbac/inconsistent-id";
    /// The text is not a list of ids.
    INVALID_ID_FILTER = 400 "puppetlabs.rbac/invalid-id-filter";
    /// The text is not a UUID.
    INVALID_UUID = 400 "puppetlabs.rbac/invalid-uuid";
    /// The token, or one of those to revoke, does not exist.
    INVALID_TOKEN = 400 "puppetlabs.rbac/invalid-token";
    /// The user lacks the permission to change users, roles or tokens, or would grant a permission
    /// that the user lacks; or a password cannot be changed: the current password or the reset
    /// token is wrong, or the user comes from an external directory.
    PERMISSION_DENIED = 403 "puppetlabs.rbac/permission-denied";
    /// The built-in users cannot be changed.
    ADMIN_IMMUTABLE = 403 "puppetlabs.rbac/admin-user-immutable";
    /// The built-in roles cannot be changed, except for their members.
    DEFAULT_ROLES_IMMUTABLE = 403 "puppetlabs.rbac/default-roles-immutable";
    /// The user, group, role or token does not exist.
    RBAC_NOT_FOUND = 404 "puppetlabs.rbac/not-found";
    /// The task target does not exist.
    UNKNOWN_TASK_TARGET = 404 "puppetlabs.orchestrator/unknown-task-target";
    /// Roles refer to the task target; details carry `roles`.
    TASK_TARGET_IN_USE = 409 "tutti/task-target-in-use";
    /// The user has the largest number of scheduled jobs.
    TOO_MANY_SCHEDULED_JOBS = 409 "tutti/too-many-scheduled-jobs";
    /// The largest number of task targets is reached.
    TOO_MANY_TASK_TARGETS = 409 "tutti/too-many-task-targets";
    /// Nodes have a connection already; details carry `certnames`.
    DUPLICATE_CERTNAMES = 409 "puppetlabs.inventory/duplicate-certnames";
    /// Some of the nodes have agents; details name them.
    KNOWN_AGENTS = 409 "tutti/known-agents";
    /// The webhook does not exist.
    UNKNOWN_WEBHOOK = 404 "tutti/unknown-webhook";
    /// No report of a run has this id; reports are kept for a limited time.
    NO_CATALOG = 404 "tutti/no-catalog";
    UNKNOWN_REPORT = 404 "tutti/unknown-report";
    /// Several reports of runs have ids that begin so.
    AMBIGUOUS_REPORT = 409 "tutti/ambiguous-report";
    /// This server is not a certificate authority.
    NO_CERTIFICATE_AUTHORITY = 404 "tutti/no-certificate-authority";
    /// There is neither a request nor a certificate for this name.
    UNKNOWN_CERTIFICATE = 404 "tutti/unknown-certificate";
    /// The certificate authority refuses: the name has a certificate already, or the request
    /// contains names or extensions that are not allowed.
    CERTIFICATE_REFUSED = 409 "tutti/certificate-refused";
    /// The largest number of webhooks is reached.
    TOO_MANY_WEBHOOKS = 409 "tutti/too-many-webhooks";
    /// The feature exists in Puppet Enterprise but not in Tutti, or is not configured.
    NOT_SUPPORTED = 400 "tutti/not-supported";
    /// The name is already in use, a largest number of objects is reached, or the object is defined
    /// in the configuration.
    CONFLICT = 409 "puppetlabs.rbac/conflict";
    /// The request refers to an object that does not exist.
    INVALID_ASSOCIATED_ID = 422 "puppetlabs.rbac/invalid-associated-id";
    /// The directory has no such user.
    NO_SUCH_USER_LDAP = 422 "puppetlabs.rbac/no-such-user-LDAP";
    /// The directory has no such group.
    NO_SUCH_GROUP_LDAP = 422 "puppetlabs.rbac/no-such-group-LDAP";
    /// The directory has two users with one login.
    NON_UNIQUE_LOOKUP_ATTR = 422 "puppetlabs.rbac/non-unique-lookup-attr";
    /// The external directory does not respond.
    DIRECTORY_UNAVAILABLE = 503 "puppetlabs.rbac/directory-unavailable";
    /// The user lacks the permission, in general or for the task on those nodes.
    NOT_PERMITTED = 403 "puppetlabs.orchestrator/not-permitted";
    /// The body of a request about node groups or nodes is not JSON.
    MALFORMED_REQUEST = 400 "malformed-request";
    /// The body of a request about node groups or nodes has the wrong shape; details name the path.
    SCHEMA_VIOLATION = 400 "schema-violation";
    /// The id of the group is not a UUID.
    MALFORMED_UUID = 400 "malformed-uuid";
    /// The value of `depth`, `limit` or `offset` is not a number.
    MALFORMED_NUMBER = 400 "malformed-number";
    /// The value of `depth`, `limit` or `offset` is out of range.
    ILLEGAL_COUNT = 400 "illegal-count";
    /// The request names no nodes.
    MISSING_PARAMETERS = 400 "missing-parameters";
    /// The group id in the body differs from the one in the path.
    CONFLICTING_IDS = 400 "conflicting-ids";
    /// The group, class, environment or node does not exist.
    CLASSIFIER_NOT_FOUND = 404 "not-found";
    /// The group was edited since the caller read it.
    SERIAL_NUMBER_CONFLICT = 409 "serial-number-conflict";
    /// Another group of the environment has the same name, or another group the same id.
    UNIQUENESS_VIOLATION = 422 "uniqueness-violation";
    /// The group's parent does not exist.
    MISSING_PARENT = 422 "missing-parent";
    /// The groups would be their own ancestors.
    INHERITANCE_CYCLE = 422 "inheritance-cycle";
    /// Groups of an import have no existing parent, or the import has no root group.
    UNREACHABLE_GROUPS = 422 "unreachable-groups";
    /// The rule cannot be expressed as a query of `PuppetDB`.
    UNTRANSLATABLE_RULE = 422 "untranslatable-rule";
    /// A group with children cannot be deleted.
    CHILDREN_PRESENT = 422 "children-present";
    /// The root group cannot be deleted or moved, and its rule cannot be changed.
    ROOT_GROUP = 422 "root-group-immutable";
    /// The largest number of groups, levels or pinned nodes is exceeded.
    GROUP_LIMIT = 422 "group-limit";
    /// The groups of a node set different values; details name every value and the groups that set
    /// it.
    CLASSIFICATION_CONFLICT = 500 "classification-conflict";
    /// A puppetserver replied with something other than classes; details carry `url`, `status` and
    /// `body`.
    UNEXPECTED_RESPONSE = 500 "unexpected-response";
    /// The classes cannot be read from the puppetserver at this moment.
    CLASSES_UNAVAILABLE = 503 "classes-unavailable";
    /// The largest number of announced environments is reached.
    ENVIRONMENT_LIMIT = 422 "environment-limit";
    /// The facts of the node cannot be obtained at this moment.
    FACTS_UNAVAILABLE = 503 "facts-unavailable";
    /// The job, plan job or scheduled job does not exist.
    UNKNOWN_JOB = 404 "puppetlabs.orchestrator/unknown-job";
    /// The environment does not exist.
    UNKNOWN_ENVIRONMENT = 404 "puppetlabs.orchestrator/unknown-environment";
    /// The task does not exist in the environment.
    UNKNOWN_TASK = 404 "puppetlabs.orchestrator/unknown-task";
    /// The plan does not exist in the environment.
    UNKNOWN_PLAN = 404 "puppetlabs.orchestrator/unknown-plan";
    /// The plan's file cannot be read as a plan; details carry `file`, and `line` and `column`.
    INVALID_PLAN = 422 "bolt/invalid-plan";
    /// The task's metadata or files cannot be used; details carry `task` or `file`, and `line` and
    /// `column` or the JSON `path`.
    INVALID_TASK = 422 "puppet.tasks/invalid-task";
    /// The `environment.conf` or a file of the environment cannot be used; details carry `file`.
    INVALID_ENVIRONMENT = 422 "tutti/invalid-environment";
    /// The catalog cannot be compiled; details carry `file`, `line`, `hints` and `others`.
    CATALOG_COMPILE = 422 "tutti/catalog-compile-error";
    /// The puppetserver that compiles the catalog gives no answer.
    COMPILER_UNAVAILABLE = 503 "tutti/compiler-unavailable";
    /// The event does not exist, or belongs to another plan job.
    MISMATCHED_EVENT = 404 "puppetlabs.orchestrator/mismatched-job-event-id";
    /// The plan job has ended; start a new one.
    PLAN_FINISHED = 409 "puppetlabs.orchestrator/plan-already-finished";
    /// The plan job has not failed, so it cannot be resumed.
    PLAN_NOT_FAILED = 409 "tutti/plan-not-failed";
    /// The plan job was a noop preview, which cannot be resumed.
    PLAN_PREVIEW = 409 "tutti/plan-preview";
    /// The plan has no such step.
    UNKNOWN_STEP = 404 "tutti/unknown-step";
    /// The step does not wait for an answer.
    NOT_ASKED = 409 "tutti/not-asked";
    /// The largest number of active plans is reached.
    TOO_MANY_PLANS = 503 "tutti/too-many-plans";
    /// This server does not deploy code.
    NO_CODE_MANAGER = 404 "tutti/no-code-manager";
    /// This server is configured to deploy code but cannot at this moment: one of its directories
    /// or files cannot be used.
    CODE_UNAVAILABLE = 503 "tutti/code-unavailable";
    /// Directories of code cannot be written to, so no deployment could go live; details carry
    /// `obstacles`.
    CODE_UNWRITABLE = 503 "tutti/code-unwritable";
    /// The settings that name the control repositories cannot be used at this moment.
    CODE_SETTINGS = 409 "tutti/code-settings";
    /// The branches of a control repository cannot be listed.
    CODE_SOURCE = 502 "tutti/code-source";
    /// The deployment does not exist.
    UNKNOWN_DEPLOY = 404 "puppetlabs.code-manager/unknown-deploy";
    /// The environment has no such version, or several versions begin with these digits.
    UNKNOWN_VERSION = 404 "tutti/unknown-version";
    /// The environment is pinned to its version; details carry `environment`.
    PINNED = 409 "tutti/environment-pinned";
    /// Plans or jobs lock the environment at its version; or a deployment of it keeps a plan or job
    /// from locking it, and details carry `plans`, `jobs` and `deployments`.
    HELD = 409 "tutti/environment-held";
    /// The deployment did not reach its goal.
    DEPLOY_FAILURE = 409 "puppetlabs.code-manager/deploy-failure";
    /// The deployments did not end within the timeout; they continue.
    DEPLOY_TIMEOUT = 504 "puppetlabs.code-manager/timeout-exceeded";
    /// The type of webhook is not known; details carry the known types.
    WEBHOOK_TYPE = 400 "puppetlabs.code-manager/unrecognized-webhook-type";
    /// The body of the webhook does not have the format of the forge.
    WEBHOOK_BODY = 400 "tutti/webhook-body";
    /// The signature or secret of a webhook is wrong.
    WEBHOOK_UNSIGNED = 401 "tutti/webhook-unsigned";
    /// The delivery was already accepted before.
    WEBHOOK_REPLAYED = 409 "tutti/webhook-replayed";
    /// This server has no staging directory.
    NO_STAGING = 404 "tutti/no-staging-directory";
    /// No version that is live or staged has this content.
    UNKNOWN_CONTENT = 404 "tutti/unknown-content";
    /// The content is shorter than where the range begins; details carry `size_bytes`.
    RANGE = 416 "tutti/range-not-satisfiable";
    /// The service does not exist.
    UNKNOWN_SERVICE = 404 "puppetlabs.orchestrator/unknown-service";
    /// The route does not exist.
    NOT_FOUND = 404 "puppetlabs.orchestrator/not-found";
    /// The route exists, but with another method.
    METHOD_NOT_ALLOWED = 405 "puppetlabs.orchestrator/method-not-allowed";
    /// The body did not arrive in time.
    REQUEST_TIMEOUT = 408 "puppetlabs.orchestrator/request-timeout";
    /// The body exceeds the limit of the route.
    TOO_LARGE = 413 "puppetlabs.orchestrator/request-too-large";
    /// Too many failed logins; details carry `retry_after_seconds`.
    LOCKED_OUT = 429 "puppetlabs.rbac/too-many-failed-logins";
    /// An internal error of the server.
    UNKNOWN = 500 "puppetlabs.orchestrator/unknown-error";
    /// It is not known if the command was stored; details carry `never_starts`.
    OUTCOME_UNKNOWN = 500 "tutti/outcome-unknown";
    /// The server is shutting down or overloaded; try again.
    UNAVAILABLE = 503 "puppetlabs.orchestrator/service-unavailable";
}
