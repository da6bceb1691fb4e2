//! Real programs of the Puppet world, started on loopback with everything in one directory.
//!
//! | module | purpose |
//! |---|---|
//! | [`puppetserver`] | compiles catalogs |
//! | [`puppetdb`] | stores facts, catalogs and reports, over a private PostgreSQL |
//! | [`puppet_agent`] | the directories and settings of one node's `puppet agent` |
//! | [`puppet8`] | scripts with the Ruby and the Puppet 8.10 of Debian 13 |
//! | [`sshd`] | an OpenSSH server with one user |
//! | [`slapd`] | an OpenLDAP server with a few users and groups |
//! | [`jvm`] | start of the two Java programs |
//! | `debian_root` | programs of Debian 13 on a machine with another release |
//!
//! The programs come from Debian's packages; `cargo xtask test --full` installs or unpacks them.
//!
//! Invariant: nothing here looks for updates or leaves the loopback addresses, and all of it ends
//! with its handle.

mod debian_root;
pub mod jvm;
pub mod puppet8;
pub mod puppet_agent;
pub mod puppetdb;
pub mod puppetserver;
pub mod slapd;
pub mod sshd;

pub use self::puppet_agent::PuppetAgent;
pub use self::puppet8::Puppet8;
pub use self::puppetdb::PuppetDb;
pub use self::puppetserver::{Puppetserver, PuppetserverOptions, PuppetserverRelease, Versioned};
pub use self::slapd::Slapd;
pub use self::sshd::Sshd;
