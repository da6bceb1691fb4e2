//! Code in a directory and blobs, as their users see them.

mod blobs;
mod environments;
mod files;
mod tasks;
mod tree;
