//! Recognition of replayed webhooks: [`WebhookDeliveries`].

use std::collections::{HashSet, VecDeque};

use crate::defaults::DELIVERIES;

/// Replay ids of the last webhooks. Invariant: there are at most [`DELIVERIES`].
#[derive(Debug, Default)]
pub struct WebhookDeliveries {
    order: VecDeque<[u8; 32]>,
    known: HashSet<[u8; 32]>,
}

impl WebhookDeliveries {
    /// Records an id; `false` if it is known already.
    pub fn record(&mut self, name: &str) -> bool {
        let name = digest(name.as_bytes());
        if !self.known.insert(name) {
            return false;
        }
        self.order.push_back(name);
        if self.order.len() > DELIVERIES
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }

    /// Records all ids. If one is known already, records none and returns that one.
    pub fn record_all<'n>(&mut self, names: &'n [String]) -> Result<(), &'n str> {
        let is_known = |name: &&String| self.known.contains(&digest(name.as_bytes()));
        if let Some(known) = names.iter().find(is_known) {
            return Err(known);
        }
        for name in names {
            self.record(name);
        }
        Ok(())
    }

    /// Forgets ids of webhooks that had no effect, so that they may be delivered again.
    pub fn forget(&mut self, names: &[String]) {
        for name in names {
            let name = digest(name.as_bytes());
            if self.known.remove(&name) {
                self.order.retain(|other| *other != name);
            }
        }
    }
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    let whole = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    digest.copy_from_slice(whole.as_ref());
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_all_are_taken_or_none() {
        let mut deliveries = WebhookDeliveries::default();
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(deliveries.record_all(&names(&["id 1", "body"])), Ok(()));
        assert_eq!(
            deliveries.record_all(&names(&["id 2", "body"])),
            Err("body")
        );
        assert!(deliveries.record("id 2"), "it was not taken with the other");
        deliveries.forget(&names(&["id 1", "body", "never"]));
        assert_eq!(deliveries.record_all(&names(&["id 1", "body"])), Ok(()));
        assert_eq!(deliveries.order.len(), 3);
    }

    #[test]
    fn the_last_ones_are_known_and_no_more() {
        let mut deliveries = WebhookDeliveries::default();
        assert!(deliveries.record("first"));
        assert!(!deliveries.record("first"));
        assert!((0..DELIVERIES).all(|number| deliveries.record(&number.to_string())));
        assert_eq!(deliveries.known.len(), DELIVERIES);
        assert_eq!(deliveries.order.len(), DELIVERIES);
        assert!(deliveries.record("first"), "it is long ago");
        assert!(!deliveries.record("7"));
    }
}
