//! The part of the agent's environment that is passed to actions: [`AgentEnvironment`].
//!
//! Invariant: only names on the list are passed, so that secrets and settings of the agent's own
//! process stay with it.

/// Names that are passed, besides `LC_*`.
const PASSED: [&str; 9] = [
    "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL",
];

/// `PATH` of actions if the agent was started without one.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The part of every action's environment that comes from the agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentEnvironment {
    variables: Vec<(String, String)>,
}

impl AgentEnvironment {
    /// Reads the agent's environment. `also_passed`: names that the configuration adds (proxies,
    /// for example).
    pub(crate) fn from_agent(also_passed: &[String]) -> Self {
        Self::filter(
            std::env::vars_os().filter_map(|(name, value)| {
                Some((name.into_string().ok()?, value.into_string().ok()?))
            }),
            also_passed,
        )
    }

    fn filter(variables: impl Iterator<Item = (String, String)>, also_passed: &[String]) -> Self {
        let mut variables: Vec<_> = variables
            .filter(|(name, _)| {
                PASSED.contains(&name.as_str())
                    || name.starts_with("LC_")
                    || also_passed.contains(name)
            })
            .collect();
        if !variables.iter().any(|(name, _)| name == "PATH") {
            variables.push(("PATH".into(), DEFAULT_PATH.into()));
        }
        Self { variables }
    }

    /// This environment together with an action's own variables.
    pub(crate) fn merge_variables(&self, own: Vec<(String, String)>) -> Vec<(String, String)> {
        self.variables.iter().cloned().chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(names: &[&str]) -> impl Iterator<Item = (String, String)> {
        names
            .iter()
            .map(|name| ((*name).to_owned(), "v".to_owned()))
            .collect::<Vec<_>>()
            .into_iter()
    }

    #[test]
    fn only_listed_names_pass() {
        let all = pairs(&[
            "PATH",
            "LC_ALL",
            "AWS_SECRET",
            "NOTIFY_SOCKET",
            "https_proxy",
        ]);
        let environment = AgentEnvironment::filter(all, &["https_proxy".into()]);
        let names: Vec<_> = environment
            .merge_variables(vec![])
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["PATH", "LC_ALL", "https_proxy"]);
    }

    #[test]
    fn there_is_always_a_path() {
        let environment = AgentEnvironment::filter(pairs(&[]), &[]);
        assert_eq!(
            environment.merge_variables(vec![]),
            [("PATH".into(), DEFAULT_PATH.into())]
        );
    }
}
