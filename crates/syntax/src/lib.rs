//! The Puppet language as text: source in, tree and diagnostics out. Main function: [`parse`].
//!
//! Rule: this crate knows nothing of evaluation, does no I/O, and never fails: every input gives a
//! tree, be it partial, and the list of what is wrong with it.

pub mod ast;
pub mod comments;
pub mod defaults;
mod diagnostic;
mod intern;
mod lexer;
mod parser;
mod source;
mod token;

use std::sync::Arc;
use std::thread;

use self::ast::Ast;
use self::defaults::{DEEP_STACK_BYTES, MAX_DEPTH, MAX_SOURCE_BYTES, SHALLOW_DEPTH};
pub use self::diagnostic::{Diagnostic, Label, Severity};
use self::lexer::Lexed;
use self::parser::{Depth, Tree};
pub use self::source::{Position, Source, Span};

/// How a source is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// A template: text with code in `<% %>`.
    pub epp: bool,
    /// `plan` and `apply` are keywords, and what belongs to catalogs is refused.
    pub tasks: bool,
}

/// What a source gave.
#[derive(Debug)]
pub struct Parsed {
    /// Partial where there are errors.
    pub ast: Ast,
    /// In the order in which Puppet would meet them; the first error is the one that it reports.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a source.
pub fn parse(source: &Arc<Source>, options: Options) -> Parsed {
    if source.text().len() > MAX_SOURCE_BYTES {
        let message = format!("The source is larger than {MAX_SOURCE_BYTES} bytes");
        return nothing(
            source,
            Diagnostic::error("TOO_LARGE", Span::default(), message),
        );
    }
    let mode = lexer::Mode {
        epp: options.epp,
        tasks: options.tasks,
    };
    let mut lexed = lexer::lex(source.text(), mode);
    let tree = match tree(source, &mut lexed) {
        Ok(tree) => tree,
        Err(depth) => {
            let message = format!("The source is nested more than {MAX_DEPTH} levels deep");
            return nothing(source, Diagnostic::error("TOO_DEEP", depth.at, message));
        }
    };
    let mut faults = lexed.faults;
    faults.extend(tree.faults);
    faults.sort_by_key(|(token, _)| *token);
    let mut diagnostics: Vec<Diagnostic> = faults.into_iter().map(|(_, fault)| fault).collect();
    diagnostics.extend(lexed.warnings);
    Parsed {
        ast: tree.ast,
        diagnostics,
    }
}

/// Parses on the caller's stack what every stack can hold, and on a stack of its own what nests more
/// deeply than any real manifest.
fn tree(source: &Arc<Source>, lexed: &mut Lexed) -> Result<Tree, Depth> {
    let shallow = parser::parse_tokens(source, lexed, SHALLOW_DEPTH);
    let Err(depth) = shallow else {
        return shallow;
    };
    thread::scope(|scope| {
        thread::Builder::new()
            .stack_size(DEEP_STACK_BYTES)
            .spawn_scoped(scope, || parser::parse_tokens(source, lexed, MAX_DEPTH))
            .ok()
            .and_then(|parsing| parsing.join().ok())
            .unwrap_or(Err(depth))
    })
}

fn nothing(source: &Arc<Source>, fault: Diagnostic) -> Parsed {
    let ast = ast::Builder::new(source.clone()).finish(Vec::new(), Vec::new(), None, None);
    Parsed {
        ast,
        diagnostics: vec![fault],
    }
}
