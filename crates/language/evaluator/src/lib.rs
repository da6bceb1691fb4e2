//! The Puppet language, carried out: programs and values in, values and errors in Puppet's words out.
//!
//! - [`Evaluator`] evaluates programs, calls functions and blocks, runs plans.
//! - [`Host`] is the world around it: code, clock, logs, and the functions that have effects.
//! - [`EvaluationLimits`] bound it: steps, bytes, calls, stack.
//! - [`EvalError`] is what went wrong, [`Unwind`] everything that ends an evaluation early.
//!
//! The way of a text: `syntax` makes a tree of it, `lower` gives its names slots ([`code`]), `evaluator`
//! walks that. The rule that must hold: what a program does depends on its text and on what the host
//! answers, and on nothing else.

mod block;
mod budget;
mod code;
mod code_map;
pub mod defaults;
mod error;
mod evaluator;
mod frame;
pub mod function;
mod functions;
mod heredoc_syntax;
mod host;
mod iteration;
mod iterator;
mod label;
mod live;
mod loader;
mod lower;
mod matches;
mod mersenne;
mod mismatch;
mod numbers;
mod parse;
pub mod ruby;
pub mod ruby_numbers;
mod suggest;
mod type_text;
mod unknown;
mod uri;

pub use block::Block;
pub use budget::{EvaluationLimits, SharedBytes};
pub use code_map::CodeMap;
pub use error::{
    BUDGET_EXHAUSTED, Eval, EvalError, Interrupt, Jump, RUNTIME_ERROR, SourceLocation, Unwind,
    raise,
};
pub use evaluator::{BranchSeed, Evaluator, LoadedPlan, VariableScope};
pub use host::{
    ApplyBlock, CatalogExpression, CodeModule, CodeOwner, CodeReadError, CodeSource, Host,
    LogLevel, SourceFile,
};
pub use iteration::elements;
pub use live::BranchBytes;
pub use mersenne::Random;
pub use parse::ParseCache;
pub use unknown::UnknownValues;
