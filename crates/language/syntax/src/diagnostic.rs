//! Findings about a source, as data: [`Diagnostic`].
//!
//! Invariant: `code` and `message` are Puppet's own, so that scripts that match on them continue to
//! work. Labels and help contain the information that Puppet does not give (the expected token, the
//! position of the opening bracket, the likely intention). Nothing is printed here.

use std::borrow::Cow;

use crate::SourceSpan;

/// One finding: an error, a warning or a deprecation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Puppet's name of the issue, such as `SYNTAX_ERROR`.
    pub code: &'static str,
    pub severity: DiagnosticSeverity,
    /// Its start is the position of the error according to Puppet.
    pub span: SourceSpan,
    /// The message in Puppet's wording.
    pub message: String,
    /// Text to show at the span, such as `expected …`.
    pub label: Option<Cow<'static, str>>,
    /// Other positions that are related to the finding.
    pub labels: Vec<DiagnosticLabel>,
    /// Suggestions for a remedy, in order.
    pub help: Vec<Cow<'static, str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosticSeverity {
    Warning,
    /// A warning about a construct that a later version of Puppet refuses.
    Deprecation,
    Error,
}

/// Another position, and its relation to the finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagnosticLabel {
    pub span: SourceSpan,
    pub message: Cow<'static, str>,
}

// === impl Diagnostic ===

impl Diagnostic {
    #[must_use]
    pub fn error(code: &'static str, span: SourceSpan, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: DiagnosticSeverity::Error,
            span,
            message: message.into(),
            label: None,
            labels: Vec::new(),
            help: Vec::new(),
        }
    }

    #[must_use]
    pub fn warning(code: &'static str, span: SourceSpan, message: impl Into<String>) -> Self {
        Self {
            severity: DiagnosticSeverity::Warning,
            ..Self::error(code, span, message)
        }
    }

    #[must_use]
    pub fn with_first_label(mut self, label: impl Into<Cow<'static, str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    #[must_use]
    pub fn with_label(mut self, span: SourceSpan, message: impl Into<Cow<'static, str>>) -> Self {
        self.labels.push(DiagnosticLabel {
            span,
            message: message.into(),
        });
        self
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<Cow<'static, str>>) -> Self {
        self.help.push(help.into());
        self
    }

    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == DiagnosticSeverity::Error
    }
}
