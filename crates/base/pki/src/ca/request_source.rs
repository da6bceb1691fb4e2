//! The origin of a certificate request: [`RequestSource`].

use std::fmt;
use std::io::Read as _;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

const HEADER: &str = "# submitted from ";

/// Size limit of a header; the one with the longest address has 58 bytes.
const HEADER_BYTES: u64 = 64;

/// The network that a request came from: an IPv4 address, or the first 64 bits of an IPv6 address,
/// which is the smallest network that a site gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestSource(Option<IpAddr>);

impl RequestSource {
    /// The source of a request from this address; `None` is a separate source.
    pub fn new(address: Option<IpAddr>) -> Self {
        Self(address.map(|address| match address.to_canonical() {
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
            v4 @ IpAddr::V4(_) => v4,
        }))
    }

    /// Header line above the PEM block of a stored request.
    pub(super) fn to_header(self) -> String {
        match self.0 {
            Some(address) => format!("{HEADER}{address}\n"),
            None => String::new(),
        }
    }

    pub(super) fn read(path: &Path) -> std::io::Result<Self> {
        let mut head = Vec::new();
        let file = std::fs::File::open(path)?;
        file.take(HEADER_BYTES).read_to_end(&mut head)?;
        let head = String::from_utf8_lossy(&head);
        let address = head.lines().next().and_then(|it| it.strip_prefix(HEADER));
        Ok(Self::new(address.and_then(|text| text.parse().ok())))
    }
}

impl fmt::Display for RequestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(IpAddr::V6(network)) => write!(f, "{network}/64"),
            Some(address) => address.fmt(f),
            None => f.write_str("an unknown address"),
        }
    }
}
