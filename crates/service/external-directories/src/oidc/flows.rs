//! Pending logins: [`LoginFlows`].
//!
//! Invariants: each login is taken once, whatever its result; an expired one is not returned; and
//! new ones displace the oldest, so that the memory is bounded.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use secrecy::SecretString;

use crate::defaults::{FLOW_LIFE, FLOWS};

/// State of a login until the browser returns.
#[derive(Debug)]
pub(crate) struct LoginFlow {
    /// SHA-256 of the handle of the client that began the login.
    pub(crate) handle: [u8; 32],
    /// Nonce that the ID token must contain.
    pub(crate) nonce: String,
    /// Code verifier of PKCE.
    pub(crate) verifier: SecretString,
    /// Redirect URI that was sent to the provider.
    pub(crate) redirect_uri: String,
}

#[derive(Debug, Default)]
pub(crate) struct LoginFlows {
    by_state: HashMap<[u8; 32], (LoginFlow, Instant)>,
    /// Oldest first, including logins that were taken already.
    order: VecDeque<([u8; 32], Instant)>,
}

impl LoginFlows {
    pub(crate) fn begin(&mut self, state: [u8; 32], flow: LoginFlow, now: Instant) {
        self.sweep(now);
        self.by_state.insert(state, (flow, now));
        self.order.push_back((state, now));
    }

    pub(crate) fn take(&mut self, state: &[u8; 32], now: Instant) -> Option<LoginFlow> {
        let (flow, begun) = self.by_state.remove(state)?;
        let age = now.saturating_duration_since(begun);
        (age < FLOW_LIFE).then_some(flow)
    }

    fn sweep(&mut self, now: Instant) {
        while let Some((state, begun)) = self.order.front() {
            let is_old = now.saturating_duration_since(*begun) >= FLOW_LIFE;
            if !is_old && self.order.len() < FLOWS {
                return;
            }
            self.by_state.remove(state);
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn flow() -> LoginFlow {
        LoginFlow {
            handle: [0; 32],
            nonce: String::new(),
            verifier: SecretString::from(String::new()),
            redirect_uri: String::new(),
        }
    }

    fn state(n: usize) -> [u8; 32] {
        let mut state = [0; 32];
        state[..8].copy_from_slice(&n.to_be_bytes());
        state
    }

    #[test]
    fn one_is_taken_once_and_not_when_it_is_old() {
        let (mut flows, now) = (LoginFlows::default(), Instant::now());
        flows.begin(state(1), flow(), now);
        flows.begin(state(2), flow(), now);
        assert!(flows.take(&state(1), now).is_some());
        assert!(flows.take(&state(1), now).is_none());
        assert!(flows.take(&state(2), now + FLOW_LIFE).is_none());
        assert!(flows.take(&state(3), now).is_none());
    }

    #[test]
    fn more_make_the_oldest_go() {
        let (mut flows, now) = (LoginFlows::default(), Instant::now());
        for n in 0..FLOWS * 2 {
            flows.begin(
                state(n),
                flow(),
                now + Duration::from_millis(n as u64 / 100),
            );
        }
        assert!(flows.by_state.len() <= FLOWS && flows.order.len() <= FLOWS);
        assert!(flows.take(&state(0), now).is_none());
        assert!(flows.take(&state(FLOWS * 2 - 1), now).is_some());
        flows.begin(state(0), flow(), now + FLOW_LIFE * 2);
        assert_eq!((flows.by_state.len(), flows.order.len()), (1, 1));
    }
}
