//! Plans in the Puppet language and in YAML: programs for the durable engine of `plans`, evaluated
//! by `evaluator`.
//!
//! - [`PuppetPlans`] creates the program of a plan.
//! - [`PlanServices`] holds the services that plans use, such as code and node queries.
//! - [`plan_value_from_rich_json`] reads variables of plans that run on other servers.
//! - `host` connects an evaluation with the branch in which it runs, and `evaluation_host` with the
//!   evaluator; `functions` are the plan functions by name, `objects` the objects that they return.
//!
//! Invariant: everything that a plan reads or does is a step of its branch, so that a repeated
//! evaluation has the same result; and code that a plan has read once never changes for that plan.

mod code;
mod data;
pub mod defaults;
mod error_object;
mod evaluation_host;
mod failure;
mod functions;
mod global_layer;
mod host;
mod json;
mod objects;
mod preview;
mod program;
mod run;
mod task_name;
mod tree;
mod types;
mod unwrapped_secrets;
mod world;
mod yaml;

pub use functions::{function_docs, function_specs};
pub use objects::plan_value_from_rich_json;
pub use program::PuppetPlans;
pub use world::{
    ApplyCompiler, ApplyEnvironment, NodeQueries, NodesError, PlanOwner, PlanServices,
};
