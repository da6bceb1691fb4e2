//! The command that runs Puppet on nodes, as work of a job.
//!
//! Invariant: the only error is the environment's name; options are checked when the job is prepared.

use std::time::Duration;

use api_types::DeployCommand;
use api_types::defaults::TIMEOUT_SECONDS;
use api_types::rollout::RolloutOptions;
use environments::EnvironmentNameError;

use super::CatalogCode;
use super::PuppetFlags;
use crate::spec::{JobLimits, PuppetEnvironment, PuppetWork};

// === impl PuppetWork ===

impl PuppetWork {
    /// The runs that a command requests, with the live code. An empty environment is each node's own.
    ///
    /// # Errors
    /// The environment's name is invalid.
    pub fn from_command(command: &DeployCommand) -> Result<Self, EnvironmentNameError> {
        let environment = match command.environment.as_str() {
            "" => None,
            name => Some(PuppetEnvironment {
                name: name.parse()?,
                is_enforced: command.enforce_environment,
            }),
        };
        Ok(Self {
            environment,
            flags: PuppetFlags {
                noop: command.noop,
                no_noop: command.no_noop,
                debug: command.debug,
                trace: command.trace,
                evaltrace: command.evaltrace,
                use_cached_catalog: command.use_cached_catalog.then_some(true),
                usecacheonfailure: command.usecacheonfailure,
                filetimeout: command.filetimeout,
                http_connect_timeout: command.http_connect_timeout,
                http_keepalive_timeout: command.http_keepalive_timeout,
                http_read_timeout: command.http_read_timeout,
                ordering: command.ordering.clone(),
                tags: command.tags.clone(),
                skip_tags: command.skip_tags.clone(),
            },
            code: CatalogCode::Latest,
            has_barrier: command.barrier,
            has_quarantine: command.quarantine,
            pass: None,
            pass_lease: None,
            reports_reruns: false,
        })
    }
}

// === impl JobLimits ===

impl JobLimits {
    /// The limits of a command. A timeout of 0 seconds means no limit, which the engine does not support: its
    /// maximum is used.
    pub fn from_command(
        concurrency: Option<u32>,
        timeout: Option<u64>,
        rollout: RolloutOptions,
    ) -> Self {
        let seconds = timeout.map(|seconds| match seconds {
            0 => TIMEOUT_SECONDS,
            seconds => seconds,
        });
        Self {
            timeout: seconds.map(Duration::from_secs),
            concurrency: concurrency.and_then(|nodes| usize::try_from(nodes).ok()),
            rollout,
        }
    }
}
