//! Divides a source into pieces for display or rewriting: [`pieces`].
//!
//! Invariant: the pieces are adjacent and together are the source, whatever its contents.

use crate::comments::CommentKind;
use crate::lexer::{self, LexerMode};
use crate::source::as_u32;
use crate::token::TokenKind;
use crate::{SourceSpan, SourceText, SyntaxOptions};

/// A stretch of a source, never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePiece {
    pub kind: PieceKind,
    pub span: SourceSpan,
}

/// The kind of a stretch of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    Token(TokenKind),
    Comment(CommentKind),
    /// Text without a meaning of its own: blanks, `}` of an interpolation, margins and end tags of
    /// heredocs, tags of templates, and unreadable text.
    Between,
}

/// Divides a source into its pieces, in their order.
pub fn pieces(source: &SourceText, options: SyntaxOptions) -> Vec<SourcePiece> {
    let mode = LexerMode {
        epp: options.epp,
        tasks: options.tasks,
    };
    let lexed = lexer::lex(source.text(), mode);
    let tokens = lexed.tokens.iter().map(|token| SourcePiece {
        kind: PieceKind::Token(token.kind),
        span: token.span,
    });
    let comments = lexed.comments.iter().map(|comment| SourcePiece {
        kind: PieceKind::Comment(comment.kind),
        span: comment.span,
    });
    let mut found: Vec<SourcePiece> = tokens.chain(comments).collect();
    // the text of a heredoc comes before the rest of its first line
    found.sort_by_key(|piece| piece.span.start);
    fill_gaps(&found, as_u32(source.text().len()))
}

fn fill_gaps(found: &[SourcePiece], end: u32) -> Vec<SourcePiece> {
    let mut pieces = Vec::with_capacity(found.len() * 2);
    let mut at = 0;
    let mut add = |kind, start: u32, end: u32| {
        if start < end {
            let span = SourceSpan::new(start, end);
            pieces.push(SourcePiece { kind, span });
        }
    };
    for piece in found {
        add(PieceKind::Between, at, piece.span.start);
        // a refused number may start before the end of the previous piece
        let start = piece.span.start.max(at);
        add(piece.kind, start, piece.span.end);
        at = at.max(piece.span.end);
    }
    add(PieceKind::Between, at, end);
    pieces
}
