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
    /// A name or pattern selects no node, or a short name several; nothing was done.
    UNKNOWN_NODE = 404 "tutti/unknown-node";
    /// The environment has no nodes.
    EMPTY_ENVIRONMENT = 400 "puppetlabs.orchestrator/empty-environment";
    /// `PuppetDB` does not answer.
    PUPPETDB = 400 "puppetlabs.orchestrator/puppetdb-error";
    /// A query is invalid, or may not be asked by this user, or there is nobody to ask.
    QUERY = 400 "puppetlabs.orchestrator/query-error";
    /// A scheduled job would start in the past, or never.
    INVALID_TIME = 400 "puppetlabs.orchestrator/invalid-time";
    /// The scheduled job was deleted.
    DISABLED_SCHEDULED_JOB = 400 "puppetlabs.orchestrator/disabled-scheduled-job";
    /// No token, or one that was never issued.
    UNAUTHENTICATED = 401 "puppetlabs.rbac/user-unauthenticated";
    /// The token was revoked.
    TOKEN_REVOKED = 401 "puppetlabs.rbac/token-revoked";
    /// The token was not used for too long.
    TOKEN_TIMED_OUT = 401 "puppetlabs.rbac/token-timed-out";
    /// The token's time is over.
    TOKEN_EXPIRED = 401 "puppetlabs.rbac/token-expired";
    /// The user was revoked.
    USER_REVOKED = 401 "puppetlabs.rbac/user-revoked";
    /// Programs with a certificate have no tokens.
    API_USER_LOGIN = 401 "puppetlabs.rbac/api-user-login";
    /// The directory names a user as one of this server is named.
    REMOTE_USER_CONFLICT = 401 "puppetlabs.rbac/remote-user-conflict";
    /// The body of a request about users and roles is no JSON.
    RBAC_MALFORMED = 400 "puppetlabs.rbac/malformed-request";
    /// Such a body has not the right shape; details carry `submitted`, `schema` and `error`.
    RBAC_SCHEMA = 400 "puppetlabs.rbac/schema-violation";
    /// The id in the body is not the one in the path.
    INCONSISTENT_ID = 400 "puppetlabs.rbac/inconsistent-id";
    /// A list of ids that is none.
    INVALID_ID_FILTER = 400 "puppetlabs.rbac/invalid-id-filter";
    /// Not a UUID.
    INVALID_UUID = 400 "puppetlabs.rbac/invalid-uuid";
    /// What was given as a token is none.
    INVALID_TOKEN = 400 "puppetlabs.rbac/invalid-token";
    /// The user lacks the permission to change users, roles or tokens, or would hand on a right
    /// that he lacks.
    PERMISSION_DENIED = 403 "puppetlabs.rbac/permission-denied";
    /// The first users cannot be changed.
    ADMIN_IMMUTABLE = 403 "puppetlabs.rbac/admin-user-immutable";
    /// Of the default roles, only members can be changed.
    DEFAULT_ROLES_IMMUTABLE = 403 "puppetlabs.rbac/default-roles-immutable";
    /// No such user, group, role or token.
    RBAC_NOT_FOUND = 404 "puppetlabs.rbac/not-found";
    /// No such task target.
    UNKNOWN_TASK_TARGET = 404 "puppetlabs.orchestrator/unknown-task-target";
    /// Roles name the task target; details carry `roles`.
    TASK_TARGET_IN_USE = 409 "tutti/task-target-in-use";
    /// As many task targets as there may be.
    TOO_MANY_TASK_TARGETS = 409 "tutti/too-many-task-targets";
    /// Nodes have a connection already; details carry `certnames`.
    DUPLICATE_CERTNAMES = 409 "puppetlabs.inventory/duplicate-certnames";
    /// Some of the nodes have agents; details name them.
    KNOWN_AGENTS = 409 "tutti/known-agents";
    /// No such webhook.
    UNKNOWN_WEBHOOK = 404 "tutti/unknown-webhook";
    /// This server is no certificate authority.
    NO_CERTIFICATE_AUTHORITY = 404 "tutti/no-certificate-authority";
    /// There is neither a request nor a certificate of this name.
    UNKNOWN_CERTIFICATE = 404 "tutti/unknown-certificate";
    /// The authority does not do it: the name has a certificate, or the request asks for more than is allowed.
    CERTIFICATE_REFUSED = 409 "tutti/certificate-refused";
    /// As many webhooks as there may be.
    TOO_MANY_WEBHOOKS = 409 "tutti/too-many-webhooks";
    /// What is asked for exists in Puppet Enterprise and not here.
    NOT_SUPPORTED = 400 "tutti/not-supported";
    /// The name is taken.
    CONFLICT = 409 "puppetlabs.rbac/conflict";
    /// What the request refers to does not exist.
    INVALID_ASSOCIATED_ID = 422 "puppetlabs.rbac/invalid-associated-id";
    /// The directory has no such user.
    NO_SUCH_USER_LDAP = 422 "puppetlabs.rbac/no-such-user-LDAP";
    /// The directory has no such group.
    NO_SUCH_GROUP_LDAP = 422 "puppetlabs.rbac/no-such-group-LDAP";
    /// The directory has two users with one login.
    NON_UNIQUE_LOOKUP_ATTR = 422 "puppetlabs.rbac/non-unique-lookup-attr";
    /// A directory does not answer.
    DIRECTORY_UNAVAILABLE = 503 "puppetlabs.rbac/directory-unavailable";
    /// The user lacks the permission; also for the task on those nodes.
    NOT_PERMITTED = 403 "puppetlabs.orchestrator/not-permitted";
    /// A body about node groups or nodes that is no JSON.
    MALFORMED_REQUEST = 400 "malformed-request";
    /// A body about node groups or nodes that has not the right shape; details say where.
    SCHEMA_VIOLATION = 400 "schema-violation";
    /// A group's id that is no UUID.
    MALFORMED_UUID = 400 "malformed-uuid";
    /// A `depth`, `limit` or `offset` that is no number.
    MALFORMED_NUMBER = 400 "malformed-number";
    /// A `depth`, `limit` or `offset` that is no count.
    ILLEGAL_COUNT = 400 "illegal-count";
    /// No nodes were named.
    MISSING_PARAMETERS = 400 "missing-parameters";
    /// The group's id in the body is not the one of the address.
    CONFLICTING_IDS = 400 "conflicting-ids";
    /// No such group, class, environment or node.
    CLASSIFIER_NOT_FOUND = 404 "not-found";
    /// The group was edited by somebody else.
    SERIAL_NUMBER_CONFLICT = 409 "serial-number-conflict";
    /// A group's name is taken in its environment.
    UNIQUENESS_VIOLATION = 422 "uniqueness-violation";
    /// The group's parent does not exist.
    MISSING_PARENT = 422 "missing-parent";
    /// Groups would be their own ancestors.
    INHERITANCE_CYCLE = 422 "inheritance-cycle";
    /// Groups of an import hang on no parent, or have no root.
    UNREACHABLE_GROUPS = 422 "unreachable-groups";
    /// A rule that PuppetDB cannot be asked.
    UNTRANSLATABLE_RULE = 422 "untranslatable-rule";
    /// A group with children cannot be deleted.
    CHILDREN_PRESENT = 422 "children-present";
    /// The root's rule and place are fixed.
    ROOT_GROUP = 422 "root-group-immutable";
    /// More groups, levels or pinned nodes than there can be.
    GROUP_LIMIT = 422 "group-limit";
    /// The groups of a node do not agree; details name every value and who wants it.
    CLASSIFICATION_CONFLICT = 500 "classification-conflict";
    /// A puppetserver answered, but not with classes; details carry `url`, `status` and `body`.
    UNEXPECTED_RESPONSE = 500 "unexpected-response";
    /// The puppetserver cannot be asked for classes now.
    CLASSES_UNAVAILABLE = 503 "classes-unavailable";
    /// As many environments were announced as may be.
    ENVIRONMENT_LIMIT = 422 "environment-limit";
    /// Nobody can be asked for the facts of a node now.
    FACTS_UNAVAILABLE = 503 "facts-unavailable";
    /// No such job.
    UNKNOWN_JOB = 404 "puppetlabs.orchestrator/unknown-job";
    /// No such environment.
    UNKNOWN_ENVIRONMENT = 404 "puppetlabs.orchestrator/unknown-environment";
    /// No such task in the environment.
    UNKNOWN_TASK = 404 "puppetlabs.orchestrator/unknown-task";
    /// No such plan in the environment.
    UNKNOWN_PLAN = 404 "puppetlabs.orchestrator/unknown-plan";
    /// The plan's file cannot be read as a plan; details carry `file`, and `line` and `column`.
    INVALID_PLAN = 422 "bolt/invalid-plan";
    /// The task's metadata or files cannot be used; details carry `task` or `file`, and `line` and `column` or the
    /// JSON `path`.
    INVALID_TASK = 422 "puppet.tasks/invalid-task";
    /// The `environment.conf` or a file of the environment cannot be used; details carry `file`.
    INVALID_ENVIRONMENT = 422 "tutti/invalid-environment";
    /// The event is not of that plan job, or there is none.
    MISMATCHED_EVENT = 404 "puppetlabs.orchestrator/mismatched-job-event-id";
    /// The plan job is over; start a new one.
    PLAN_FINISHED = 409 "puppetlabs.orchestrator/plan-already-finished";
    /// The plan job has not failed, so it cannot go on.
    PLAN_NOT_FAILED = 409 "tutti/plan-not-failed";
    /// The plan job is a preview, which does not go on.
    PLAN_PREVIEW = 409 "tutti/plan-preview";
    /// The plan has taken no such step.
    UNKNOWN_STEP = 404 "tutti/unknown-step";
    /// The step waits for no answer.
    NOT_ASKED = 409 "tutti/not-asked";
    /// As many plans as may be are not over.
    TOO_MANY_PLANS = 503 "tutti/too-many-plans";
    /// This server deploys no code.
    NO_CODE_MANAGER = 404 "tutti/no-code-manager";
    /// This server is to deploy code and cannot at this moment: a directory or a file of it cannot be used.
    CODE_UNAVAILABLE = 503 "tutti/code-unavailable";
    /// Directories of code cannot be written to, so no deployment could go live; details carry `obstacles`.
    CODE_UNWRITABLE = 503 "tutti/code-unwritable";
    /// The settings that name the control repositories cannot be used at this moment.
    CODE_SETTINGS = 409 "tutti/code-settings";
    /// A control repository cannot be asked for its branches.
    CODE_SOURCE = 502 "tutti/code-source";
    /// No such deployment.
    UNKNOWN_DEPLOY = 404 "puppetlabs.code-manager/unknown-deploy";
    /// No such version of an environment, or more than one begins with these digits.
    UNKNOWN_VERSION = 404 "tutti/unknown-version";
    /// The environment stays with its version; details carry `environment`.
    PINNED = 409 "tutti/environment-pinned";
    /// Plans work with the environment, and want it to stay; or a deployment waits for such plans, and the plan
    /// for the deployment. Details carry `plans` and `deployments`.
    HELD = 409 "tutti/environment-held";
    /// The deployment did not do what was asked for.
    DEPLOY_FAILURE = 409 "puppetlabs.code-manager/deploy-failure";
    /// Deployments are not over in time; they go on.
    DEPLOY_TIMEOUT = 504 "puppetlabs.code-manager/timeout-exceeded";
    /// Nobody knows this type of webhook; details carry the types.
    WEBHOOK_TYPE = 400 "puppetlabs.code-manager/unrecognized-webhook-type";
    /// The body of a webhook is not what such a forge sends.
    WEBHOOK_BODY = 400 "tutti/webhook-body";
    /// The signature or secret of a webhook is wrong.
    WEBHOOK_UNSIGNED = 401 "tutti/webhook-unsigned";
    /// The same delivery was taken before.
    WEBHOOK_REPLAYED = 409 "tutti/webhook-replayed";
    /// This server has no staging directory.
    NO_STAGING = 404 "tutti/no-staging-directory";
    /// No version that is live or about to be has this content.
    UNKNOWN_CONTENT = 404 "tutti/unknown-content";
    /// The content is shorter than where the range begins; details carry `size_bytes`.
    RANGE = 416 "tutti/range-not-satisfiable";
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
    /// Whether the command was kept is not known; details carry `never_starts`.
    OUTCOME_UNKNOWN = 500 "tutti/outcome-unknown";
    /// The server is on its way down, or too busy; try again.
    UNAVAILABLE = 503 "puppetlabs.orchestrator/service-unavailable";
}
