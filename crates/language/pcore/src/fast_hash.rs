//! Hash tables of names and values: [`FastHashMap`] and its like.
//!
//! With the standard hasher, 11 % of a compilation's instructions were hashes of short texts. This one takes
//! a random seed for each process too, so a node cannot choose names of facts that collide.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use indexmap::IndexMap;

/// A hash table without an order.
pub type FastHashMap<K, V> = HashMap<K, V, RandomState>;

/// A set without an order.
pub type FastHashSet<K> = HashSet<K, RandomState>;

/// A hash table in the order of insertion.
pub type FastIndexMap<K, V> = IndexMap<K, V, RandomState>;
