//! Operations of Ruby's library on texts and numbers that are visible in results of functions.

pub(crate) mod address;
mod bcrypt;
pub(crate) mod characters;
pub(crate) mod crypt;
pub(crate) mod numbers;
pub(crate) mod paths;
pub(crate) mod shellwords;
pub(crate) mod successor;
