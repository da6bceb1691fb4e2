//! The order in which the hosts of a directory are tried: [`Hosts`].
//!
//! Invariant: hosts are tried in the order of the settings, with recently failed ones last; all
//! are tried.

use std::time::Instant;

use crate::defaults::HOST_SHUNNED;

#[derive(Debug)]
pub(crate) struct Hosts {
    hosts: Vec<(String, Option<Instant>)>,
}

impl Hosts {
    pub(crate) fn new(hosts: Vec<String>) -> Self {
        let hosts = hosts.into_iter().map(|host| (host, None)).collect();
        Self { hosts }
    }

    pub(crate) fn order(&self, now: Instant) -> Vec<String> {
        let shunned = |failed: Option<Instant>| {
            failed.is_some_and(|at| now.saturating_duration_since(at) < HOST_SHUNNED)
        };
        let mut order: Vec<_> = self.hosts.iter().collect();
        order.sort_by_key(|(_, failed)| shunned(*failed));
        order.into_iter().map(|(host, _)| host.clone()).collect()
    }

    pub(crate) fn answered(&mut self, host: &str) {
        self.mark(host, None);
    }

    pub(crate) fn failed(&mut self, host: &str, now: Instant) {
        self.mark(host, Some(now));
    }

    fn mark(&mut self, host: &str, failed: Option<Instant>) {
        for (name, mark) in &mut self.hosts {
            if name == host {
                *mark = failed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_failed_is_asked_last_for_a_while() {
        let mut hosts = Hosts::new(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]);
        let now = Instant::now();
        assert_eq!(hosts.order(now), ["a", "b", "c"]);
        hosts.failed("a", now);
        assert_eq!(hosts.order(now), ["b", "c", "a"]);
        assert_eq!(hosts.order(now + HOST_SHUNNED), ["a", "b", "c"]);
        hosts.answered("a");
        assert_eq!(hosts.order(now), ["a", "b", "c"]);
    }
}
