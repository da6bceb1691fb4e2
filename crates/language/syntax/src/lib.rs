//! Lexing, parsing and validation of the Puppet language: source in, tree and diagnostics out. Main
//! function: [`parse`].
//!
//! Invariant: this crate does not evaluate, does no I/O, and never fails: every input results in a
//! tree, which may be partial, and the list of its faults.

pub mod ast;
mod comment;
pub mod comments;
pub mod defaults;
mod diagnostic;
mod interner;
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
pub use self::diagnostic::{Diagnostic, DiagnosticLabel, DiagnosticSeverity};
use self::lexer::LexedSource;
use self::parser::{NestingTooDeep, ParsedTree};
pub use self::pieces::{PieceKind, SourcePiece, pieces};
pub use self::ruby::{ruby_float, ruby_inspect};
pub use self::source::{SourcePosition, SourceSpan, SourceText};
pub use self::token::TokenKind;
pub use self::validate::ModuleLocation;

/// The kind of source to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyntaxOptions {
    /// A template: text with code in `<% %>`.
    pub epp: bool,
    /// True if `plan` and `apply` are keywords, and constructs of catalogs are refused.
    pub tasks: bool,
    /// True if applications can be defined: `application`, `site`, `capability`, and the mappings
    /// `produces` and `consumes`. These words are names everywhere else.
    pub applications: bool,
}

/// The result of reading a source.
#[derive(Debug)]
pub struct ParsedSource {
    /// The tree; partial if there are errors.
    pub ast: Ast,
    /// Faults in the order in which Puppet would meet them; the first error is the one that Puppet
    /// reports.
    pub diagnostics: Vec<Diagnostic>,
    /// True if the text follows the grammar, so that all errors were found by validation.
    pub is_grammatical: bool,
}

/// Parses and validates a source.
pub fn parse(source: &Arc<SourceText>, options: SyntaxOptions) -> ParsedSource {
    parse_at(source, options, None)
}

/// Parses and validates a file of a module, which may define only the name that its path implies.
pub fn parse_at(
    source: &Arc<SourceText>,
    options: SyntaxOptions,
    location: Option<&ModuleLocation>,
) -> ParsedSource {
    let (parsed, numbers) = parse_syntax(source, options);
    if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        return parsed;
    }
    let ParsedSource {
        ast,
        diagnostics: warnings,
        ..
    } = parsed;
    let mut diagnostics = validate::validate(&ast, options.tasks, location, numbers);
    diagnostics.extend(warnings);
    ParsedSource {
        ast,
        diagnostics,
        is_grammatical: true,
    }
}

/// Parses code inside a heredoc. Heredocs in it are not parsed, which bounds the recursion.
fn parse_nested(source: &Arc<SourceText>, options: SyntaxOptions) -> ParsedSource {
    parse_syntax(source, options).0
}

/// The tree with its syntax errors, and the literals that are too large.
fn parse_syntax(
    source: &Arc<SourceText>,
    options: SyntaxOptions,
) -> (ParsedSource, Vec<(ast::ExprId, Diagnostic)>) {
    if source.text().len() > MAX_SOURCE_BYTES {
        let message = format!("The source is larger than {MAX_SOURCE_BYTES} bytes");
        let fault = Diagnostic::error("TOO_LARGE", SourceSpan::default(), message);
        return (empty_result(source, fault), Vec::new());
    }
    if let Some(fault) = source::byte_order_mark(source.text().as_bytes()) {
        return (empty_result(source, fault), Vec::new());
    }
    let mode = lexer::LexerMode {
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
        let at = last.map_or(SourceSpan::default(), |token| token.span);
        return (
            empty_result(source, Diagnostic::error("TOO_LARGE", at, message)),
            Vec::new(),
        );
    }
    let tree = match parse_tree(source, &mut lexed, options) {
        Ok(tree) => tree,
        Err(depth) => {
            let message = format!(
                "The source is nested too deeply: some {} levels are read",
                MAX_DEPTH / 2
            );
            let fault = Diagnostic::error("TOO_DEEP", depth.at, message);
            return (empty_result(source, fault), Vec::new());
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
    let parsed = ParsedSource {
        ast,
        diagnostics,
        is_grammatical: false,
    };
    (parsed, tree.numbers)
}

/// Parses on the caller's stack if the nesting fits every stack, and on a separate stack if it is
/// deeper than in any real manifest.
fn parse_tree(
    source: &Arc<SourceText>,
    lexed: &mut LexedSource,
    options: SyntaxOptions,
) -> Result<ParsedTree, NestingTooDeep> {
    let applications = options.applications;
    let shallow = parser::parse_tokens(source, lexed, applications, SHALLOW_DEPTH);
    let Err(depth) = shallow else {
        return shallow;
    };
    thread::scope(|scope| {
        thread::Builder::new()
            .stack_size(DEEP_STACK_BYTES)
            .spawn_scoped(scope, || {
                parser::parse_tokens(source, lexed, applications, MAX_DEPTH)
            })
            .ok()
            .and_then(|parsing| parsing.join().ok())
            .unwrap_or(Err(depth))
    })
}

fn empty_result(source: &Arc<SourceText>, fault: Diagnostic) -> ParsedSource {
    let ast = ast::Builder::new(source.clone()).finish(Vec::new(), Vec::new(), None, None);
    ParsedSource {
        ast,
        diagnostics: vec![fault],
        is_grammatical: false,
    }
}
