//! Lexing, parsing and validation of the Puppet language: source in, tree and diagnostics out. Main
//! function: [`parse`].
//!
//! Invariant: this crate does not evaluate, does no I/O, and never fails: every input results in a
//! tree, which may be partial, and the list of its faults.

pub mod ast;
pub mod comments;
pub mod defaults;
mod diagnostic;
mod intern;
mod lexer;
mod parser;
mod pieces;
mod ruby;
mod source;
mod token;
mod validate;

use std::sync::Arc;
use std::thread;

use self::ast::Ast;
use self::defaults::{
    DEEP_STACK_BYTES, MAX_DEPTH, MAX_SOURCE_BYTES, MAX_SYNTAX_ERRORS, MAX_TOKENS, SHALLOW_DEPTH,
};
pub use self::diagnostic::{Diagnostic, Label, Severity};
use self::lexer::Lexed;
use self::parser::{Depth, Tree};
pub use self::pieces::{Piece, PieceKind, pieces};
pub use self::ruby::{ruby_float, ruby_inspect};
pub use self::source::{Position, Source, Span};
pub use self::token::Kind;
pub use self::validate::Location;

/// The kind of source to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// A template: text with code in `<% %>`.
    pub epp: bool,
    /// True if `plan` and `apply` are keywords, and constructs of catalogs are refused.
    pub tasks: bool,
}

/// The result of reading a source.
#[derive(Debug)]
pub struct Parsed {
    /// The tree; partial if there are errors.
    pub ast: Ast,
    /// Faults in the order in which Puppet would meet them; the first error is the one that Puppet
    /// reports.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses and validates a source.
pub fn parse(source: &Arc<Source>, options: Options) -> Parsed {
    parse_at(source, options, None)
}

/// Parses and validates a file of a module, which may define only the name that its path implies.
pub fn parse_at(source: &Arc<Source>, options: Options, location: Option<&Location>) -> Parsed {
    let (parsed, numbers) = syntax_of(source, options);
    if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        return parsed;
    }
    let Parsed {
        ast,
        diagnostics: warnings,
    } = parsed;
    let mut diagnostics = validate::validate(&ast, options.tasks, location, numbers);
    diagnostics.extend(warnings);
    Parsed { ast, diagnostics }
}

/// Parses code inside a heredoc. Heredocs in it are not parsed, which bounds the recursion.
fn parse_nested(source: &Arc<Source>, options: Options) -> Parsed {
    syntax_of(source, options).0
}

/// The tree with its syntax errors, and the literals that are too large.
fn syntax_of(source: &Arc<Source>, options: Options) -> (Parsed, Vec<(ast::ExprId, Diagnostic)>) {
    if source.text().len() > MAX_SOURCE_BYTES {
        let message = format!("The source is larger than {MAX_SOURCE_BYTES} bytes");
        let fault = Diagnostic::error("TOO_LARGE", Span::default(), message);
        return (nothing(source, fault), Vec::new());
    }
    if let Some(fault) = source::byte_order_mark(source.text().as_bytes()) {
        return (nothing(source, fault), Vec::new());
    }
    let mode = lexer::Mode {
        epp: options.epp,
        tasks: options.tasks,
    };
    let mut lexed = lexer::lex(source.text(), mode);
    if lexed.is_full() {
        let last = lexed.tokens.iter().rev().nth(1);
        let message = format!(
            "The source has more than {MAX_TOKENS} tokens and comments: split it into several files, or keep data in \
             Hiera"
        );
        let at = last.map_or(Span::default(), |token| token.span);
        return (
            nothing(source, Diagnostic::error("TOO_LARGE", at, message)),
            Vec::new(),
        );
    }
    let tree = match tree(source, &mut lexed) {
        Ok(tree) => tree,
        Err(depth) => {
            let message = format!(
                "The source is nested too deeply: some {} levels are read",
                MAX_DEPTH / 2
            );
            let fault = Diagnostic::error("TOO_DEEP", depth.at, message);
            return (nothing(source, fault), Vec::new());
        }
    };
    let mut faults = lexed.faults;
    faults.extend(tree.faults);
    faults.sort_by_key(|(token, _)| *token);
    // If the lexer gave up, the end of its tokens is no fault of the source.
    faults.truncate(MAX_SYNTAX_ERRORS);
    let mut diagnostics: Vec<Diagnostic> = faults.into_iter().map(|(_, fault)| fault).collect();
    diagnostics.extend(lexed.warnings);
    let ast = tree.ast;
    (Parsed { ast, diagnostics }, tree.numbers)
}

/// Parses on the caller's stack if the nesting fits every stack, and on a separate stack if it is
/// deeper than in any real manifest.
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
