//! What can be wrong with a configuration, and the exit code that says so.
//!
//! The rule that must hold: exit codes are pxp-agent's, because init scripts
//! and monitoring look at them: 2 for a command line or file that cannot be
//! read, 3 for one that can be read but makes no sense.

use std::path::PathBuf;

use crate::connection::brokers::BrokerUriError;

/// A configuration that the agent cannot start with.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The suffix decides the syntax, so there must be a known one.
    #[error("configuration file '{0}' must end in .conf or .json")]
    Suffix(PathBuf),
    /// A file that was named explicitly, or exists but cannot be read.
    #[error("cannot read configuration file '{path}'")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not HOCON, or not JSON.
    #[error("configuration file '{path}' is not valid: {reason}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Parser's words, with line and column.
        reason: String,
    },
    /// A value of the wrong type.
    #[error("option '{option}' in {place} has a wrong value: {reason}")]
    Type {
        /// Name of the option.
        option: String,
        /// The file and the line.
        place: String,
        /// What was found and what was expected.
        reason: String,
    },
    /// A value of the right type that cannot be used.
    #[error("option '{option}': {reason}")]
    Invalid {
        /// Name of the option.
        option: &'static str,
        /// What is wrong with it and what would be right.
        reason: String,
    },
    /// An address that is not one.
    #[error("option '{option}'")]
    Broker {
        /// Name of the option.
        option: &'static str,
        /// What is wrong with it.
        source: BrokerUriError,
    },
}

// === impl ConfigError ===

impl ConfigError {
    /// A value that cannot be used.
    pub fn invalid(option: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid {
            option,
            reason: reason.into(),
        }
    }

    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Suffix(_) | Self::Unreadable { .. } | Self::Syntax { .. } | Self::Type { .. } => {
                EXIT_UNREADABLE_CONFIG
            }
            Self::Invalid { .. } | Self::Broker { .. } => EXIT_INVALID_CONFIG,
        }
    }
}

/// Something went wrong that is nobody's configuration.
pub const EXIT_FAILURE: u8 = 1;
/// Command line or configuration file cannot be read.
pub const EXIT_UNREADABLE_CONFIG: u8 = 2;
/// The configuration makes no sense.
pub const EXIT_INVALID_CONFIG: u8 = 3;
