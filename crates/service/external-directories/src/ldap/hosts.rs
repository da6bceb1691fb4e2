//! The order in which the hosts of a directory are tried: [`HostOrder`].
//!
//! Invariant: hosts are tried in the order of the settings, with recently failed ones last; all
//! are tried.

use std::time::Instant;

use crate::defaults::HOST_SHUNNED;

#[derive(Debug)]
pub(crate) struct HostOrder {
    hosts: Vec<(String, Option<Instant>)>,
}

impl HostOrder {
    pub(crate) fn new(hosts: Vec<String>) -> Self {
        let hosts = hosts.into_iter().map(|host| (host, None)).collect();
        Self { hosts }
    }

    pub(crate) fn to_ordered(&self, now: Instant) -> Vec<String> {
        let shunned = |failed: Option<Instant>| {
            failed.is_some_and(|at| now.saturating_duration_since(at) < HOST_SHUNNED)
        };
        let mut order: Vec<_> = self.hosts.iter().collect();
        order.sort_by_key(|(_, failed)| shunned(*failed));
        order.into_iter().map(|(host, _)| host.clone()).collect()
    }

    pub(crate) fn record_answered(&mut self, host: &str) {
        self.mark(host, None);
    }

    pub(crate) fn record_failed(&mut self, host: &str, now: Instant) {
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
        let mut hosts = HostOrder::new(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]);
        let now = Instant::now();
        assert_eq!(hosts.to_ordered(now), ["a", "b", "c"]);
        hosts.record_failed("a", now);
        assert_eq!(hosts.to_ordered(now), ["b", "c", "a"]);
        assert_eq!(hosts.to_ordered(now + HOST_SHUNNED), ["a", "b", "c"]);
        hosts.record_answered("a");
        assert_eq!(hosts.to_ordered(now), ["a", "b", "c"]);
    }
}
