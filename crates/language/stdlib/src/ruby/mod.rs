//! What Ruby's own library does to texts and numbers, where functions show it.

pub(crate) mod address;
mod bcrypt;
pub(crate) mod characters;
pub(crate) mod crypt;
pub(crate) mod numbers;
pub(crate) mod paths;
pub(crate) mod shellwords;
pub(crate) mod successor;
