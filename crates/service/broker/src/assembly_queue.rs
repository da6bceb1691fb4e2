//! Decides the order in which large messages are received: [`AssemblyQueue`], without I/O.
//!
//! Invariants: memory is reserved for the bytes that have arrived and the next step, never for the
//! announced length; a certname has one active large message; when the budget is used up, the
//! oldest message continues all the same, so that it completes and the others follow. At worst the
//! budget and one message are reserved.

use std::collections::{BTreeSet, HashMap, VecDeque};

use pcp::Certname;

/// Number of a message in the queue; a smaller one began earlier.
pub(crate) type MessageNumber = u64;

#[derive(Debug)]
pub(crate) struct AssemblyQueue {
    budget_bytes: usize,
    reserved_bytes: usize,
    messages: HashMap<MessageNumber, LargeMessage>,
    /// Messages whose certname has no earlier one.
    active: BTreeSet<MessageNumber>,
    /// Active messages that wait for memory.
    waiting: BTreeSet<MessageNumber>,
    /// Messages of each certname in order; the first is active.
    turns: HashMap<Certname, VecDeque<MessageNumber>>,
    next_number: MessageNumber,
}

#[derive(Debug)]
struct LargeMessage {
    certname: Certname,
    reserved_bytes: usize,
    requested_bytes: usize,
}

// === impl AssemblyQueue ===

impl AssemblyQueue {
    pub(crate) fn new(budget_bytes: usize) -> Self {
        Self {
            budget_bytes,
            reserved_bytes: 0,
            messages: HashMap::new(),
            active: BTreeSet::new(),
            waiting: BTreeSet::new(),
            turns: HashMap::new(),
            next_number: 0,
        }
    }

    /// Begins a large message that needs `bytes`. Returns its number, and true if the bytes are
    /// reserved.
    pub(crate) fn begin(&mut self, certname: &Certname, bytes: usize) -> (MessageNumber, bool) {
        let number = self.next_number;
        self.next_number += 1;
        let message = LargeMessage {
            certname: certname.clone(),
            reserved_bytes: 0,
            requested_bytes: bytes,
        };
        self.messages.insert(number, message);
        let turns = self.turns.entry(certname.clone()).or_default();
        turns.push_back(number);
        let has_turn = turns.len() == 1;
        (number, has_turn && self.activate(number))
    }

    /// Extends a message to `bytes` in all. Returns true if they are reserved.
    pub(crate) fn grow(&mut self, number: MessageNumber, bytes: usize) -> bool {
        if let Some(message) = self.messages.get_mut(&number) {
            message.requested_bytes = message.requested_bytes.max(bytes);
        }
        self.active.contains(&number) && self.grant_or_wait(number)
    }

    /// Ends a message. Returns the numbers of the messages that received their memory by that.
    pub(crate) fn end(&mut self, number: MessageNumber) -> Vec<MessageNumber> {
        let Some(message) = self.messages.remove(&number) else {
            return Vec::new();
        };
        self.reserved_bytes -= message.reserved_bytes;
        self.active.remove(&number);
        self.waiting.remove(&number);
        let mut granted = Vec::new();
        if let Some(next) = self.end_turn(&message.certname, number)
            && self.activate(next)
        {
            granted.push(next);
        }
        let waiting: Vec<MessageNumber> = self.waiting.iter().copied().collect();
        for number in waiting {
            if !self.grant_or_wait(number) {
                break;
            }
            granted.push(number);
        }
        granted
    }

    pub(crate) fn has_what_it_wants(&self, number: MessageNumber) -> bool {
        let message = self.messages.get(&number);
        message.is_none_or(|message| message.reserved_bytes >= message.requested_bytes)
    }

    pub(crate) fn reserved_bytes(&self) -> usize {
        self.reserved_bytes
    }

    fn activate(&mut self, number: MessageNumber) -> bool {
        self.active.insert(number);
        self.grant_or_wait(number)
    }

    fn grant_or_wait(&mut self, number: MessageNumber) -> bool {
        let Some(message) = self.messages.get_mut(&number) else {
            return true;
        };
        let more = message
            .requested_bytes
            .saturating_sub(message.reserved_bytes);
        let is_oldest = self.active.first() == Some(&number);
        let is_next = self.waiting.first().is_none_or(|first| *first >= number);
        let fits = self.reserved_bytes + more <= self.budget_bytes;
        let is_granted = more == 0 || is_oldest || (is_next && fits);
        if is_granted {
            message.reserved_bytes += more;
            self.reserved_bytes += more;
            self.waiting.remove(&number);
        } else {
            self.waiting.insert(number);
        }
        is_granted
    }

    /// Removes a message from the order of its certname; returns the next one if that becomes
    /// active.
    fn end_turn(&mut self, certname: &Certname, number: MessageNumber) -> Option<MessageNumber> {
        let turns = self.turns.get_mut(certname)?;
        let had_turn = turns.front() == Some(&number);
        turns.retain(|queued| *queued != number);
        let next = turns.front().copied();
        if next.is_none() {
            self.turns.remove(certname);
        }
        next.filter(|_| had_turn)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(index: u8) -> Certname {
        format!("node{index}.example").parse().unwrap()
    }

    #[test]
    fn a_certname_has_one_large_message_at_a_time() {
        let mut queue = AssemblyQueue::new(100);
        let (first, granted) = queue.begin(&name(1), 10);
        assert!(granted);
        let (second, granted) = queue.begin(&name(1), 10);
        assert!(!granted, "the first is not done");
        assert_eq!(queue.reserved_bytes(), 10, "what waits has nothing");
        assert!(queue.begin(&name(2), 10).1, "others are not held up");
        assert_eq!(queue.end(first), [second]);
        assert!(queue.has_what_it_wants(second));
    }

    #[test]
    fn a_used_up_budget_stops_all_but_the_oldest() {
        let mut queue = AssemblyQueue::new(100);
        let (first, _) = queue.begin(&name(1), 50);
        let (second, _) = queue.begin(&name(2), 50);
        assert!(!queue.grow(second, 60));
        let (third, granted) = queue.begin(&name(3), 1);
        assert!(!granted);
        assert!(queue.grow(first, 90), "the oldest comes to its end");
        assert_eq!(queue.end(first), [second, third]);
        assert_eq!(queue.reserved_bytes(), 61);
    }

    #[test]
    fn one_that_gives_up_in_the_queue_leaves_the_others_their_turn() {
        let mut queue = AssemblyQueue::new(100);
        let (first, _) = queue.begin(&name(1), 10);
        let (second, _) = queue.begin(&name(1), 10);
        let (third, _) = queue.begin(&name(1), 10);
        assert!(queue.end(second).is_empty());
        assert_eq!(queue.end(first), [third]);
        assert!(queue.end(third).is_empty());
        assert_eq!(queue.reserved_bytes(), 0);
        assert!(queue.turns.is_empty() && queue.active.is_empty());
    }

    proptest! {
        /// In every order: the reserved bytes are bounded by the budget and one message, each
        /// certname has one active message, and the oldest active message is never waiting.
        #[test]
        fn bounds_hold_in_every_order(
            steps in prop::collection::vec((0u8..3, 0u8..5, 0u64..60, 1usize..40), 1..200)
        ) {
            let mut queue = AssemblyQueue::new(64);
            for (kind, certname, number, bytes) in steps {
                match kind {
                    0 => _ = queue.begin(&name(certname), bytes),
                    1 => _ = queue.grow(number, bytes),
                    _ => _ = queue.end(number),
                }
                let reserved: usize = queue.messages.values().map(|m| m.reserved_bytes).sum();
                prop_assert_eq!(reserved, queue.reserved_bytes);
                prop_assert!(queue.reserved_bytes < 64 + 40);
                prop_assert_eq!(queue.active.len(), queue.turns.len());
                if let Some(oldest) = queue.active.first() {
                    prop_assert!(!queue.waiting.contains(oldest));
                }
            }
        }
    }
}
