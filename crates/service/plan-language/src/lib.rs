//! Plans in the Puppet language: programs for the durable engine of `plans`, evaluated by `evaluator`.
//!
//! - [`PuppetPlans`] makes the program of a plan; it reads code from [`PlanServices`].
//! - [`PlanServices`] is what plans reach: code, nodes.
//! - `host` joins an evaluation with the branch that it runs in; `functions` are the plan functions by
//!   their names, `objects` what they give.
//!
//! The rules that must hold: whatever a plan learns or does is a step of its branch, so that the plan comes
//! to the same again when it is evaluated anew; and the code that a plan has read is the code that it
//! reads for ever.

mod code;
mod data;
pub mod defaults;
mod failure;
mod functions;
mod global_layer;
mod host;
mod json;
mod objects;
mod preview;
mod program;
mod run;
mod tree;
mod types;
mod unwrapped_secrets;
mod world;
mod yaml;

pub use program::PuppetPlans;
pub use world::{NodeQueries, NodesError, PlanOwner, PlanServices};
