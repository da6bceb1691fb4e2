//! The HTTP API of port 8143 over the engines: [`router`].
//!
//! Handlers parse a request into the types of `api-types`, call an engine, and return its answer;
//! they decide nothing. Invariants: every route of `api_types::routes` is mounted behind its policy
//! (checked by [`rbac::Rbac::authorize`]), every failure is `{kind, msg, details}`, and the ids
//! of objects are their absolute URLs.

mod actions;
mod audit;
mod base;
mod body;
mod budget;
mod certificates;
mod classifier;
mod code;
mod code_manager;
mod connections;
mod controller;
pub mod defaults;
mod doctor;
mod environments;
mod events;
mod failure;
mod file_sync;
mod following;
mod guard;
mod inventory;
mod jobs;
mod metrics;
mod mount;
mod near_names;
mod nodes;
mod observe;
mod owners;
mod ping;
mod plans;
mod puppet_runs;
mod query;
mod rbac;
mod refusals;
mod request_parameters;
mod root;
mod schedules;
mod scope;
mod selected_nodes;
mod state;
mod status;
mod stop;
mod stream;
mod task;
mod task_rights;
mod tasks;
mod traces;
mod usage;
mod webhooks;

use std::sync::Arc;

use api_types::routes;
use axum::Router;
use axum::middleware::from_fn_with_state;

pub use crate::certificates::Certificates;
pub use crate::code_manager::{CodeService, StartedCode};
pub use crate::following::following;
pub use crate::rbac::ExternalDirectories;
pub use crate::schedules::JobScheduler;
pub use state::{ApiState, CodeModes, MetricsSource, ServerInfo};
pub use status::CODE_MANAGER_SERVICE;

pub(crate) use state::Shared;

use crate::mount::Mount;

/// The router, to be served over HTTPS.
pub fn router(state: ApiState) -> Router {
    let scheduler = state.scheduler.clone();
    let tracer = state.info.tracer.clone();
    let shared: Shared = Arc::new(state.into());
    scheduler.bind(&shared);
    Mount::new(shared)
        .on(&routes::ROOT, root::root)
        .on(&routes::ROOT_V1, root::root)
        .on(&routes::ROOT_V1_SLASH, root::root)
        .on(&routes::STATUS, status::orchestrator)
        .on(&routes::SWAGGER, root::swagger)
        .on(&routes::COMMAND_TASK, task::run)
        .on(&routes::COMMAND_ACTION, actions::run)
        .on(&routes::COMMAND_DEPLOY, puppet_runs::run)
        .on(&routes::COMMAND_STOP, stop::stop)
        .on(&routes::COMMAND_PING, ping::ping)
        .on(&routes::COMMAND_PLAN_RUN, plans::run::run)
        .on(
            &routes::COMMAND_ENVIRONMENT_PLAN_RUN,
            plans::run::environment_run,
        )
        .on(&routes::COMMAND_PLAN_RESUME, plans::running::resume)
        .on(&routes::COMMAND_PLAN_ANSWER, plans::running::answer)
        .on(&routes::COMMAND_PLAN_START, plans::commands::start)
        .on(&routes::COMMAND_PLAN_TASK, plans::commands::task)
        .on(&routes::COMMAND_PLAN_FINISH, plans::commands::finish)
        .on(&routes::COMMAND_STOP_PLAN, plans::running::stop)
        .on(&routes::PLANS, plans::list)
        .on(&routes::PLAN, plans::show)
        .on(&routes::PLAN_JOBS, plans::jobs::list)
        .on(&routes::PLAN_JOB, plans::jobs::show)
        .on(&routes::PLAN_JOB_STEPS, plans::steps::list)
        .on(&routes::PLAN_JOB_EVENTS, plans::events::list)
        .on(&routes::PLAN_JOB_EVENT, plans::events::show)
        .on(&routes::CODE_ENVIRONMENTS, environments::list)
        .on(&routes::CODE_ENVIRONMENT, environments::show)
        .on(&routes::APPLICATIONS, environments::applications)
        .on(&routes::INSTANCES, environments::instances)
        .on(&routes::USAGE, usage::show)
        .on(&routes::JOBS, jobs::list)
        .on(&routes::JOB, jobs::show)
        .on(&routes::JOB_NODES, nodes::list)
        .on(&routes::JOB_REPORT, nodes::report)
        .on(&routes::JOB_EVENTS, events::list)
        .on(&routes::EVENTS_STREAM, stream::stream)
        .on(&routes::TASKS, tasks::list)
        .on(&routes::TASK, tasks::show)
        .on(&routes::TASK_PERMITTED, tasks::permitted)
        .on(&routes::INVENTORY, inventory::list)
        .on(&routes::INVENTORY_NODE, inventory::show)
        .on(&routes::INVENTORY_QUERY, inventory::query)
        .on(&routes::SELECTED_NODES, selected_nodes::select)
        .on(&routes::AUTH_TOKEN, rbac::auth::login)
        .on(&routes::TOKENS_REVOKE, rbac::tokens::revoke)
        .on(&routes::TOKEN_REVOKE, rbac::tokens::revoke_one)
        .on(&routes::TOKEN_CREATE, rbac::tokens::create)
        .on(&routes::TOKEN_AUTHENTICATE, rbac::tokens::authenticate)
        .on(&routes::USERS, rbac::users::list)
        .on(&routes::USERS_V2, rbac::users::page)
        .on(&routes::USER_CREATE, rbac::users::create)
        .on(&routes::USER_CURRENT, rbac::users::current)
        .on(&routes::USER_PASSWORD, rbac::passwords::own)
        .on(&routes::USER, rbac::users::show)
        .on(&routes::USER_UPDATE, rbac::users::update)
        .on(&routes::USER_DELETE, rbac::users::delete)
        .on(&routes::USER_TOKENS, rbac::tokens::list)
        .on(&routes::USER_RESET, rbac::passwords::reset_token)
        .on(&routes::AUTH_RESET, rbac::passwords::reset)
        .on(&routes::VALIDATE_PASSWORD, rbac::passwords::validate)
        .on(&routes::VALIDATE_LOGIN, rbac::passwords::validate_login)
        .on(&routes::USER_ADD_ROLES, rbac::users::add_roles)
        .on(&routes::USER_REMOVE_ROLES, rbac::users::remove_roles)
        .on(&routes::USER_REVOKE, rbac::users::revoke)
        .on(&routes::USER_REINSTATE, rbac::users::reinstate)
        .on(&routes::USER_GROUPS, rbac::groups::list)
        .on(&routes::GROUP_CREATE, rbac::groups::create)
        .on(&routes::GROUP_CREATE_V2, rbac::groups::create)
        .on(&routes::GROUP_COMMAND, rbac::groups::create)
        .on(&routes::USER_GROUP, rbac::groups::show)
        .on(&routes::USER_GROUP_UPDATE, rbac::groups::update)
        .on(&routes::USER_GROUP_DELETE, rbac::groups::delete)
        .on(&routes::ROLES, rbac::roles::list)
        .on(&routes::ROLE_CREATE, rbac::roles::create)
        .on(&routes::ROLE, rbac::roles::show)
        .on(&routes::ROLE_UPDATE, rbac::roles::update)
        .on(&routes::ROLE_DELETE, rbac::roles::delete)
        .on(&routes::ROLE_ADD_USERS, rbac::members::add_users)
        .on(&routes::ROLE_REMOVE_USERS, rbac::members::remove_users)
        .on(&routes::ROLE_ADD_GROUPS, rbac::members::add_groups)
        .on(&routes::ROLE_ADD_USER_GROUPS, rbac::members::add_groups)
        .on(&routes::ROLE_REMOVE_GROUPS, rbac::members::remove_groups)
        .on(
            &routes::ROLE_REMOVE_USER_GROUPS,
            rbac::members::remove_groups,
        )
        .on(&routes::ROLE_ADD_PERMISSIONS, rbac::roles::add_permissions)
        .on(
            &routes::ROLE_REMOVE_PERMISSIONS,
            rbac::roles::remove_permissions,
        )
        .on(&routes::TYPES, rbac::permitted::types)
        .on(&routes::PERMITTED, rbac::permitted::ask)
        .on(&routes::PERMITTED_ON, rbac::permitted::on)
        .on(&routes::PERMITTED_ON_OF, rbac::permitted::on_of)
        .on(&routes::DISCLAIMER, rbac::settings::show)
        .on(&routes::SET_DISCLAIMER, rbac::settings::set)
        .on(&routes::REMOVE_DISCLAIMER, rbac::settings::remove)
        .on(&routes::DS, rbac::directories::first)
        .on(&routes::DS_PUT, rbac::directories::put)
        .on(&routes::DS_TEST, rbac::directories::test_first)
        .on(&routes::DS_TEST_PUT, rbac::directories::test_given)
        .on(&routes::DS_V2, rbac::directories::list)
        .on(&routes::LDAP, rbac::directories::list)
        .on(&routes::LDAP_ONE, rbac::directories::show)
        .on(&routes::LDAP_CREATE, rbac::directories::create)
        .on(&routes::LDAP_UPDATE, rbac::directories::update)
        .on(&routes::LDAP_DELETE, rbac::directories::delete)
        .on(&routes::LDAP_TEST, rbac::directories::test)
        .on(&routes::OIDC_START, rbac::oidc::start)
        .on(&routes::OIDC_FINISH, rbac::oidc::finish)
        .on(&routes::OIDC_LOGIN, rbac::oidc::login)
        .on(&routes::OIDC_CALLBACK, rbac::oidc::callback)
        .on(&routes::COMMAND_TASK_TARGET, rbac::task_targets::create)
        .on(&routes::TASK_TARGETS, rbac::task_targets::list)
        .on(&routes::TASK_TARGET, rbac::task_targets::show)
        .on(&routes::TASK_TARGET_DELETE, rbac::task_targets::delete)
        .on(&routes::PDB_QUERY, query::get)
        .on(&routes::PDB_QUERY_POST, query::post)
        .on(&routes::PDB_ENTITY, query::get_entity)
        .on(&routes::PDB_ENTITY_POST, query::post_entity)
        .on(&routes::NODE_GROUPS, classifier::groups::list)
        .on(&routes::NODE_GROUP_CREATE, classifier::groups::create)
        .on(&routes::NODE_GROUP, classifier::groups::show)
        .on(&routes::NODE_GROUP_PUT, classifier::groups::put)
        .on(&routes::NODE_GROUP_UPDATE, classifier::groups::update)
        .on(&routes::NODE_GROUP_DELETE, classifier::groups::delete)
        .on(&routes::NODE_GROUP_PIN, classifier::rules::pin)
        .on(&routes::NODE_GROUP_UNPIN, classifier::rules::unpin)
        .on(&routes::NODE_GROUP_RULES, classifier::rules::show)
        .on(&routes::NODE_GROUP_CHILDREN, classifier::groups::children)
        .on(&routes::CLASSES, classifier::code::classes)
        .on(&routes::ENVIRONMENTS, classifier::code::environments)
        .on(&routes::ENVIRONMENT, classifier::code::environment)
        .on(&routes::ENVIRONMENT_PUT, classifier::code::announce)
        .on(&routes::ENVIRONMENT_DELETE, classifier::code::forget)
        .on(&routes::ENVIRONMENT_CLASSES, classifier::code::classes_of)
        .on(&routes::ENVIRONMENT_CLASS, classifier::code::class)
        .on(&routes::UPDATE_CLASSES, classifier::code::update)
        .on(&routes::LAST_CLASS_UPDATE, classifier::code::last_update)
        .on(&routes::CHECK_INS, classifier::history::list)
        .on(&routes::NODE_CHECK_INS, classifier::history::show)
        .on(&routes::CLASSIFIED, classifier::classified::classify)
        .on(&routes::CLASSIFIED_V2, classifier::classified::classify_v2)
        .on(&routes::EXPLANATION, classifier::classified::explain)
        .on(&routes::ENC, classifier::enc::show)
        .on(
            &routes::UNPIN_FROM_ALL,
            classifier::commands::unpin_from_all,
        )
        .on(&routes::IMPORT_HIERARCHY, classifier::commands::import)
        .on(&routes::TRANSLATE_RULE, classifier::rules::translate)
        .on(&routes::VALIDATE_GROUP, classifier::commands::validate)
        .on(&routes::ACTIVITY_V1, audit::activity::v1)
        .on(&routes::ACTIVITY_V1_CSV, audit::activity::csv_v1)
        .on(&routes::ACTIVITY_V2, audit::activity::v2)
        .on(&routes::ACTIVITY_V2_CSV, audit::activity::csv_v2)
        .on(&routes::AUDIT_ENTRIES, audit::activity::entries)
        .on(&routes::SCHEDULED_CREATE, schedules::create)
        .on(&routes::SCHEDULED, schedules::list)
        .on(&routes::SCHEDULED_ONE, schedules::show)
        .on(&routes::SCHEDULED_UPDATE, schedules::update)
        .on(&routes::SCHEDULED_OLD, schedules::list)
        .on(&routes::SCHEDULED_DELETE, schedules::delete)
        .on(&routes::SCHEDULE_DEPLOY, schedules::schedule_deploy)
        .on(&routes::SCHEDULE_TASK, schedules::schedule_task)
        .on(&routes::SCHEDULE_PLAN, schedules::schedule_plan)
        .on(&routes::SERVICES, status::services)
        .on(&routes::SERVICE, status::service)
        .on(&routes::SIMPLE, status::simple)
        .on(&routes::SIMPLE_SERVICE, status::simple_service)
        .on(&routes::CREATE_CONNECTION, connections::create)
        .on(&routes::DELETE_CONNECTION, connections::delete)
        .on(&routes::CONNECTIONS, connections::list)
        .on(&routes::CONNECTIONS_POST, connections::query)
        .on(&routes::CERTIFICATE_STATUSES, certificates::list)
        .on(&routes::CERTIFICATE_STATUS, certificates::show)
        .on(&routes::CERTIFICATE_CHANGE, certificates::change)
        .on(&routes::CERTIFICATE_CLEAN, certificates::clean)
        .on(&routes::METRICS, metrics::metrics)
        .on(&routes::DOCTOR, doctor::diagnose)
        .on(&routes::CONTROLLER, controller::connect)
        .on(&routes::CONTROLLER_SERVER, controller::connect)
        .on(&routes::CODE_DEPLOYS, code_manager::deploy)
        .on(&routes::CODE_STATUS, code_manager::status)
        .on(&routes::CODE_WEBHOOK, code_manager::webhook)
        .on(&routes::CODE_WEBHOOK_R10K, code_manager::webhook_r10k)
        .on(&routes::CODE_WEBHOOK_MODULE, code_manager::webhook_module)
        .on(&routes::CODE_WEBHOOK_QUEUE, code_manager::webhook_queue)
        .on(&routes::WEBHOOK_GO_HEALTH, code_manager::webhook_health)
        .on(&routes::CODE_HISTORY, code_manager::history)
        .on(&routes::CODE_VERSIONS, code_manager::list)
        .on(&routes::CODE_DIFF, code_manager::diff)
        .on(&routes::CODE_ROLLBACK, code_manager::rollback)
        .on(&routes::CODE_PROMOTE, code_manager::promote)
        .on(&routes::CODE_PIN, code_manager::pin)
        .on(&routes::CODE_UNPIN, code_manager::unpin)
        .on(&routes::CODE_GC, code_manager::collect)
        .on(&routes::CODE_VERIFY, code_manager::verify)
        .on(&routes::FILE_SYNC_COMMIT, file_sync::publish)
        .on(&routes::FILE_SYNC_PUBLISH, file_sync::publish)
        .on(&routes::FILE_SYNC_FORCE, file_sync::force)
        .on(&routes::FILE_SYNC_LATEST, file_sync::latest)
        .on(&routes::FILE_SYNC_CHECK_IN, file_sync::check_in)
        .on(&routes::FILE_SYNC_VERSIONS, file_sync::versions)
        .on(&routes::FILE_SYNC_MANIFEST, file_sync::manifest)
        .on(&routes::FILE_SYNC_BLOB, file_sync::blob)
        .on(&routes::WEBHOOKS, webhooks::list)
        .on(&routes::WEBHOOK_CREATE, webhooks::create)
        .on(&routes::WEBHOOK, webhooks::show)
        .on(&routes::WEBHOOK_EDIT, webhooks::edit)
        .on(&routes::WEBHOOK_DELETE, webhooks::delete)
        .on(&routes::WEBHOOK_TEST, webhooks::test)
        .finish()
        .layer(from_fn_with_state(tracer, observe::observe))
}
