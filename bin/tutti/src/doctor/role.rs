//! The program that a configuration is for: [`ServiceRole`].

use std::fmt;
use std::net::SocketAddr;

use doctor::ports::ExpectedPort;

use crate::config::Config;

/// The service of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServiceRole {
    /// `tutti server`
    Server,
    /// `tutti broker`
    Broker,
    /// `tutti follow`
    Follower,
}

// === impl ServiceRole ===

impl ServiceRole {
    /// The role that follows from the sections of the configuration.
    pub(super) fn from_config(config: &Config) -> Self {
        if config.follow.is_some() {
            Self::Follower
        } else if !config.broker.controller_uris.is_empty() {
            Self::Broker
        } else {
            Self::Server
        }
    }

    /// Name of the shipped unit; `None`: none is shipped.
    pub(super) fn unit_name(self) -> Option<&'static str> {
        match self {
            Self::Server => Some("tutti.service"),
            Self::Broker => Some("tutti-broker.service"),
            Self::Follower => None,
        }
    }

    /// Configuration that the service reads if its command names none.
    pub(super) fn default_config(self) -> &'static str {
        match self {
            Self::Broker => "/etc/tutti/broker.toml",
            Self::Server | Self::Follower => crate::config::DEFAULT_PATH,
        }
    }

    /// Addresses that the service listens on.
    pub(super) fn ports(self, config: &Config) -> Vec<ExpectedPort> {
        let port = |key, address: SocketAddr| ExpectedPort { key, address };
        let mut ports = Vec::new();
        if self == Self::Server {
            ports.push(port("api.listen", config.api.listen));
            if config.puppet_api.enabled {
                ports.push(port("puppet_api.listen", config.puppet_api.listen));
            }
        }
        if self == Self::Broker || self == Self::Server && config.broker.enabled {
            ports.push(port("broker.listen", config.broker.listen));
        }
        let follow = config.follow.as_ref();
        let status = follow.and_then(|follow| follow.status_listen);
        ports.extend(status.map(|address| port("follow.status_listen", address)));
        ports
    }
}

impl fmt::Display for ServiceRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "server",
            Self::Broker => "broker",
            Self::Follower => "follower",
        })
    }
}
