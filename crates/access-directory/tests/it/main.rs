//! The crate from outside, against an identity provider that is written for it.
#![cfg(test)]

mod oidc;
mod provider;
