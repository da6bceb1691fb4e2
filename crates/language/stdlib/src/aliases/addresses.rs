//! Addresses of the internet and of network cards.
//!
//! The pattern of a compressed IPv6 address counts the groups before `::`, which limits the number
//! of groups after it.

use super::AliasDefinition;

macro_rules! octet {
    () => {
        "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    };
}

/// Four numbers of an IPv4 address.
macro_rules! v4 {
    () => {
        concat!(octet!(), r"(?:\.", octet!(), "){3}")
    };
}

/// A group of an IPv6 address.
macro_rules! group {
    () => {
        "[0-9A-Fa-f]{1,4}"
    };
}

/// The optional length of a network's prefix.
macro_rules! maybe_length {
    () => {
        r"(?:\/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9]))?"
    };
}

macro_rules! full {
    ($end:expr) => {
        concat!(
            r"Pattern[/\A",
            group!(),
            "(?::",
            group!(),
            "){7}",
            $end,
            r"\z/]"
        )
    };
}

/// The given number of groups before `::`, and at most the given number after it.
macro_rules! around {
    ($front:literal, $behind:literal) => {
        concat!(
            "(?:",
            group!(),
            ":){",
            $front,
            "}(?::|(?::",
            group!(),
            "){1,",
            $behind,
            "})"
        )
    };
}

macro_rules! compressed {
    ($end:expr) => {
        concat!(
            r"Pattern[/\A(?::(?::|(?::",
            group!(),
            "){1,7})",
            "|",
            around!("1", "6"),
            "|",
            around!("2", "5"),
            "|",
            around!("3", "4"),
            "|",
            around!("4", "3"),
            "|",
            around!("5", "2"),
            "|",
            around!("6", "1"),
            "|(?:",
            group!(),
            ":){7}:)",
            $end,
            r"\z/]"
        )
    };
}

/// The same with an IPv4 address at the end.
macro_rules! mixed {
    ($front:literal, $behind:literal) => {
        concat!(
            "(?:",
            group!(),
            ":){",
            $front,
            "}(?::",
            group!(),
            "){0,",
            $behind,
            "}:"
        )
    };
}

macro_rules! alternative {
    ($end:expr) => {
        concat!(
            r"Pattern[/\A(?:(?:",
            group!(),
            ":){6}|(?:",
            group!(),
            ":){5}:|",
            mixed!("4", "1"),
            "|",
            mixed!("3", "2"),
            "|",
            mixed!("2", "3"),
            "|",
            mixed!("1", "4"),
            "|:(?::",
            group!(),
            "){0,5}:)",
            v4!(),
            $end,
            r"\z/]"
        )
    };
}

/// Any IPv6 address, with the given pattern for an IPv4 address in it and the given number of
/// groups in front.
macro_rules! any_v6 {
    ($v4:expr) => {
        concat!(
            "(?:(?:",
            group!(),
            ":){7}(?:",
            group!(),
            "|:)",
            "|(?:",
            group!(),
            ":){6}(?::",
            group!(),
            "|",
            $v4,
            "|:)",
            "|(?:",
            group!(),
            ":){5}(?:(?::",
            group!(),
            "){1,2}|:",
            $v4,
            "|:)",
            "|(?:",
            group!(),
            ":){4}(?:(?::",
            group!(),
            "){1,3}|(?::",
            group!(),
            ")?:",
            $v4,
            "|:)",
            "|(?:",
            group!(),
            ":){3}(?:(?::",
            group!(),
            "){1,4}|(?::",
            group!(),
            "){0,2}:",
            $v4,
            "|:)",
            "|(?:",
            group!(),
            ":){2}(?:(?::",
            group!(),
            "){1,5}|(?::",
            group!(),
            "){0,3}:",
            $v4,
            "|:)",
            "|",
            group!(),
            ":(?:(?::",
            group!(),
            "){1,6}|(?::",
            group!(),
            "){0,4}:",
            $v4,
            "|:)",
            "|:(?:(?::",
            group!(),
            "){1,7}|(?::",
            group!(),
            "){0,5}:",
            $v4,
            "|:))"
        )
    };
}

/// The four numbers as stdlib's CIDR type accepts them: its digits and dots lack their backslashes.
macro_rules! misprinted_v4 {
    () => {
        concat!(misprinted_octet!(), "(?:.", misprinted_octet!(), "){3}")
    };
}

macro_rules! misprinted_octet {
    () => {
        "(?:25[0-5]|2[0-4]d|1dd|[1-9]?d)"
    };
}

pub(crate) const V4_NOSUBNET: &str = concat!(r"Pattern[/\A", v4!(), r"\z/]");

pub(super) const ALIASES: &[AliasDefinition] = &[
    (
        "Stdlib::Compat::Ip_address",
        "Variant[Stdlib::Compat::Ipv4, Stdlib::Compat::Ipv6]",
    ),
    (
        "Stdlib::Compat::Ipv4",
        concat!("Pattern[/^", v4!(), r"(?:\/(?:", v4!(), "|[0-9]+))?$/]"),
    ),
    // anything may precede it
    (
        "Stdlib::Compat::Ipv6",
        concat!("Pattern[/", any_v6!(v4!()), r"(?:%.+)?\s*$/]"),
    ),
    (
        "Stdlib::IP::Address",
        "Variant[Stdlib::IP::Address::V4, Stdlib::IP::Address::V6]",
    ),
    (
        "Stdlib::IP::Address::CIDR",
        "Variant[Stdlib::IP::Address::V4::CIDR, Stdlib::IP::Address::V6::CIDR]",
    ),
    (
        "Stdlib::IP::Address::Nosubnet",
        "Variant[Stdlib::IP::Address::V4::Nosubnet, Stdlib::IP::Address::V6::Nosubnet]",
    ),
    (
        "Stdlib::IP::Address::V4",
        "Variant[Stdlib::IP::Address::V4::CIDR, Stdlib::IP::Address::V4::Nosubnet]",
    ),
    (
        "Stdlib::IP::Address::V4::CIDR",
        concat!(r"Pattern[/\A", v4!(), r"\/(?:3[0-2]|[12]?[0-9])\z/]"),
    ),
    ("Stdlib::IP::Address::V4::Nosubnet", V4_NOSUBNET),
    (
        "Stdlib::IP::Address::V6",
        "Variant[Stdlib::IP::Address::V6::Full, Stdlib::IP::Address::V6::Compressed, \
         Stdlib::IP::Address::V6::Alternative, Stdlib::IP::Address::V6::Nosubnet]",
    ),
    (
        "Stdlib::IP::Address::V6::Alternative",
        alternative!(maybe_length!()),
    ),
    (
        "Stdlib::IP::Address::V6::CIDR",
        concat!(
            r"Pattern[/\A",
            any_v6!(misprinted_v4!()),
            r"(?:%.+)?s*\/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9])?\z/]"
        ),
    ),
    (
        "Stdlib::IP::Address::V6::Compressed",
        compressed!(maybe_length!()),
    ),
    ("Stdlib::IP::Address::V6::Full", full!(maybe_length!())),
    (
        "Stdlib::IP::Address::V6::Nosubnet",
        "Variant[Stdlib::IP::Address::V6::Nosubnet::Full, \
         Stdlib::IP::Address::V6::Nosubnet::Compressed, \
         Stdlib::IP::Address::V6::Nosubnet::Alternative]",
    ),
    (
        "Stdlib::IP::Address::V6::Nosubnet::Alternative",
        alternative!(""),
    ),
    (
        "Stdlib::IP::Address::V6::Nosubnet::Compressed",
        compressed!(""),
    ),
    ("Stdlib::IP::Address::V6::Nosubnet::Full", full!("")),
    (
        "Stdlib::MAC",
        r"Pattern[/\A(?:[0-9A-Fa-f]{2}[:-]){5}(?:(?:[0-9A-Fa-f]{2}[:-]){14})?[0-9A-Fa-f]{2}\z/]",
    ),
];
