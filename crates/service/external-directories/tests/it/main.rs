//! The crate from outside, against the identity provider of the testkit.
#![cfg(test)]

mod oidc;
