//! Counts similar refusals together: [`RefusalCounter`], without I/O.
//!
//! Invariants: the first refusal of each kind in a window is an entry at once; the following ones
//! are one entry with their number. The number of kinds that are counted separately is bounded.
//! Anonymous callers cannot use up the limit of known ones, nor one network that of all others.

use std::collections::HashMap;
use std::net::IpAddr;

use admission::PeerNetwork;
use store::NewAudit;

use crate::defaults::{FLOOD_KEYS, FLOOD_KEYS_PER_NETWORK};

/// The refusals of one window.
#[derive(Debug, Default)]
pub(crate) struct RefusalCounter {
    identified: AuditRefusalWindow,
    anonymous: AuditRefusalWindow,
    /// Anonymous callers by network, at most [`FLOOD_KEYS`]: each has a kind in `anonymous`.
    networks: HashMap<PeerNetwork, NetworkRefusals>,
}

#[derive(Debug, Default)]
struct AuditRefusalWindow {
    kinds: HashMap<RefusalKey, CountedRefusal>,
    /// The latest refusal that exceeded the limit, with the number of all such refusals.
    others: Option<CountedRefusal>,
}

/// The fraction of the anonymous limit that one network uses.
#[derive(Debug, Default)]
struct NetworkRefusals {
    kinds: usize,
    /// Refusals beyond the limit of the network.
    others: Option<CountedRefusal>,
}

/// The properties that equal refusals share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RefusalKey {
    actor: (String, String, String),
    address: Option<String>,
    action: String,
    permission: Option<String>,
    status: Option<i64>,
}

#[derive(Debug)]
struct CountedRefusal {
    latest: NewAudit,
    times: i64,
}

impl RefusalCounter {
    /// Counts a refusal; returns `true` if it must be written at once.
    pub(crate) fn count_refusal(&mut self, entry: &NewAudit) -> bool {
        if entry.actor_type != "anonymous" {
            return self.identified.count_refusal(entry);
        }
        let Some(network) = caller_network(entry) else {
            return self.anonymous.count_refusal(entry);
        };
        let share = self.networks.get_mut(&network);
        if let Some(share) = share.filter(|share| share.kinds >= FLOOD_KEYS_PER_NETWORK)
            && !self.anonymous.has_kind(entry)
        {
            count(&mut share.others, entry);
            return false;
        }
        let is_new_kind = self.anonymous.count_refusal(entry);
        if is_new_kind {
            self.networks.entry(network).or_default().kinds += 1;
        }
        is_new_kind
    }

    /// Ends the window; returns the entries that still have to be written.
    pub(crate) fn end_window(&mut self) -> Vec<NewAudit> {
        let mut entries = Vec::new();
        for (network, share) in std::mem::take(&mut self.networks) {
            let of_network = share.others.map(|others| NewAudit {
                address: Some(network.to_string()),
                ..others.entry_of_kinds(FLOOD_KEYS_PER_NETWORK)
            });
            entries.extend(of_network);
        }
        for window in [&mut self.identified, &mut self.anonymous] {
            let window = std::mem::take(window);
            let repeated = window.kinds.into_values().filter(|kind| kind.times > 0);
            entries.extend(repeated.map(CountedRefusal::entry));
            let others = window.others;
            entries.extend(others.map(|others| others.entry_of_kinds(FLOOD_KEYS)));
        }
        entries.sort_by_key(|entry| entry.at_ms);
        entries
    }
}

impl AuditRefusalWindow {
    fn has_kind(&self, entry: &NewAudit) -> bool {
        self.kinds.contains_key(&RefusalKey::of(entry))
    }

    fn count_refusal(&mut self, entry: &NewAudit) -> bool {
        let key = RefusalKey::of(entry);
        if let Some(counted) = self.kinds.get_mut(&key) {
            counted.count_again(entry);
            return false;
        }
        if self.kinds.len() < FLOOD_KEYS {
            let latest = entry.clone();
            self.kinds.insert(key, CountedRefusal { latest, times: 0 });
            return true;
        }
        count(&mut self.others, entry);
        false
    }
}

/// Network of the caller; `None` if the entry has no address.
fn caller_network(entry: &NewAudit) -> Option<PeerNetwork> {
    let address: IpAddr = entry.address.as_ref()?.parse().ok()?;
    Some(PeerNetwork::from(address))
}

/// Counts a refusal that has no kind of its own.
fn count(others: &mut Option<CountedRefusal>, entry: &NewAudit) {
    match others {
        Some(others) => others.count_again(entry),
        None => {
            let latest = entry.clone();
            *others = Some(CountedRefusal { latest, times: 1 });
        }
    }
}

impl RefusalKey {
    fn of(entry: &NewAudit) -> Self {
        let actor = (&entry.actor_type, &entry.actor_id, &entry.actor_name);
        Self {
            actor: (actor.0.clone(), actor.1.clone(), actor.2.clone()),
            address: entry.address.clone(),
            action: entry.action.clone(),
            permission: entry.permission.clone(),
            status: entry.status,
        }
    }
}

impl CountedRefusal {
    fn count_again(&mut self, entry: &NewAudit) {
        self.latest = entry.clone();
        self.times += 1;
    }

    fn entry(self) -> NewAudit {
        NewAudit {
            times: self.times,
            ..self.latest
        }
    }

    /// An entry for refusals of more than `kinds` kinds: the names of a single one would be
    /// misleading.
    fn entry_of_kinds(self, kinds: usize) -> NewAudit {
        NewAudit {
            at_ms: self.latest.at_ms,
            phase: self.latest.phase,
            actor_type: self.latest.actor_type,
            service: self.latest.service,
            action: "various".to_owned(),
            decision: self.latest.decision,
            times: self.times,
            details: format!(r#"{{"more_kinds_than":{kinds}}}"#),
            ..NewAudit::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(kind: &str, name: &str) -> NewAudit {
        NewAudit {
            phase: "denied".to_owned(),
            actor_type: kind.to_owned(),
            actor_name: name.to_owned(),
            times: 1,
            ..NewAudit::default()
        }
    }

    #[test]
    fn the_first_is_written_at_once_and_the_others_are_counted() {
        let mut floods = RefusalCounter::default();
        assert!(floods.count_refusal(&refusal("users", "a")));
        for _ in 0..999 {
            assert!(!floods.count_refusal(&refusal("users", "a")));
        }
        assert!(floods.count_refusal(&refusal("users", "b")));
        let rest = floods.end_window();
        assert_eq!(rest.len(), 1, "b came once and needs no more");
        assert_eq!((rest[0].actor_name.as_str(), rest[0].times), ("a", 999));
        assert!(floods.end_window().is_empty());
        assert!(floods.count_refusal(&refusal("users", "a")), "a new window");
    }

    #[test]
    fn a_flood_of_names_is_bounded_and_hides_nobody_who_is_known() {
        let mut floods = RefusalCounter::default();
        let name = |i: usize| refusal("anonymous", &i.to_string());
        let written = (0..10_000)
            .filter(|i| floods.count_refusal(&name(*i)))
            .count();
        assert_eq!(written, FLOOD_KEYS);
        assert!(floods.count_refusal(&refusal("users", "a")));
        let rest = floods.end_window();
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0].action, "various");
        assert_eq!(rest[0].times, 10_000 - i64::try_from(FLOOD_KEYS).unwrap());
    }

    #[test]
    fn one_network_with_invented_names_leaves_the_places_of_others() {
        let mut floods = RefusalCounter::default();
        let from = |address: &str, name: usize| NewAudit {
            address: Some(address.to_owned()),
            ..refusal("anonymous", &name.to_string())
        };
        // Two addresses of the same /64 network.
        let addresses = ["2001:db8::1", "2001:db8::2"];
        let invented = (0..10_000).filter(|i| floods.count_refusal(&from(addresses[i % 2], *i)));
        assert_eq!(invented.count(), FLOOD_KEYS_PER_NETWORK);
        assert!(
            !floods.count_refusal(&from(addresses[0], 0)),
            "counted as before"
        );
        assert!(
            floods.count_refusal(&from("192.0.2.1", 0)),
            "another network"
        );
        let rest = floods.end_window();
        assert_eq!(rest.len(), 2);
        let various = rest.iter().find(|entry| entry.action == "various");
        let various = various.expect("an entry for all beyond the share");
        assert_eq!(various.address.as_deref(), Some("2001:db8::/64"));
        assert_eq!(
            various.times,
            10_000 - i64::try_from(FLOOD_KEYS_PER_NETWORK).unwrap()
        );
        assert!(floods.count_refusal(&from(addresses[0], 1)), "a new window");
    }
}
