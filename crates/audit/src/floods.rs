//! Counting refusals together: [`Floods`], without I/O.
//!
//! The rule: the first refusal of each kind in a window is an entry at once; those after it are
//! one entry with their number. However many kinds there are, a bounded number is told apart; and
//! callers whom nobody knows cannot use up the places of those who are known.

use std::collections::HashMap;

use store::NewAudit;

use crate::defaults::FLOOD_KEYS;

/// The refusals of one window.
#[derive(Debug, Default)]
pub(crate) struct Floods {
    known: Window,
    anonymous: Window,
}

#[derive(Debug, Default)]
struct Window {
    kinds: HashMap<Key, Counted>,
    /// The latest of those that found no place, and how many there are.
    others: Option<Counted>,
}

/// What makes two refusals the same.
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
    /// Takes a refusal; answers whether it has to be written at once.
    pub(crate) fn meet(&mut self, entry: &NewAudit) -> bool {
        let window = match entry.actor_type.as_str() {
            "anonymous" => &mut self.anonymous,
            _ => &mut self.known,
        };
        window.meet(entry)
    }

    /// Ends the window: what is still to be written of it.
    pub(crate) fn end(&mut self) -> Vec<NewAudit> {
        let mut entries = Vec::new();
        for window in [&mut self.known, &mut self.anonymous] {
            let window = std::mem::take(window);
            let repeated = window.kinds.into_values().filter(|kind| kind.times > 0);
            entries.extend(repeated.map(Counted::entry));
            entries.extend(window.others.map(Counted::of_many));
        }
        entries.sort_by_key(|entry| entry.at_ms);
        entries
    }
}

impl Window {
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
        match &mut self.others {
            Some(others) => others.add(entry),
            None => {
                let latest = entry.clone();
                self.others = Some(Counted { latest, times: 1 });
            }
        }
        false
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

    /// Of more kinds than are told apart: the names of one of them would be misleading.
    fn of_many(self) -> NewAudit {
        NewAudit {
            at_ms: self.latest.at_ms,
            phase: self.latest.phase,
            actor_type: self.latest.actor_type,
            service: self.latest.service,
            action: "various".to_owned(),
            decision: self.latest.decision,
            times: self.times,
            details: format!(r#"{{"more_kinds_than":{FLOOD_KEYS}}}"#),
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
}
