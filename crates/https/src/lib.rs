//! https
