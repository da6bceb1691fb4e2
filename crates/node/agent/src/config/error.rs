//! Configuration errors and their exit codes.
//!
//! Invariant: exit codes are pxp-agent's, because init scripts and monitoring use them: 2 for a
//! command line or file that cannot be read, 3 for one that can be read but is invalid.

use std::path::PathBuf;

use crate::connection::brokers::BrokerUriError;

/// Configuration error that keeps the agent from starting.
#[derive(Debug, thiserror::Error)]
pub enum AgentConfigError {
    /// The file has an unknown suffix, which decides the syntax.
    #[error("configuration file '{0}' must end in .conf or .json")]
    Suffix(PathBuf),
    /// A file that was named explicitly, or exists, but cannot be read.
    #[error("cannot read configuration file '{path}'")]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file is neither valid HOCON nor valid JSON.
    #[error("configuration file '{path}' is not valid: {reason}")]
    Syntax {
        /// Path of the file.
        path: PathBuf,
        /// Parser's message, with line and column.
        reason: String,
    },
    /// A value of the wrong type.
    #[error("option '{option}' in {place} has a wrong value: {reason}")]
    Type {
        /// Name of the option.
        option: String,
        /// File and line of the value.
        place: String,
        /// The found and the expected type.
        reason: String,
    },
    /// A value of the right type that cannot be used.
    #[error("option '{option}': {reason}")]
    Invalid {
        /// Name of the option.
        option: &'static str,
        /// The problem and the allowed values.
        reason: String,
    },
    /// A broker address that is not valid.
    #[error("option '{option}'")]
    Broker {
        /// Name of the option.
        option: &'static str,
        /// Reason for which the address is invalid.
        source: BrokerUriError,
    },
}

// === impl AgentConfigError ===

impl AgentConfigError {
    /// Error for a value that cannot be used.
    pub fn invalid(option: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid {
            option,
            reason: reason.into(),
        }
    }

    /// Exit code of the program for this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Suffix(_) | Self::Unreadable { .. } | Self::Syntax { .. } | Self::Type { .. } => {
                EXIT_UNREADABLE_CONFIG
            }
            Self::Invalid { .. } | Self::Broker { .. } => EXIT_INVALID_CONFIG,
        }
    }
}

/// Exit code of failures that are not configuration errors.
pub const EXIT_FAILURE: u8 = 1;
/// Exit code if the command line or configuration file cannot be read.
pub const EXIT_UNREADABLE_CONFIG: u8 = 2;
/// Exit code if the configuration is invalid.
pub const EXIT_INVALID_CONFIG: u8 = 3;
