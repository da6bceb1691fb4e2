//! Selection of the next broker to try.
//!
//! [`BrokerList`] is the configured list and a position in it; it has no sockets or clocks.
//! Invariant: a broker is left only after it failed, every broker of the list is tried once before
//! the back-off grows, and the first of the list is the preferred one, to which the agent returns.

use std::fmt;
use std::str::FromStr;

use rand::Rng;
use rand::seq::SliceRandom;

use crate::{authority, defaults};

/// Address of a broker, `wss://host[:port][/path]`, as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerUri {
    text: String,
    host: String,
    port: u16,
    path: String,
}

/// Reason for which a text is not the address of a broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokerUriError {
    /// The text begins with `ws://` or `https://`, or has no scheme.
    #[error("broker address '{0}' must start with wss://")]
    NotWss(String),
    /// The text is not a URI, or has no host.
    #[error("broker address '{0}' is not of the form wss://HOST[:PORT]/PATH")]
    Malformed(String),
}

/// The list of brokers and the position of the one in use.
#[derive(Debug)]
pub struct BrokerList {
    uris: Vec<BrokerUri>,
    current: usize,
    failed_in_a_row: usize,
}

// === impl BrokerUri ===

impl BrokerUri {
    /// Host name or address, without the brackets of an IPv6 literal.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port; 8142 if none is given.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Path with its leading slash and, if any, query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path with the client type appended, as PCP version 2 requires: `/pcp2` and `/pcp2/` both
    /// become `/pcp2/agent`.
    pub fn path_with_type(&self, client_type: &str) -> String {
        let (path, query) = match self.path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (self.path.as_str(), None),
        };
        let slash = if path.ends_with('/') { "" } else { "/" };
        match query {
            Some(query) => format!("{path}{slash}{client_type}?{query}"),
            None => format!("{path}{slash}{client_type}"),
        }
    }

    /// `host:port` for the `Host` header and the proxy's `CONNECT` line.
    pub fn authority(&self) -> String {
        authority::format(&self.host, self.port)
    }
}

impl fmt::Display for BrokerUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for BrokerUri {
    type Err = BrokerUriError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.starts_with("wss://") {
            return Err(BrokerUriError::NotWss(text.to_owned()));
        }
        let malformed = || BrokerUriError::Malformed(text.to_owned());
        let uri: http::Uri = text.parse().map_err(|_| malformed())?;
        let (host, port) = uri
            .authority()
            .and_then(|found| authority::parse(found.as_str()))
            .ok_or_else(malformed)?;
        Ok(Self {
            text: text.to_owned(),
            host,
            port: port.unwrap_or(defaults::BROKER_PORT),
            path: uri
                .path_and_query()
                .map_or("/", http::uri::PathAndQuery::as_str)
                .to_owned(),
        })
    }
}

// === impl BrokerList ===

impl BrokerList {
    /// Creates the list from `uris` in order of preference; `None` if it is empty.
    pub fn new(uris: Vec<BrokerUri>) -> Option<Self> {
        (!uris.is_empty()).then_some(Self {
            uris,
            current: 0,
            failed_in_a_row: 0,
        })
    }

    /// Shuffles the list, so that a fleet with the same list does not put all its load on the first
    /// broker.
    pub fn shuffle(&mut self, rng: &mut impl Rng) {
        self.uris.shuffle(rng);
    }

    /// The broker to try or in use.
    pub fn current(&self) -> &BrokerUri {
        &self.uris[self.current]
    }

    /// The preferred broker: the first of the list.
    pub fn preferred(&self) -> &BrokerUri {
        &self.uris[0]
    }

    /// True if the broker in use is the preferred one.
    pub fn is_preferred(&self) -> bool {
        self.current == 0
    }

    /// Records that the current broker works.
    pub fn record_settled(&mut self) {
        self.failed_in_a_row = 0;
    }

    /// Records that the current broker failed, and moves to the next. True if every broker of the
    /// list has now failed once, so that it is time to wait.
    pub fn record_failure(&mut self) -> bool {
        self.current = (self.current + 1) % self.uris.len();
        self.failed_in_a_row += 1;
        let round_over = self.failed_in_a_row >= self.uris.len();
        if round_over {
            self.failed_in_a_row = 0;
        }
        round_over
    }

    /// Switches to the preferred broker, which is reachable again.
    pub fn select_preferred(&mut self) {
        self.current = 0;
        self.failed_in_a_row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brokers(count: usize) -> BrokerList {
        let uris = (0..count)
            .map(|n| {
                format!("wss://b{n}:8142/pcp2/")
                    .parse()
                    .expect("an address")
            })
            .collect();
        BrokerList::new(uris).expect("at least one")
    }

    #[test]
    fn addresses_are_taken_apart() {
        let cases = [
            ("wss://b:8142/pcp2/", "b", 8142, "/pcp2/", "/pcp2/agent"),
            ("wss://b:9999/pcp2", "b", 9999, "/pcp2", "/pcp2/agent"),
            ("wss://b/pcp", "b", 8142, "/pcp", "/pcp/agent"),
            ("wss://b", "b", 8142, "/", "/agent"),
            ("wss://[::1]:1/x", "::1", 1, "/x", "/x/agent"),
            ("wss://b/p?q=1", "b", 8142, "/p?q=1", "/p/agent?q=1"),
        ];
        for (text, host, port, path, with_type) in cases {
            let uri: BrokerUri = text.parse().expect(text);
            assert_eq!(
                (uri.host(), uri.port(), uri.path()),
                (host, port, path),
                "{text}"
            );
            assert_eq!(uri.path_with_type("agent"), with_type, "{text}");
            assert_eq!(uri.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_broker_is_refused() {
        for text in ["", "b:8142", "ws://b:8142/", "https://b/", "WSS://b/"] {
            assert_eq!(
                text.parse::<BrokerUri>(),
                Err(BrokerUriError::NotWss(text.into()))
            );
        }
        for text in [
            "wss://",
            "wss:///pcp2",
            "wss://b:99999/",
            "wss://b:x/",
            "wss://a b/",
            "wss://user:secret@b/",
        ] {
            assert_eq!(
                text.parse::<BrokerUri>(),
                Err(BrokerUriError::Malformed(text.into()))
            );
        }
    }

    #[test]
    fn every_broker_is_tried_once_before_it_is_time_to_wait() {
        let mut list = brokers(3);
        let mut tried = Vec::new();
        for _ in 0..6 {
            let name = list.current().host().to_owned();
            tried.push((name, list.record_failure()));
        }
        let expected = [("b0", false), ("b1", false), ("b2", true)].repeat(2);
        let tried: Vec<_> = tried
            .iter()
            .map(|(name, over)| (name.as_str(), *over))
            .collect();
        assert_eq!(tried, expected);
    }

    #[test]
    fn a_round_begins_anew_where_a_broker_worked() {
        let mut list = brokers(3);
        list.record_failure();
        list.record_settled();
        assert_eq!(list.current().host(), "b1");
        let rounds: Vec<bool> = (0..3).map(|_| list.record_failure()).collect();
        assert_eq!(rounds, [false, false, true]);
        assert_eq!(list.current().host(), "b1");
        list.select_preferred();
        assert!(list.is_preferred());
    }
}
