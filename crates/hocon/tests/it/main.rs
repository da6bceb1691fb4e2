//! What documents mean, and what is said about those that mean nothing.

mod errors;
mod files;
mod meaning;
mod properties;
