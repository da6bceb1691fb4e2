//! Addresses of this machine, for `$serverip` and `$serverip6`: [`ServerAddresses`].
//!
//! Invariant: nothing is sent, and an address that only this machine reaches is left out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The addresses at which nodes reach this machine, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ServerAddresses {
    pub(crate) v4: Option<Ipv4Addr>,
    pub(crate) v6: Option<Ipv6Addr>,
}

impl ServerAddresses {
    /// The address on which the server listens, else that of the interface with the default route, which
    /// is the one that Facter reports.
    pub(crate) fn find(listen: SocketAddr) -> Self {
        let mut found = Self { v4: None, v6: None };
        match listen.ip() {
            address if address.is_unspecified() || address.is_loopback() => {
                found.v4 = v4_of(route_source(DOCUMENTATION_V4));
                found.v6 = v6_of(route_source(DOCUMENTATION_V6));
            }
            address => {
                found.v4 = v4_of(Some(address));
                found.v6 = v6_of(Some(address));
            }
        }
        found
    }
}

/// Addresses of no machine (RFC 5737 and RFC 3849), which are reached by the default route.
const DOCUMENTATION_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const DOCUMENTATION_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

/// Any port: a datagram socket that is connected sends nothing.
const DISCARD_PORT: u16 = 9;

/// The address from which this machine would send to another one; `None` without a route.
fn route_source(to: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match to {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((to, DISCARD_PORT)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn v4_of(address: Option<IpAddr>) -> Option<Ipv4Addr> {
    match address? {
        IpAddr::V4(address) if !address.is_unspecified() && !address.is_loopback() => Some(address),
        _ => None,
    }
}

fn v6_of(address: Option<IpAddr>) -> Option<Ipv6Addr> {
    match address? {
        IpAddr::V6(address) if !address.is_unspecified() && !address.is_loopback() => Some(address),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::ServerAddresses;

    #[test]
    fn the_listening_address_is_that_of_the_server() {
        let found = ServerAddresses::find("192.0.2.7:8140".parse().unwrap());
        assert_eq!(found.v4, Some("192.0.2.7".parse().unwrap()));
        assert_eq!(found.v6, None);
        let found = ServerAddresses::find("[2001:db8::7]:8140".parse().unwrap());
        assert_eq!(found.v4, None);
        assert_eq!(found.v6, Some("2001:db8::7".parse().unwrap()));
    }

    #[test]
    fn addresses_that_only_this_machine_reaches_are_left_out() {
        for listen in ["0.0.0.0:8140", "[::]:8140", "127.0.0.1:8140", "[::1]:8140"] {
            let found = ServerAddresses::find(listen.parse().unwrap());
            assert!(
                found
                    .v4
                    .is_none_or(|it| !it.is_loopback() && !it.is_unspecified())
            );
            assert!(
                found
                    .v6
                    .is_none_or(|it| !it.is_loopback() && !it.is_unspecified())
            );
        }
    }
}
