//! Tests of `ruby-regex`.
#![cfg(test)]

mod entry;
mod golden;
mod limits;
mod properties;
