//! Checks of types: assignability, instance checks and type inference.
//!
//! Invariant: checks of recursive aliases end, because of the guard in
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
