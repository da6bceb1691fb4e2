//! One result of a diagnosis: [`DiagnosisFinding`].

use serde::Serialize;

/// Severity of a finding, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// No action is needed.
    Ok,
    /// Worth knowing, or could not be examined.
    Note,
    /// A part does not work, or will soon stop working.
    Problem,
}

/// One line of a diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiagnosisFinding {
    /// Severity of the finding.
    pub severity: FindingSeverity,
    /// Name of the check, such as `files`.
    pub check: &'static str,
    /// Path, unit, address or configuration key of the finding.
    pub place: String,
    /// State of that place, in plain words.
    pub cause: String,
    /// Shell command that solves the problem; `None` if no action is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

// === impl FindingSeverity ===

impl FindingSeverity {
    /// The word for the severity in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

// === impl DiagnosisFinding ===

impl DiagnosisFinding {
    /// Creates a finding that needs no action.
    pub fn ok(check: &'static str, place: impl Into<String>, cause: impl Into<String>) -> Self {
        Self::new(FindingSeverity::Ok, check, place, cause)
    }

    /// Creates a finding that is worth knowing.
    pub fn note(check: &'static str, place: impl Into<String>, cause: impl Into<String>) -> Self {
        Self::new(FindingSeverity::Note, check, place, cause)
    }

    /// Creates a finding that needs action.
    pub fn problem(
        check: &'static str,
        place: impl Into<String>,
        cause: impl Into<String>,
    ) -> Self {
        Self::new(FindingSeverity::Problem, check, place, cause)
    }

    fn new(
        severity: FindingSeverity,
        check: &'static str,
        place: impl Into<String>,
        cause: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            check,
            place: place.into(),
            cause: cause.into(),
            remedy: None,
        }
    }

    /// Adds a remedy: a shell command.
    #[must_use]
    pub fn remedy(mut self, command: impl Into<String>) -> Self {
        self.remedy = Some(command.into());
        self
    }
}
