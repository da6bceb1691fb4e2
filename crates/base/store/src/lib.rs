//! Durable state: jobs, runs, events, users and tokens, on SQLite or PostgreSQL.
//!
//! [`Store`] is the handle. Invariants:
//! - an acknowledged write is on the disk; every write goes through one group-commit writer;
//! - a terminal state never changes, whatever a caller requests (the guard is in the SQL);
//! - job numbers are contiguous and ascending, event ids ascending; neither is ever used again.
//!
//! The interface of the crate consists of rows, independent of the engine: states are names, JSON
//! is text, times are milliseconds.

mod access_settings;
mod agent_catalogs;
mod agents;
mod audit;
mod audit_row;
mod batch;
mod change;
mod check_ins;
mod classifier_environments;
mod clock;
mod code_deploys;
mod code_followers;
mod code_pins;
mod config;
mod connected_nodes;
mod connections;
mod database_survey;
pub mod defaults;
mod error;
mod events;
mod exported_resources;
mod groups;
mod history;
mod history_mark;
mod inventory;
mod job_order;
mod jobs;
mod ledger;
mod migrations;
mod node_groups;
mod number;
mod older_history;
mod page;
mod passwords;
mod plan_events;
mod plan_jobs;
mod plan_journal;
mod plan_runs;
mod plan_step_list;
mod plan_step_row;
mod postgres;
mod produced_capabilities;
mod prune;
mod puppet_run_events;
mod puppetdb_commands;
mod report_processing;
mod request;
mod roles;
mod rows;
mod run_names;
mod run_reports;
mod run_secrets;
mod runs;
mod schedule_row;
mod schedule_slots;
mod schedules;
mod sqlite;
mod state_progress;
mod statement;
mod store;
mod task_targets;
mod tokens;
mod usage;
mod user_origins;
mod users;
mod value;
mod webhooks;
mod write;
mod writing;

pub use agent_catalogs::{
    AgentCatalogBounds, AgentCatalogChange, AgentCatalogRow, CatalogCompilationRow,
};
pub use audit::AuditFilter;
pub use audit_row::{AuditRow, NewAudit};
pub use change::{
    BatchChange, ChangeResult, DetailsChange, EventChange, JobChange, JobRunChange, RunChange,
};
pub use check_ins::CheckInRow;
pub use clock::{Clock, SystemClock, now_ms};
pub use code_deploys::{CodeDeployEnd, CodeDeployRow, NewCodeDeploy};
pub use code_followers::{CodeFollowerRow, CodeGenerationRow};
pub use code_pins::CodePinRow;
pub use config::StoreConfig;
pub use connections::ConnectionRow;
pub use database_survey::{ConnectionEncryption, DatabaseSurvey, IntegrityCheck, SchemaState};
pub use error::{HistoryFileError, OpenStoreError, SharedCause, StoreError};
pub use events::EventRow;
pub use exported_resources::{ExportedPage, ExportedPageBounds, ExportedTypeRow, ExportingNodeRow};
pub use groups::GroupRow;
pub use history_mark::{HistoryMark, OlderHistory};
pub use inventory::{InventoryFacts, InventoryNodeRow, InventoryReportRow, InventoryReportWrite};
pub use job_order::JobOrder;
pub use jobs::{
    BatchStateRow, JobListFilter, JobRow, JobStateRow, OpenDeployRow, RolloutRow, UnfinishedJob,
};
pub use migrations::MigrateError;
pub use node_groups::NodeGroupRow;
pub use number::{InvalidJobNumber, JobNumber};
pub use older_history::AcceptedHistory;
pub use page::ListPage;
pub use passwords::PasswordResetRow;
pub use plan_events::PlanEventRow;
pub use plan_jobs::{
    NewPlanJob, PlanJobFilter, PlanJobRow, PlanOutcome, PlanStepState, RunningPlanRow,
};
pub use plan_journal::PlanAnswer;
pub use plan_runs::PlanRunRow;
pub use plan_step_list::{PlanQuestionRow, PlanStepListRow};
pub use plan_step_row::{AwaitedAnswer, NewPlanStep, PlanStepEnd, PlanStepKey, PlanStepRow};
pub use produced_capabilities::{CapabilityOfNodeRow, ProducedCapabilityRow};
pub use prune::PrunedRows;
pub use puppet_run_events::{NewPuppetRunEvent, PuppetRunEventRow};
pub use puppetdb_commands::{PuppetDbCommandRow, PuppetDbQueueSize};
pub use report_processing::ReportProcessingRow;
pub use roles::{GrantRow, RoleRow};
pub use run_names::{RunFilter, RunListOrder};
pub use run_reports::{RunReportDetailRow, RunReportFilter, RunReportRow, RunReportWrite};
pub use run_secrets::RunSecret;
pub use runs::RunRow;
pub use schedule_row::{
    LaunchedJob, NewSchedule, ScheduleEdit, ScheduleProgress, ScheduleRow, SlotRow,
};
pub use schedule_slots::{OpenSlot, SlotClaim};
pub use schedules::{ScheduleFilter, ScheduleOrder};
pub use store::Store;
pub use task_targets::TaskTargetRow;
pub use tokens::{NewTokenRow, TokenRow};
pub use usage::UsageRow;
pub use user_origins::{UncheckedUser, UserOrigin};
pub use users::{NewUserRow, UserChange, UserRow};
pub use webhooks::{WebhookChange, WebhookProgress, WebhookRow};
pub use writing::audit::{AUDIT_VERSION, AuditPosition};
pub use writing::events::NewEvent;
pub use writing::jobs::NewJob;
pub use writing::plan_events::NewPlanEvent;
pub use writing::plan_journal::{PlanChange, PlanJournalWrite};
pub use writing::runs::NewRun;
pub use writing::slots::SlotKey;

/// Every SQL text of the crate, for the test that prepares each one on both engines.
#[doc(hidden)]
pub fn every_statement() -> Vec<&'static str> {
    [
        jobs::STATEMENTS,
        puppet_run_events::STATEMENTS,
        puppetdb_commands::STATEMENTS,
        report_processing::STATEMENTS,
        run_names::STATEMENTS,
        run_reports::STATEMENTS,
        run_secrets::STATEMENTS,
        runs::STATEMENTS,
        events::STATEMENTS,
        exported_resources::STATEMENTS,
        produced_capabilities::STATEMENTS,
        inventory::STATEMENTS,
        usage::STATEMENTS,
        users::STATEMENTS,
        user_origins::STATEMENTS,
        tokens::STATEMENTS,
        node_groups::STATEMENTS,
        check_ins::STATEMENTS,
        classifier_environments::STATEMENTS,
        code_deploys::STATEMENTS,
        code_followers::STATEMENTS,
        code_pins::STATEMENTS,
        connections::STATEMENTS,
        passwords::STATEMENTS,
        plan_events::STATEMENTS,
        plan_jobs::STATEMENTS,
        plan_journal::STATEMENTS,
        plan_runs::STATEMENTS,
        plan_step_list::STATEMENTS,
        roles::STATEMENTS,
        groups::STATEMENTS,
        task_targets::STATEMENTS,
        access_settings::STATEMENTS,
        agent_catalogs::STATEMENTS,
        agents::STATEMENTS,
        connected_nodes::STATEMENTS,
        audit::STATEMENTS,
        prune::STATEMENTS,
        schedules::STATEMENTS,
        schedule_slots::STATEMENTS,
        ledger::STATEMENTS,
        writing::audit::STATEMENTS,
        writing::history::STATEMENTS,
        writing::jobs::STATEMENTS,
        writing::plan_events::STATEMENTS,
        writing::plan_journal::STATEMENTS,
        writing::plan_steps::STATEMENTS,
        writing::runs::STATEMENTS,
        writing::slots::STATEMENTS,
        webhooks::STATEMENTS,
        writing::events::STATEMENTS,
    ]
    .concat()
}
