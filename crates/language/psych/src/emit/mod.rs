//! Converts a tree to text in the format of Ruby's Psych: [`emit`].
//!
//! `walk` traverses the tree, `scalar_style` decides the style of a scalar, `analysis` determines
//! the possible styles, `writer` tracks columns and indentation; `flow` and `block` write scalars.
//!
//! Invariants: the bytes are those of Psych 4 with libyaml 0.2.5, without anchors, since shared
//! values are written out each time; a text is never larger, and a tree never traversed deeper,
//! than the limits.

mod analysis;
mod block;
mod flow;
mod scalar_style;
mod walk;
mod writer;

use crate::YamlValue;
use crate::defaults::{MAX_EMIT_BYTES, MAX_EMIT_DEPTH};
use walk::EmitWalk;
use writer::YamlWriter;

/// The layout of a written text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmitLayout {
    /// Number of columns for each level, 2 to 9; any other number counts as 2.
    pub indentation: usize,
    /// The column after which lines are broken. `Some(-1)`: never; `None`: 80, and long texts are
    /// not folded because of their length.
    pub line_width: Option<i64>,
}

impl Default for EmitLayout {
    fn default() -> Self {
        Self {
            indentation: 2,
            line_width: None,
        }
    }
}

/// The error for a tree that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    #[error("the YAML is larger than {limit} bytes")]
    Size { limit: usize },
    #[error("collections are nested deeper than {limit} levels")]
    Depth { limit: usize },
    #[error("Invalid line_width {0}, must be non-negative or -1 for unlimited.")]
    LineWidth(i64),
}

/// Writes a value as the text of a document.
pub fn emit(value: &YamlValue, layout: EmitLayout) -> Result<String, EmitError> {
    if let Some(width) = layout.line_width
        && width < -1
    {
        return Err(EmitError::LineWidth(width));
    }
    let mut walk = EmitWalk {
        writer: YamlWriter::new(layout),
        fold_above: layout
            .line_width
            .and_then(|width| usize::try_from(width).ok()),
        depth: 0,
    };
    walk.write_document(value)?;
    Ok(walk.writer.finish())
}

fn check_depth(depth: usize) -> Result<(), EmitError> {
    if depth > MAX_EMIT_DEPTH {
        return Err(EmitError::Depth {
            limit: MAX_EMIT_DEPTH,
        });
    }
    Ok(())
}

fn check_size(bytes: usize) -> Result<(), EmitError> {
    if bytes > MAX_EMIT_BYTES {
        return Err(EmitError::Size {
            limit: MAX_EMIT_BYTES,
        });
    }
    Ok(())
}
