//! The crate from outside: accepted sources, refused sources with positions, and trees.

mod applications;
mod entry;
mod faults;
mod properties;
mod tree;
mod validation;

use std::sync::Arc;

use syntax::{Diagnostic, ParsedSource, SourceText, SyntaxOptions};

/// Reads code as a manifest without a name.
fn read(code: &str) -> ParsedSource {
    read_as(code, SyntaxOptions::default())
}

fn read_as(code: &str, options: SyntaxOptions) -> ParsedSource {
    syntax::parse(&Arc::new(SourceText::new(None, code)), options)
}

/// `line:column message` of each error.
fn errors(parsed: &ParsedSource) -> Vec<String> {
    parsed
        .diagnostics
        .iter()
        .filter(|one| one.is_error())
        .map(|one| at(parsed, one))
        .collect()
}

fn at(parsed: &ParsedSource, diagnostic: &Diagnostic) -> String {
    let position = parsed.ast.source().position(diagnostic.span.start);
    format!(
        "{}:{} {}",
        position.line, position.column, diagnostic.message
    )
}
