//! The crate from outside: accepted sources, refused sources with positions, and trees.

mod entry;
mod faults;
mod properties;
mod tree;
mod validation;

use std::sync::Arc;

use syntax::{Diagnostic, Options, Parsed, Source};

/// Reads code as a manifest without a name.
fn read(code: &str) -> Parsed {
    read_as(code, Options::default())
}

fn read_as(code: &str, options: Options) -> Parsed {
    syntax::parse(&Arc::new(Source::new(None, code)), options)
}

/// `line:column message` of each error.
fn errors(parsed: &Parsed) -> Vec<String> {
    parsed
        .diagnostics
        .iter()
        .filter(|one| one.is_error())
        .map(|one| at(parsed, one))
        .collect()
}

fn at(parsed: &Parsed, diagnostic: &Diagnostic) -> String {
    let position = parsed.ast.source().position(diagnostic.span.start);
    format!(
        "{}:{} {}",
        position.line, position.column, diagnostic.message
    )
}
