//! Evaluation of the Puppet language: takes programs and values, returns values, or errors with
//! Puppet's texts.
//!
//! - [`Evaluator`] evaluates programs, calls functions and blocks, runs plans.
//! - [`Host`] supplies everything else: code, clock, logs, and the functions that have effects.
//! - [`EvaluationLimits`] limit steps, bytes, calls and stack.
//! - [`EvalError`] is an error of the program, [`Unwind`] anything that ends an evaluation early.
//!
//! A text passes three stages: `syntax` parses it into an AST, `lower` resolves its names to slots
//! ([`code`]), `evaluator` walks the result. Invariant: the behaviour of a program depends on its text
//! and on the answers of the host only.

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
