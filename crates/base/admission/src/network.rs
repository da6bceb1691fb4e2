//! The origin of connections, as far as a client cannot choose it freely: [`PeerNetwork`].

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// An IPv4 address, or the /64 of an IPv6 address, the smallest network that a site is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerNetwork(IpAddr);

impl From<IpAddr> for PeerNetwork {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

impl fmt::Display for PeerNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V6(network) => write!(f, "{network}/64"),
            IpAddr::V4(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> PeerNetwork {
        PeerNetwork::from(address.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn ipv6_counts_by_its_64_and_ipv4_by_its_address() {
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.2"), network("192.0.2.1"));
        assert_eq!(network("2001:db8::1").to_string(), "2001:db8::/64");
        assert_eq!(network("192.0.2.1").to_string(), "192.0.2.1");
    }
}
