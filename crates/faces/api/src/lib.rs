//! The HTTP API of port 8143 over the engines: [`router`].
//!
//! Handlers parse a request into the types of `api-types`, call an engine, and return its answer;
//! they decide nothing. Invariants: every route of `api_types::routes` is mounted behind its policy
//! (checked by [`rbac::Rbac::authorize`]), every failure is `{kind, msg, details}`, and the ids
//! of objects are their absolute URLs.

mod absent_nodes;
mod actions;
mod audit;
mod base_url;
mod body;
mod budget;
mod caller;
mod catalogs;
mod certificates;
mod classifier;
mod code;
mod code_manager;
mod connections;
mod converge;
mod credentials;
pub mod defaults;
mod doctor;
mod environments;
mod events;
mod failure;
mod file_sync;
mod follower_status;
mod guard;
mod inventory;
mod job_specs;
mod jobs;
mod large_reply;
mod leases;
mod metrics;
mod mount;
mod multi_pass;
mod near_names;
mod node_catalogs;
mod node_purge;
mod nodes;
mod owners;
mod ping;
mod plans;
mod puppet_plans;
mod puppet_runs;
mod query;
mod rbac;
mod refusals;
mod remote_brokers;
mod request_log;
mod request_parameters;
mod root;
mod run_order;
mod run_reports;
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

pub use crate::certificates::ServerAuthority;
pub use crate::code_manager::{CodeDeploymentParts, CodeService};
pub use crate::follower_status::follower_status_router;
pub use crate::rbac::ExternalDirectories;
pub use crate::run_reports::run_report_json;
pub use crate::schedules::JobScheduler;
pub use state::{ApiState, CodeModes, ServerInfo};
pub use status::CODE_MANAGER_SERVICE;

pub(crate) use state::SharedApiContext;

use crate::mount::RouteMounter;

/// The router, to be served over HTTPS.
pub fn router(state: ApiState) -> Router {
    let scheduler = state.scheduler.clone();
    let tracer = state.info.tracer.clone();
    let shared: SharedApiContext = Arc::new(state.into());
    scheduler.bind(&shared);
    RouteMounter::new(shared)
        .mount(&routes::ROOT, root::show_root)
        .mount(&routes::ROOT_V1, root::show_root)
        .mount(&routes::ROOT_V1_SLASH, root::show_root)
        .mount(&routes::STATUS, status::orchestrator)
        .mount(&routes::SWAGGER, root::swagger)
        .mount(&routes::COMMAND_TASK, task::run)
        .mount(&routes::COMMAND_ACTION, actions::run)
        .mount(&routes::COMMAND_DEPLOY, puppet_runs::run)
        .mount(&routes::COMMAND_CONVERGE, converge::run)
        .mount(&routes::COMMAND_MULTI_PASS, multi_pass::run)
        .mount(&routes::COMMAND_STOP, stop::stop)
        .mount(&routes::COMMAND_PING, ping::ping)
        .mount(&routes::COMMAND_RELEASE_LEASES, leases::release)
        .mount(&routes::LEASES, leases::list)
        .mount(&routes::COMMAND_PLAN_RUN, plans::run::run)
        .mount(
            &routes::COMMAND_ENVIRONMENT_PLAN_RUN,
            plans::run::environment_run,
        )
        .mount(&routes::COMMAND_PLAN_RESUME, plans::running::resume)
        .mount(&routes::COMMAND_PLAN_ANSWER, plans::running::answer)
        .mount(&routes::COMMAND_PLAN_START, plans::commands::start)
        .mount(&routes::COMMAND_PLAN_TASK, plans::commands::run_plan_task)
        .mount(&routes::COMMAND_PLAN_FINISH, plans::commands::finish)
        .mount(&routes::COMMAND_STOP_PLAN, plans::running::stop)
        .mount(&routes::PLANS, plans::list)
        .mount(&routes::PLAN, plans::show)
        .mount(&routes::PLAN_JOBS, plans::jobs::list)
        .mount(&routes::PLAN_JOB, plans::jobs::show)
        .mount(&routes::PLAN_JOB_STEPS, plans::steps::list)
        .mount(&routes::PLAN_JOB_EVENTS, plans::events::list)
        .mount(&routes::PLAN_JOB_EVENT, plans::events::show)
        .mount(&routes::CODE_ENVIRONMENTS, environments::list)
        .mount(&routes::CODE_ENVIRONMENT, environments::show)
        .mount(&routes::APPLICATIONS, environments::applications)
        .mount(&routes::INSTANCES, environments::instances)
        .mount(&routes::RUN_ORDER, run_order::show)
        .mount(&routes::USAGE, usage::show)
        .mount(&routes::JOBS, jobs::list)
        .mount(&routes::JOB, jobs::show)
        .mount(&routes::JOB_NODES, nodes::list)
        .mount(&routes::JOB_REPORT, nodes::report)
        .mount(&routes::JOB_EVENTS, events::list)
        .mount(&routes::EVENTS_STREAM, stream::stream)
        .mount(&routes::TASKS, tasks::list)
        .mount(&routes::TASK, tasks::show)
        .mount(&routes::TASK_PERMITTED, tasks::show_permitted_nodes)
        .mount(&routes::INVENTORY, inventory::list)
        .mount(&routes::INVENTORY_NODE, inventory::show)
        .mount(&routes::INVENTORY_QUERY, inventory::query)
        .mount(&routes::SELECTED_NODES, selected_nodes::resolve_selection)
        .mount(&routes::AUTH_TOKEN, rbac::auth::login)
        .mount(&routes::TOKENS_REVOKE, rbac::tokens::revoke)
        .mount(&routes::TOKEN_REVOKE, rbac::tokens::revoke_one)
        .mount(&routes::TOKEN_CREATE, rbac::tokens::create)
        .mount(&routes::TOKEN_AUTHENTICATE, rbac::tokens::authenticate)
        .mount(&routes::USERS, rbac::users::list)
        .mount(&routes::USERS_V2, rbac::users::page)
        .mount(&routes::USER_CREATE, rbac::users::create)
        .mount(&routes::USER_CURRENT, rbac::users::current)
        .mount(&routes::USER_PASSWORD, rbac::passwords::change_own)
        .mount(&routes::USER, rbac::users::show)
        .mount(&routes::USER_UPDATE, rbac::users::update)
        .mount(&routes::USER_DELETE, rbac::users::delete)
        .mount(&routes::USER_TOKENS, rbac::tokens::list)
        .mount(&routes::USER_RESET, rbac::passwords::reset_token)
        .mount(&routes::AUTH_RESET, rbac::passwords::reset)
        .mount(&routes::VALIDATE_PASSWORD, rbac::passwords::validate)
        .mount(&routes::VALIDATE_LOGIN, rbac::passwords::validate_login)
        .mount(&routes::USER_ADD_ROLES, rbac::users::add_roles)
        .mount(&routes::USER_REMOVE_ROLES, rbac::users::remove_roles)
        .mount(&routes::USER_REVOKE, rbac::users::revoke)
        .mount(&routes::USER_REINSTATE, rbac::users::reinstate)
        .mount(&routes::USER_GROUPS, rbac::groups::list)
        .mount(&routes::GROUP_CREATE, rbac::groups::create)
        .mount(&routes::GROUP_CREATE_V2, rbac::groups::create)
        .mount(&routes::GROUP_COMMAND, rbac::groups::create)
        .mount(&routes::USER_GROUP, rbac::groups::show)
        .mount(&routes::USER_GROUP_UPDATE, rbac::groups::update)
        .mount(&routes::USER_GROUP_DELETE, rbac::groups::delete)
        .mount(&routes::ROLES, rbac::roles::list)
        .mount(&routes::ROLE_CREATE, rbac::roles::create)
        .mount(&routes::ROLE, rbac::roles::show)
        .mount(&routes::ROLE_UPDATE, rbac::roles::update)
        .mount(&routes::ROLE_DELETE, rbac::roles::delete)
        .mount(&routes::ROLE_ADD_USERS, rbac::members::add_users)
        .mount(&routes::ROLE_REMOVE_USERS, rbac::members::remove_users)
        .mount(&routes::ROLE_ADD_GROUPS, rbac::members::add_groups)
        .mount(&routes::ROLE_ADD_USER_GROUPS, rbac::members::add_groups)
        .mount(&routes::ROLE_REMOVE_GROUPS, rbac::members::remove_groups)
        .mount(
            &routes::ROLE_REMOVE_USER_GROUPS,
            rbac::members::remove_groups,
        )
        .mount(&routes::ROLE_ADD_PERMISSIONS, rbac::roles::add_permissions)
        .mount(
            &routes::ROLE_REMOVE_PERMISSIONS,
            rbac::roles::remove_permissions,
        )
        .mount(&routes::TYPES, rbac::permission_queries::types)
        .mount(
            &routes::PERMITTED,
            rbac::permission_queries::check_permissions,
        )
        .mount(
            &routes::PERMITTED_ON,
            rbac::permission_queries::own_instances,
        )
        .mount(
            &routes::PERMITTED_ON_OF,
            rbac::permission_queries::instances_of_user,
        )
        .mount(&routes::DISCLAIMER, rbac::settings::show)
        .mount(&routes::SET_DISCLAIMER, rbac::settings::set)
        .mount(&routes::REMOVE_DISCLAIMER, rbac::settings::remove)
        .mount(&routes::DS, rbac::directories::first_directory)
        .mount(&routes::DS_PUT, rbac::directories::put)
        .mount(&routes::DS_TEST, rbac::directories::test_first)
        .mount(&routes::DS_TEST_PUT, rbac::directories::test_candidate)
        .mount(&routes::DS_V2, rbac::directories::list)
        .mount(&routes::LDAP, rbac::directories::list)
        .mount(&routes::LDAP_ONE, rbac::directories::show)
        .mount(&routes::LDAP_CREATE, rbac::directories::create)
        .mount(&routes::LDAP_UPDATE, rbac::directories::update)
        .mount(&routes::LDAP_DELETE, rbac::directories::delete)
        .mount(&routes::LDAP_TEST, rbac::directories::test)
        .mount(&routes::OIDC_START, rbac::oidc::start)
        .mount(&routes::OIDC_FINISH, rbac::oidc::finish)
        .mount(&routes::OIDC_LOGIN, rbac::oidc::login)
        .mount(&routes::OIDC_CALLBACK, rbac::oidc::callback)
        .mount(&routes::COMMAND_TASK_TARGET, rbac::task_targets::create)
        .mount(&routes::TASK_TARGETS, rbac::task_targets::list)
        .mount(&routes::TASK_TARGET, rbac::task_targets::show)
        .mount(&routes::TASK_TARGET_DELETE, rbac::task_targets::delete)
        .mount(&routes::PDB_QUERY, query::get)
        .mount(&routes::PDB_QUERY_POST, query::post)
        .mount(&routes::PDB_ENTITY, query::get_entity)
        .mount(&routes::PDB_ENTITY_POST, query::post_entity)
        .mount(&routes::NODE_GROUPS, classifier::groups::list)
        .mount(&routes::NODE_GROUP_CREATE, classifier::groups::create)
        .mount(&routes::NODE_GROUP, classifier::groups::show)
        .mount(&routes::NODE_GROUP_PUT, classifier::groups::put)
        .mount(&routes::NODE_GROUP_UPDATE, classifier::groups::update)
        .mount(&routes::NODE_GROUP_DELETE, classifier::groups::delete)
        .mount(&routes::NODE_GROUP_PIN, classifier::rules::pin)
        .mount(&routes::NODE_GROUP_UNPIN, classifier::rules::unpin)
        .mount(&routes::NODE_GROUP_RULES, classifier::rules::show)
        .mount(&routes::NODE_GROUP_CHILDREN, classifier::groups::children)
        .mount(&routes::CLASSES, classifier::code::classes)
        .mount(&routes::ENVIRONMENTS, classifier::code::environments)
        .mount(&routes::ENVIRONMENT, classifier::code::environment)
        .mount(
            &routes::ENVIRONMENT_PUT,
            classifier::code::announce_environment,
        )
        .mount(
            &routes::ENVIRONMENT_DELETE,
            classifier::code::forget_environment,
        )
        .mount(&routes::ENVIRONMENT_CLASSES, classifier::code::classes_of)
        .mount(&routes::ENVIRONMENT_CLASS, classifier::code::class)
        .mount(&routes::UPDATE_CLASSES, classifier::code::update)
        .mount(&routes::LAST_CLASS_UPDATE, classifier::code::last_update)
        .mount(&routes::CHECK_INS, classifier::history::list)
        .mount(&routes::NODE_CHECK_INS, classifier::history::show)
        .mount(&routes::CLASSIFIED, classifier::classified::classify)
        .mount(&routes::CLASSIFIED_V2, classifier::classified::classify_v2)
        .mount(&routes::EXPLANATION, classifier::classified::explain)
        .mount(&routes::ENC, classifier::enc::show)
        .mount(
            &routes::UNPIN_FROM_ALL,
            classifier::commands::unpin_from_all,
        )
        .mount(&routes::IMPORT_HIERARCHY, classifier::commands::import)
        .mount(&routes::TRANSLATE_RULE, classifier::rules::translate)
        .mount(&routes::VALIDATE_GROUP, classifier::commands::validate)
        .mount(&routes::ACTIVITY_V1, audit::activity::v1)
        .mount(&routes::ACTIVITY_V1_CSV, audit::activity::csv_v1)
        .mount(&routes::ACTIVITY_V2, audit::activity::v2)
        .mount(&routes::ACTIVITY_V2_CSV, audit::activity::csv_v2)
        .mount(&routes::AUDIT_ENTRIES, audit::activity::entries)
        .mount(&routes::SCHEDULED_CREATE, schedules::create)
        .mount(&routes::SCHEDULED, schedules::list)
        .mount(&routes::SCHEDULED_ONE, schedules::show)
        .mount(&routes::SCHEDULED_UPDATE, schedules::update)
        .mount(&routes::SCHEDULED_OLD, schedules::list)
        .mount(&routes::SCHEDULED_DELETE, schedules::delete)
        .mount(&routes::SCHEDULE_DEPLOY, schedules::schedule_deploy)
        .mount(&routes::SCHEDULE_TASK, schedules::schedule_task)
        .mount(&routes::SCHEDULE_PLAN, schedules::schedule_plan)
        .mount(&routes::SERVICES, status::services)
        .mount(&routes::SERVICE, status::service)
        .mount(&routes::SIMPLE, status::simple)
        .mount(&routes::SIMPLE_SERVICE, status::simple_service)
        .mount(&routes::RUN_REPORTS, run_reports::list)
        .mount(&routes::RUN_REPORT, run_reports::show)
        .mount(&routes::CREATE_CONNECTION, connections::create)
        .mount(&routes::DELETE_CONNECTION, connections::delete)
        .mount(&routes::PURGE_NODE, node_purge::purge)
        .mount(&routes::CONNECTIONS, connections::list)
        .mount(&routes::CONNECTIONS_POST, connections::query)
        .mount(&routes::CERTIFICATE_STATUSES, certificates::list)
        .mount(&routes::CERTIFICATE_STATUS, certificates::show)
        .mount(&routes::CERTIFICATE_CHANGE, certificates::change)
        .mount(&routes::CERTIFICATE_CLEAN, certificates::clean)
        .mount(&routes::METRICS, metrics::metrics)
        .mount(&routes::DOCTOR, doctor::diagnose)
        .mount(&routes::CONTROLLER, remote_brokers::connect)
        .mount(&routes::CONTROLLER_SERVER, remote_brokers::connect)
        .mount(&routes::CODE_DEPLOYS, code_manager::deploy)
        .mount(&routes::CODE_STATUS, code_manager::status)
        .mount(&routes::CODE_WEBHOOK, code_manager::webhook)
        .mount(&routes::CODE_WEBHOOK_R10K, code_manager::webhook_r10k)
        .mount(&routes::CODE_WEBHOOK_MODULE, code_manager::webhook_module)
        .mount(&routes::CODE_WEBHOOK_QUEUE, code_manager::webhook_queue)
        .mount(&routes::WEBHOOK_GO_HEALTH, code_manager::webhook_health)
        .mount(&routes::CODE_HISTORY, code_manager::history)
        .mount(&routes::CODE_VERSIONS, code_manager::list)
        .mount(&routes::CODE_DIFF, code_manager::diff)
        .mount(&routes::CODE_IMPACT, catalogs::impact)
        .mount(&routes::CATALOG_COMPILE, catalogs::compile)
        .mount(&routes::NODE_CATALOG, node_catalogs::show)
        .mount(&routes::NODE_CATALOG_HISTORY, node_catalogs::history)
        .mount(&routes::CODE_ROLLBACK, code_manager::rollback)
        .mount(&routes::CODE_PROMOTE, code_manager::promote)
        .mount(&routes::CODE_PIN, code_manager::pin)
        .mount(&routes::CODE_UNPIN, code_manager::unpin)
        .mount(&routes::CODE_GC, code_manager::collect)
        .mount(&routes::CODE_VERIFY, code_manager::verify)
        .mount(&routes::FILE_SYNC_COMMIT, file_sync::publish)
        .mount(&routes::FILE_SYNC_PUBLISH, file_sync::publish)
        .mount(&routes::FILE_SYNC_FORCE, file_sync::force)
        .mount(&routes::FILE_SYNC_LATEST, file_sync::latest)
        .mount(&routes::FILE_SYNC_CHECK_IN, file_sync::check_in)
        .mount(&routes::FILE_SYNC_VERSIONS, file_sync::versions)
        .mount(&routes::FILE_SYNC_MANIFEST, file_sync::manifest)
        .mount(&routes::FILE_SYNC_BLOB, file_sync::blob)
        .mount(&routes::WEBHOOKS, webhooks::list)
        .mount(&routes::WEBHOOK_CREATE, webhooks::create)
        .mount(&routes::WEBHOOK, webhooks::show)
        .mount(&routes::WEBHOOK_EDIT, webhooks::edit)
        .mount(&routes::WEBHOOK_DELETE, webhooks::delete)
        .mount(&routes::WEBHOOK_TEST, webhooks::test)
        .finish()
        .layer(from_fn_with_state(tracer, request_log::log_request))
}
