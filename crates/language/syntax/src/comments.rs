//! Comments, stored beside the tree, and the documentation of definitions in them: [`Comment`].
//!
//! Invariant: a comment belongs to a definition if only the blanks of one line are between them.

pub use super::comment::{Comment, CommentKind};
use crate::SourceSpan;
use crate::ast::{Ast, Definition};

/// The comment lines directly above a definition, without marks and one blank. They contain
/// `@summary`, `@param` and `@api`. Empty if there are none.
pub fn doc_lines<'a>(ast: &'a Ast, definition: &Definition) -> Vec<&'a str> {
    let text = ast.source().text();
    // the span of an alias is its name, which comes after `type`
    let before_it = &text[..definition.span.start as usize];
    let mut below = before_it.rfind('\n').map_or(0, |at| at + 1);
    let before = ast
        .comments()
        .partition_point(|comment| comment.span.end as usize <= below);
    let mut lines = Vec::new();
    for comment in ast.comments()[..before].iter().rev() {
        let gap = &text[comment.span.end as usize..below];
        let adjacent =
            gap.trim().is_empty() && memchr::memchr_iter(b'\n', gap.as_bytes()).count() == 1;
        if comment.kind != CommentKind::Line || !adjacent || !alone_on_line(text, comment.span) {
            break;
        }
        let line = text[comment.span.range()].trim_end_matches('\r');
        let line = line.strip_prefix('#').unwrap_or(line);
        lines.push(line.strip_prefix(' ').unwrap_or(line));
        below = comment.span.start as usize;
    }
    lines.reverse();
    lines
}

fn alone_on_line(text: &str, span: SourceSpan) -> bool {
    let before = &text[..span.start as usize];
    let line = before.rfind('\n').map_or(before, |at| &before[at + 1..]);
    line.trim().is_empty()
}
