//! A comment of a source: [`Comment`].

use crate::SourceSpan;

/// A comment, including its comment marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment {
    pub span: SourceSpan,
    pub kind: CommentKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentKind {
    /// `# …` to the end of the line
    Line,
    /// `/* … */`
    Block,
}
