//! The listener over real sockets: identity, bounds, revocation, and its end.

#![cfg(test)]

mod bounds;
mod floods;
mod identity;
mod shutdown;
mod site;
mod upgrade;
