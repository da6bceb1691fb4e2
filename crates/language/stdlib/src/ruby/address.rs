//! Internet addresses and their networks, parsed and printed as Ruby's `IPAddr` does: [`IpNetworkAddress`].

use std::net::{Ipv4Addr, Ipv6Addr};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IpNetworkAddress {
    /// The address bits; for an IPv4 address only the last 32.
    bits: u128,
    pub(crate) is_v6: bool,
    mask: u128,
    zone: String,
}

const V4: u128 = 0xffff_ffff;

impl IpNetworkAddress {
    /// Parses an address, or a network as `address/length` or `address/mask`; the error has Ruby's
    /// wording.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let mut must_be_v6 = false;
        let mut bare = address;
        if let Some(inner) = bare.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            bare = inner;
            must_be_v6 = true;
        }
        let mut zone = String::new();
        if let Some((front, name)) = bare.rsplit_once('%')
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            zone = format!("%{name}");
            bare = front;
            must_be_v6 = true;
        }
        let mut parsed = Self::bare(bare, must_be_v6)?;
        parsed.zone = zone;
        if let Some(prefix) = prefix {
            parsed.narrow(prefix)?;
        }
        Ok(parsed)
    }

    fn bare(text: &str, must_be_v6: bool) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('.').collect();
        let is_number =
            |part: &&str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        if !must_be_v6 && parts.len() == 4 && parts.iter().all(is_number) {
            for part in &parts {
                if part.parse::<u8>().is_err() {
                    return Err(invalid());
                }
                if part.len() > 1 && part.starts_with('0') {
                    return Err("zero-filled number in IPv4 address is ambiguous: ".to_owned());
                }
            }
            let bits = text.parse::<Ipv4Addr>().map_err(|_| invalid())?.to_bits();
            return Ok(Self::new(bits.into(), false));
        }
        let bits = text.parse::<Ipv6Addr>().map_err(|_| invalid())?.to_bits();
        Ok(Self::new(bits, true))
    }

    fn new(bits: u128, is_v6: bool) -> Self {
        Self {
            bits,
            is_v6,
            mask: if is_v6 { u128::MAX } else { V4 },
            zone: String::new(),
        }
    }

    /// Reduces an address to its network.
    fn narrow(&mut self, prefix: &str) -> Result<(), String> {
        let width = if self.is_v6 { 128 } else { 32 };
        let is_number = !prefix.is_empty() && prefix.bytes().all(|it| it.is_ascii_digit());
        if is_number {
            if prefix.len() > 1 && prefix.starts_with('0') {
                return Err("leading zeros in prefix".to_owned());
            }
            let length: u32 = prefix.parse().unwrap_or(u32::MAX);
            if length > width {
                return Err(format!("invalid length: {}", self.bits));
            }
            let host = width - length;
            self.mask &= u128::MAX.checked_shl(host).unwrap_or_default();
        } else {
            let mask = Self::parse(prefix)?;
            if mask.is_v6 != self.is_v6 {
                return Err(format!("address family is not same: {}", self.bits));
            }
            let host = mask.bits ^ mask.mask;
            if host & (host.wrapping_add(1)) != 0 {
                return Err(format!("invalid mask {prefix}: {}", self.bits));
            }
            self.mask = mask.bits;
        }
        self.bits &= self.mask;
        Ok(())
    }

    /// True if the other network is entirely in this one.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        let ends = |it: &Self| {
            let all = if it.is_v6 { u128::MAX } else { V4 };
            (it.bits & it.mask, it.bits | (all ^ it.mask))
        };
        let ((first, last), (other_first, other_last)) = (ends(self), ends(other));
        self.is_v6 == other.is_v6 && first <= other_first && last >= other_last
    }
}

fn invalid() -> String {
    "invalid address: ".to_owned()
}

impl std::fmt::Display for IpNetworkAddress {
    /// Prints the address without the mask. The longest run of zeros is omitted, and the last two
    /// groups of an address that otherwise has only zeros are written as IPv4.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.is_v6 {
            let bits = u32::try_from(self.bits & V4).unwrap_or_default();
            return write!(f, "{}", Ipv4Addr::from_bits(bits));
        }
        let parts = Ipv6Addr::from_bits(self.bits).segments();
        let is_short = parts[..6].iter().all(|part| *part == 0) && parts[6] != 0;
        let text = if is_short {
            let low = u32::try_from(self.bits & V4).unwrap_or_default();
            format!("::{}", Ipv4Addr::from_bits(low))
        } else {
            Ipv6Addr::from_bits(self.bits).to_string()
        };
        write!(f, "{text}{}", self.zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        IpNetworkAddress::parse(text).map_or_else(|error| format!("! {error}"), |it| it.to_string())
    }

    /// The expected values come from Ruby 3.1.
    #[test]
    fn addresses_are_read_and_written_as_ruby_does() {
        for (text, wanted) in [
            ("1.2.3.4/255.255.0.0", "1.2.0.0"),
            ("[::1]", "::1"),
            ("fe80::1%eth0", "fe80::1%eth0"),
            ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            ("1:0:0:2:0:0:3:4", "1::2:0:0:3:4"),
            ("::1:2", "::0.1.0.2"),
            ("::ffff:0:1", "::ffff:0.0.0.1"),
            ("fe80:0:0:1:0:0:0:1/64", "fe80:0:0:1::"),
            ("::1/0", "::"),
            ("1.2.3.4/0", "0.0.0.0"),
            ("x", "! invalid address: "),
            ("[1.2.3.4]", "! invalid address: "),
            (
                "01.2.3.4",
                "! zero-filled number in IPv4 address is ambiguous: ",
            ),
            ("1.2.3.4/33", "! invalid length: 16909060"),
            ("1.2.3.4/024", "! leading zeros in prefix"),
            (
                "1.2.3.4/255.0.255.0",
                "! invalid mask 255.0.255.0: 16909060",
            ),
            ("1.2.3.4/::1", "! address family is not same: 16909060"),
        ] {
            assert_eq!(shown(text), wanted, "{text}");
        }
    }

    #[test]
    fn networks_include_what_is_in_them() {
        let is_in = |network: &str, address: &str| {
            IpNetworkAddress::parse(network)
                .unwrap()
                .includes(&IpNetworkAddress::parse(address).unwrap())
        };
        assert!(is_in("10.0.0.0/8", "10.1.2.3") && is_in("10.0.0.0/8", "10.1.0.0/16"));
        assert!(!is_in("10.1.0.0/16", "10.0.0.0/8") && !is_in("::/0", "1.2.3.4"));
        assert!(is_in("fe80::/10", "fe80::1"));
    }
}
