//! Requests that wait for a signature, by the network of their sender: [`WaitingRequests`].
//!
//! Invariant: any client may submit a request, so each network may have only a limited part of the
//! list, and a full list still accepts a request of a network with fewer requests than another. The
//! network is recorded in the file of the request, above the PEM block, where other tools ignore
//! it, so the limit survives restarts and applies to every process.

pub use super::request_source::RequestSource;
use std::collections::HashMap;
use std::time::{Instant, SystemTime};

use super::error::CaError;
use super::layout::{CaLayout, CertFile};
use super::listing::files_in;
use crate::defaults::{MAX_PENDING_PER_SOURCE, MAX_PENDING_REQUESTS, WAITING_LIST_FRESH};

/// The waiting requests as they were read at most [`WAITING_LIST_FRESH`] ago, with the later
/// changes of this process. Callers hold the authority's lock, except for [`Self::is_full_for`].
#[derive(Debug, Default)]
pub(super) struct WaitingRequests {
    by_name: HashMap<String, WaitingRequest>,
    counts: HashMap<RequestSource, usize>,
    read_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct WaitingRequest {
    source: RequestSource,
    since: SystemTime,
}

// === impl WaitingRequests ===

impl WaitingRequests {
    /// Reads the list again unless it is fresh: another process may have changed it.
    pub(super) fn refresh(&mut self, layout: &CaLayout, now: Instant) -> Result<(), CaError> {
        if self.is_fresh(now) {
            return Ok(());
        }
        self.read_at = None;
        self.counts.clear();
        let mut before = std::mem::take(&mut self.by_name);
        for file in files_in(&layout.requests_dir())? {
            let name = file.certname();
            let (name, request) = match before.remove_entry(name) {
                Some(known) => known,
                None => match WaitingRequest::read(layout, &file) {
                    Some(request) => (name.to_owned(), request),
                    None => continue,
                },
            };
            self.insert(name, request);
        }
        self.read_at = Some(now);
        Ok(())
    }

    /// Records that this process has stored a request.
    pub(super) fn add(&mut self, certname: &str, source: RequestSource) {
        let since = SystemTime::now();
        self.insert(certname.to_owned(), WaitingRequest { source, since });
    }

    /// Records that this process has removed a request, or that there was none.
    pub(super) fn remove(&mut self, certname: &str) {
        if let Some(request) = self.by_name.remove(certname) {
            self.uncount(request.source);
        }
    }

    /// True if a fresh list shows that `source` is at its limit: a request for a new name is then
    /// refused without being parsed.
    pub(super) fn is_full_for(&self, source: RequestSource, now: Instant) -> bool {
        self.is_fresh(now) && self.count(source) >= MAX_PENDING_PER_SOURCE
    }

    /// Checks that a request from `source` may wait. Returns the name of the request that must be
    /// removed for it, if any.
    pub(super) fn admit(&self, source: RequestSource) -> Result<Option<String>, CaError> {
        self.admit_within(source, MAX_PENDING_PER_SOURCE, MAX_PENDING_REQUESTS)
    }

    fn admit_within(
        &self,
        source: RequestSource,
        per_source: usize,
        total: usize,
    ) -> Result<Option<String>, CaError> {
        let own = self.count(source);
        if own >= per_source {
            return Err(CaError::SourceFull {
                source_network: source,
                limit: per_source,
            });
        }
        if self.by_name.len() < total {
            return Ok(None);
        }
        let greediest = self.counts.iter().max_by_key(|(_, count)| **count);
        match greediest {
            Some((greedy, count)) if *count > own => Ok(self.oldest_of(*greedy)),
            _ => Err(CaError::TooManyRequests { limit: total }),
        }
    }

    fn is_fresh(&self, now: Instant) -> bool {
        let age = |read_at: Instant| now.saturating_duration_since(read_at);
        self.read_at
            .is_some_and(|read_at| age(read_at) < WAITING_LIST_FRESH)
    }

    fn count(&self, source: RequestSource) -> usize {
        self.counts.get(&source).copied().unwrap_or(0)
    }

    fn insert(&mut self, certname: String, request: WaitingRequest) {
        *self.counts.entry(request.source).or_default() += 1;
        if let Some(before) = self.by_name.insert(certname, request) {
            self.uncount(before.source);
        }
    }

    fn uncount(&mut self, source: RequestSource) {
        if let Some(count) = self.counts.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&source);
            }
        }
    }

    fn oldest_of(&self, source: RequestSource) -> Option<String> {
        let of_source = self.by_name.iter().filter(|(_, it)| it.source == source);
        let oldest = of_source.min_by_key(|(name, request)| (request.since, *name));
        oldest.map(|(name, _)| name.clone())
    }
}

// === impl WaitingRequest ===

impl WaitingRequest {
    /// Reads one request. `None` if another process removed it meanwhile, or if it cannot be read,
    /// which the listing reports.
    fn read(layout: &CaLayout, file: &CertFile) -> Option<Self> {
        let path = layout.request(file);
        let since = path.metadata().and_then(|meta| meta.modified()).ok()?;
        let source = RequestSource::read(&path).ok()?;
        Some(Self { source, since })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn source(address: &str) -> RequestSource {
        RequestSource::new(Some(address.parse().unwrap()))
    }

    /// Requests for each `name` from an address, each a second younger than the one before.
    fn waiting(requests: &[(&str, &str)]) -> WaitingRequests {
        let one = |(age, (name, address)): (u64, &(&str, &str))| {
            let since = SystemTime::UNIX_EPOCH + Duration::from_secs(age);
            let request = WaitingRequest {
                source: source(address),
                since,
            };
            ((*name).to_owned(), request)
        };
        let mut list = WaitingRequests::default();
        for (name, request) in (0..).zip(requests).map(one) {
            list.insert(name, request);
        }
        list
    }

    #[test]
    fn a_source_is_an_ipv4_address_or_an_ipv6_network() {
        assert_eq!(source("10.0.0.1"), source("::ffff:10.0.0.1"));
        assert_ne!(source("10.0.0.1"), source("10.0.0.2"));
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("2001:db8::1").to_string(), "2001:db8::/64");
        assert_eq!(
            source("10.0.0.1").to_header(),
            "# submitted from 10.0.0.1\n"
        );
    }

    #[test]
    fn one_source_has_a_share_of_the_list() {
        let list = waiting(&[("a", "10.0.0.1"), ("b", "10.0.0.1")]);
        let refused = list.admit_within(source("10.0.0.1"), 2, 10).unwrap_err();
        assert!(matches!(refused, CaError::SourceFull { limit: 2, .. }));
        assert!(refused.to_string().contains("10.0.0.1"), "{refused}");
        let other = list.admit_within(source("10.0.0.2"), 2, 10).unwrap();
        assert_eq!(other, None);
    }

    #[test]
    fn a_full_list_drops_the_oldest_of_the_greediest() {
        let list = waiting(&[
            ("a", "10.0.0.2"),
            ("b", "10.0.0.1"),
            ("c", "10.0.0.1"),
            ("d", "10.0.0.1"),
        ]);
        let admit = |address| list.admit_within(source(address), 4, 4);
        assert_eq!(admit("10.0.0.3").unwrap().as_deref(), Some("b"));
        assert_eq!(admit("10.0.0.2").unwrap().as_deref(), Some("b"));
        let greedy = admit("10.0.0.1").unwrap_err();
        assert!(matches!(greedy, CaError::TooManyRequests { limit: 4 }));
    }

    #[test]
    fn changes_of_this_process_count_without_reading_again() {
        let now = Instant::now();
        let mut list = waiting(&[("a", "10.0.0.1")]);
        let one = source("10.0.0.1");
        list.read_at = Some(now);
        for number in 1..MAX_PENDING_PER_SOURCE {
            assert!(!list.is_full_for(one, now), "{number}");
            list.add(&number.to_string(), one);
        }
        assert!(list.is_full_for(one, now));
        assert!(!list.is_full_for(source("10.0.0.2"), now));
        // An old list alone refuses nothing.
        assert!(!list.is_full_for(one, now + WAITING_LIST_FRESH));
        // The same name is not counted twice, and a removed request no longer counts.
        list.add("a", source("10.0.0.2"));
        assert!(!list.is_full_for(one, now));
        list.add("b", one);
        assert!(list.is_full_for(one, now));
        list.remove("b");
        list.remove("b");
        assert!(!list.is_full_for(one, now));
    }
}
