//! Settings of `puppet generate types`: [`GenerateTypes`].

use std::path::PathBuf;

/// Program and configuration of `puppet generate types`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateTypes {
    /// Path of the program `puppet`.
    pub puppet: PathBuf,
    /// Path of its configuration file.
    pub conf: PathBuf,
}

impl Default for GenerateTypes {
    fn default() -> Self {
        Self {
            puppet: "/opt/puppetlabs/bin/puppet".into(),
            conf: "/etc/puppetlabs/puppet/puppet.conf".into(),
        }
    }
}
