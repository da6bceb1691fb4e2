//! What is wrong with a source: [`Diagnostic`], as data.
//!
//! Rule: `code` and `message` are Puppet's own, so that scripts which match on them go on working;
//! what Puppet does not say (what was expected, where a bracket was opened, what was probably meant)
//! stands in labels and help. Nothing is printed here.

use std::borrow::Cow;

use crate::Span;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Puppet's name of the issue, `SYNTAX_ERROR`.
    pub code: &'static str,
    pub severity: Severity,
    /// Starts where Puppet says that the error is.
    pub span: Span,
    /// As Puppet words it.
    pub message: String,
    /// What to write at the span, `expected …`.
    pub label: Option<Cow<'static, str>>,
    /// Other places that belong to it.
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Vec<Cow<'static, str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Warning,
    /// A warning about what a later Puppet refuses.
    Deprecation,
    Error,
}

/// Another place, and what it has to do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    pub message: Cow<'static, str>,
}

// === impl Diagnostic ===

impl Diagnostic {
    #[must_use]
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            span,
            message: message.into(),
            label: None,
            labels: Vec::new(),
            help: Vec::new(),
        }
    }

    #[must_use]
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    #[must_use]
    pub fn labelled(mut self, label: impl Into<Cow<'static, str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    #[must_use]
    pub fn with_label(mut self, span: Span, message: impl Into<Cow<'static, str>>) -> Self {
        self.labels.push(Label {
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
        self.severity == Severity::Error
    }
}
