//! One result of a diagnosis: [`Finding`].

use serde::Serialize;

/// Weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing to do here.
    Ok,
    /// Worth knowing, or could not be looked at.
    Note,
    /// Something does not work, or soon will not.
    Problem,
}

/// One line of a diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Weight of the finding.
    pub severity: Severity,
    /// Name of the check, such as `files`.
    pub check: &'static str,
    /// Path, unit, address or configuration key that it is about.
    pub place: String,
    /// State of that place, in plain words.
    pub cause: String,
    /// Command to type; `None` where nothing is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

// === impl Severity ===

impl Severity {
    /// The word in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

// === impl Finding ===

impl Finding {
    /// A finding that needs no action.
    pub fn ok(check: &'static str, place: impl Into<String>, cause: impl Into<String>) -> Self {
        Self::new(Severity::Ok, check, place, cause)
    }

    /// A finding that is worth knowing.
    pub fn note(check: &'static str, place: impl Into<String>, cause: impl Into<String>) -> Self {
        Self::new(Severity::Note, check, place, cause)
    }

    /// A finding that needs action.
    pub fn problem(
        check: &'static str,
        place: impl Into<String>,
        cause: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Problem, check, place, cause)
    }

    fn new(
        severity: Severity,
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

    /// The same finding with a command to type.
    #[must_use]
    pub fn remedy(mut self, command: impl Into<String>) -> Self {
        self.remedy = Some(command.into());
        self
    }
}
