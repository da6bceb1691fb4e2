//! Questions about types: does one take another, does a value belong to one, what is the type of a
//! value.
//!
//! Invariant: questions about aliases that hold themselves end, by the guard in
//! [`recursion_trail::TypeCheckTrail`].

mod assignable;
mod callable;
mod collections;
mod common;
mod generalize;
mod infer;
mod instance;
mod iterable;
mod matching;
mod merge;
mod normalize;
mod objects;
mod recursion_trail;
mod strings;
