//! Label of a token, with which the owner can revoke it: [`TokenLabel`].

use crate::defaults::LABEL_CHARS;

/// A valid label: trimmed, not blank, at most [`LABEL_CHARS`] characters, without a comma or
/// control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenLabel(String);

/// Reason why a text is not a label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenLabelError {
    /// The text is blank.
    #[error("is blank")]
    Blank,
    /// The text exceeds [`LABEL_CHARS`].
    #[error("has more than {LABEL_CHARS} characters")]
    TooLong,
    /// The text has a comma, which separates labels in lists, or a control character.
    #[error("has a comma or a control character")]
    Forbidden,
}

impl TokenLabel {
    /// Trims and validates a label.
    pub fn parse(text: &str) -> Result<Self, TokenLabelError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenLabelError::Blank);
        }
        if text.chars().count() > LABEL_CHARS {
            return Err(TokenLabelError::TooLong);
        }
        if text.chars().any(|c| c == ',' || c.is_control()) {
            return Err(TokenLabelError::Forbidden);
        }
        Ok(Self(text.to_owned()))
    }

    /// The label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_trimmed_and_checked() {
        assert_eq!(
            TokenLabel::parse("  my laptop ").unwrap().as_str(),
            "my laptop"
        );
        assert_eq!(TokenLabel::parse(" \t"), Err(TokenLabelError::Blank));
        assert_eq!(TokenLabel::parse("a,b"), Err(TokenLabelError::Forbidden));
        assert_eq!(TokenLabel::parse("a\0b"), Err(TokenLabelError::Forbidden));
        assert!(TokenLabel::parse(&"ä".repeat(200)).is_ok());
        assert_eq!(
            TokenLabel::parse(&"ä".repeat(201)),
            Err(TokenLabelError::TooLong)
        );
    }
}
