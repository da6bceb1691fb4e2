//! Names of hosts and domains, email addresses and URLs.

use super::AliasDefinition;

/// A label of a host's name.
macro_rules! label {
    () => {
        "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
    };
}

/// A label of at most 63 characters.
macro_rules! short_label {
    () => {
        "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    };
}

pub(crate) const FQDN: &str = concat!(r"Pattern[/\A(?:", label!(), r"\.)*", label!(), r"\z/]");
pub(crate) const DNS_ZONE: &str = concat!(r"Pattern[/\A(?:\.|(?:", label!(), r"\.)+)\z/]");

/// An email address according to the HTML standard.
pub(crate) const EMAIL: &str = concat!(
    r"Pattern[/\A[-A-Za-z0-9.!#$%&'*+\/=?^_`{|}~]+@",
    short_label!(),
    r"(?:\.",
    short_label!(),
    r")*\z/]"
);

pub(super) const ALIASES: &[AliasDefinition] = &[
    ("Stdlib::Dns::Zone", DNS_ZONE),
    ("Stdlib::Email", EMAIL),
    ("Stdlib::Fqdn", FQDN),
    ("Stdlib::Host", "Variant[Stdlib::Fqdn, Stdlib::IP::Address]"),
    ("Stdlib::HTTPSUrl", r"Pattern[/\A(?i:https:\/\/.*)\z/]"),
    ("Stdlib::HTTPUrl", r"Pattern[/\A(?i:https?:\/\/.*)\z/]"),
    (
        "Stdlib::ObjectStore",
        "Variant[Stdlib::ObjectStore::GSUri, Stdlib::ObjectStore::S3Uri]",
    ),
    ("Stdlib::ObjectStore::GSUri", r"Pattern[/\Ags:\/\/.*\z/]"),
    ("Stdlib::ObjectStore::S3Uri", r"Pattern[/\As3:\/\/.*\z/]"),
];
