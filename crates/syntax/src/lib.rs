//! The Puppet language as text: source in, tree and diagnostics out. Main type: [`ast::Ast`].
//!
//! Rule: this crate knows nothing of evaluation, does no I/O, and never fails: every input gives a
//! tree, be it partial, and the list of what is wrong with it.

pub mod ast;
pub mod comments;
pub mod defaults;
mod source;

pub use self::source::{Position, Source, Span};
