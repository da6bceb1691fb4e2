//! Deliveries that were taken: [`Deliveries`].

use std::collections::{HashSet, VecDeque};

use crate::defaults::DELIVERIES;

/// The last ones, by their names. The rule: it does not grow.
#[derive(Debug, Default)]
pub struct Deliveries {
    order: VecDeque<[u8; 32]>,
    known: HashSet<[u8; 32]>,
}

impl Deliveries {
    /// Notes one; `false`: it was taken before.
    pub fn take(&mut self, name: &str) -> bool {
        let name = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, name.as_bytes());
        let Ok(name) = name.as_ref().try_into() else {
            return true;
        };
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known_and_no_more() {
        let mut deliveries = Deliveries::default();
        assert!(deliveries.take("first"));
        assert!(!deliveries.take("first"));
        assert!((0..DELIVERIES).all(|number| deliveries.take(&number.to_string())));
        assert_eq!(deliveries.known.len(), DELIVERIES);
        assert_eq!(deliveries.order.len(), DELIVERIES);
        assert!(deliveries.take("first"), "it is long ago");
        assert!(!deliveries.take("7"));
    }
}
