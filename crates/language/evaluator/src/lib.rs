//! Evaluation of the Puppet language: takes programs and values, returns values, or errors with
//! Puppet's texts.
//!
//! - [`Evaluator`] evaluates programs, calls functions and blocks, runs plans.
//! - [`EvaluationHost`] supplies everything else: code, clock, logs, and the functions that have
//!   effects.
//! - [`EvaluationLimits`] limit steps, bytes, calls and stack.
//! - [`EvalError`] is an error of the program, [`EvalUnwind`] anything that ends an evaluation
//!   early.
//!
//! A text passes three stages: `syntax` parses it into an AST, `lower` resolves its names to slots
//! ([`code`]), `evaluator` walks the result.
//!
//! Invariant: the behaviour of a program depends only on its text and on the results of the host.

mod block;
mod budget;
mod catalog_code;
mod catalog_host;
mod code;
mod code_map;
mod code_source;
pub mod defaults;
mod error;
mod eval_context;
mod evaluator;
mod fact_reads;
mod frame;
pub mod function;
mod functions;
mod heredoc_syntax;
mod host;
mod iteration;
mod iterator;
mod label;
mod live_memory;
mod loader;
mod lower;
mod mersenne;
mod mismatch;
mod nesting;
mod numbers;
mod parse;
mod parse_cache;
mod regex_matches;
pub mod ruby;
pub mod ruby_numbers;
mod shared_units;
mod source_language;
mod suggest;
mod type_text;
mod unknown;
mod uri;
mod variable_scope;

pub use block::{CodeBlock, ForeignBlock, PuppetBlock};
pub use budget::{EvaluationLimits, SharedBytes};
pub use catalog_code::{MappedComponent, NodeHost};
pub use catalog_host::{
    AttributeLookup, CatalogHost, CatalogRelationship, CollectorDeclaration, CollectorQuery,
    CollectorReference, EvaluatedResourceBody, RelationshipOperand, ResourceAttribute,
    ResourceChange, ResourceDeclaration,
};
pub use code_map::CodeMap;
pub use code_source::{CodeModule, CodeOwner, CodeReadError, CodeSource, SourceFile};
pub use error::{
    BUDGET_EXHAUSTED, ControlJump, EvalError, EvalResult, EvalUnwind, HostInterrupt, RUNTIME_ERROR,
    SourceLocation, raise,
};
pub use evaluator::{
    BranchSeed, BuiltInVariables, CatalogBody, Evaluator, LoadedPlan, Manifest, ManifestClass,
    ManifestDefinedType, ManifestMapping, ManifestNode, StatementsPlace,
};
pub use fact_reads::FactReads;
pub use frame::CatalogScopeId;
pub use host::{ApplyBlock, EvaluationHost, ForeignDataCall, LogLevel};
pub use iteration::elements;
pub use live_memory::BranchBytes;
pub use mersenne::RubyRandom;
pub use parse::manifest_error;
pub use parse_cache::ParseCache;
pub use shared_units::SharedUnits;
pub use unknown::UnknownValues;
pub use variable_scope::VariableScope;
