//! Counts similar refusals together: [`Floods`], without I/O.
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
pub(crate) struct Floods {
    known: Window,
    anonymous: Window,
    /// Anonymous callers by network, at most [`FLOOD_KEYS`]: each has a kind in `anonymous`.
    networks: HashMap<PeerNetwork, NetworkShare>,
}

#[derive(Debug, Default)]
struct Window {
    kinds: HashMap<Key, Counted>,
    /// The latest refusal that exceeded the limit, with the number of all such refusals.
    others: Option<Counted>,
}

/// The fraction of the anonymous limit that one network uses.
#[derive(Debug, Default)]
struct NetworkShare {
    kinds: usize,
    /// Refusals beyond the limit of the network.
    others: Option<Counted>,
}

/// The properties that equal refusals share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    actor: (String, String, String),
    address: Option<String>,
    action: String,
    permission: Option<String>,
    status: Option<i64>,
}

#[derive(Debug)]
struct Counted {
    latest: NewAudit,
    times: i64,
}

impl Floods {
    /// Counts a refusal; returns `true` if it must be written at once.
    pub(crate) fn meet(&mut self, entry: &NewAudit) -> bool {
        if entry.actor_type != "anonymous" {
            return self.known.meet(entry);
        }
        let Some(network) = network_of(entry) else {
            return self.anonymous.meet(entry);
        };
        let share = self.networks.get_mut(&network);
        if let Some(share) = share.filter(|share| share.kinds >= FLOOD_KEYS_PER_NETWORK)
            && !self.anonymous.knows(entry)
        {
            count(&mut share.others, entry);
            return false;
        }
        let is_new_kind = self.anonymous.meet(entry);
        if is_new_kind {
            self.networks.entry(network).or_default().kinds += 1;
        }
        is_new_kind
    }

    /// Ends the window; returns the entries that still have to be written.
    pub(crate) fn end(&mut self) -> Vec<NewAudit> {
        let mut entries = Vec::new();
        for (network, share) in std::mem::take(&mut self.networks) {
            let of_network = share.others.map(|others| NewAudit {
                address: Some(network.to_string()),
                ..others.of_many(FLOOD_KEYS_PER_NETWORK)
            });
            entries.extend(of_network);
        }
        for window in [&mut self.known, &mut self.anonymous] {
            let window = std::mem::take(window);
            let repeated = window.kinds.into_values().filter(|kind| kind.times > 0);
            entries.extend(repeated.map(Counted::entry));
            let others = window.others;
            entries.extend(others.map(|others| others.of_many(FLOOD_KEYS)));
        }
        entries.sort_by_key(|entry| entry.at_ms);
        entries
    }
}

impl Window {
    fn knows(&self, entry: &NewAudit) -> bool {
        self.kinds.contains_key(&Key::of(entry))
    }

    fn meet(&mut self, entry: &NewAudit) -> bool {
        let key = Key::of(entry);
        if let Some(counted) = self.kinds.get_mut(&key) {
            counted.add(entry);
            return false;
        }
        if self.kinds.len() < FLOOD_KEYS {
            let latest = entry.clone();
            self.kinds.insert(key, Counted { latest, times: 0 });
            return true;
        }
        count(&mut self.others, entry);
        false
    }
}

/// Network of the caller; `None` if the entry has no address.
fn network_of(entry: &NewAudit) -> Option<PeerNetwork> {
    let address: IpAddr = entry.address.as_ref()?.parse().ok()?;
    Some(PeerNetwork::from(address))
}

/// Counts a refusal that has no kind of its own.
fn count(others: &mut Option<Counted>, entry: &NewAudit) {
    match others {
        Some(others) => others.add(entry),
        None => {
            let latest = entry.clone();
            *others = Some(Counted { latest, times: 1 });
        }
    }
}

impl Key {
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

impl Counted {
    fn add(&mut self, entry: &NewAudit) {
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
    fn of_many(self, kinds: usize) -> NewAudit {
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
        let mut floods = Floods::default();
        assert!(floods.meet(&refusal("users", "a")));
        for _ in 0..999 {
            assert!(!floods.meet(&refusal("users", "a")));
        }
        assert!(floods.meet(&refusal("users", "b")));
        let rest = floods.end();
        assert_eq!(rest.len(), 1, "b came once and needs no more");
        assert_eq!((rest[0].actor_name.as_str(), rest[0].times), ("a", 999));
        assert!(floods.end().is_empty());
        assert!(floods.meet(&refusal("users", "a")), "a new window");
    }

    #[test]
    fn a_flood_of_names_is_bounded_and_hides_nobody_who_is_known() {
        let mut floods = Floods::default();
        let name = |i: usize| refusal("anonymous", &i.to_string());
        let written = (0..10_000).filter(|i| floods.meet(&name(*i))).count();
        assert_eq!(written, FLOOD_KEYS);
        assert!(floods.meet(&refusal("users", "a")));
        let rest = floods.end();
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0].action, "various");
        assert_eq!(rest[0].times, 10_000 - i64::try_from(FLOOD_KEYS).unwrap());
    }

    #[test]
    fn one_network_with_invented_names_leaves_the_places_of_others() {
        let mut floods = Floods::default();
        let from = |address: &str, name: usize| NewAudit {
            address: Some(address.to_owned()),
            ..refusal("anonymous", &name.to_string())
        };
        // Two addresses of the same /64 network.
        let addresses = ["2001:db8::1", "2001:db8::2"];
        let invented = (0..10_000).filter(|i| floods.meet(&from(addresses[i % 2], *i)));
        assert_eq!(invented.count(), FLOOD_KEYS_PER_NETWORK);
        assert!(!floods.meet(&from(addresses[0], 0)), "counted as before");
        assert!(floods.meet(&from("192.0.2.1", 0)), "another network");
        let rest = floods.end();
        assert_eq!(rest.len(), 2);
        let various = rest.iter().find(|entry| entry.action == "various");
        let various = various.expect("an entry for all beyond the share");
        assert_eq!(various.address.as_deref(), Some("2001:db8::/64"));
        assert_eq!(
            various.times,
            10_000 - i64::try_from(FLOOD_KEYS_PER_NETWORK).unwrap()
        );
        assert!(floods.meet(&from(addresses[0], 1)), "a new window");
    }
}
