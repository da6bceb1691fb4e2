//! How deep values are inside each other. Main type: [`NestingDepths`].
//!
//! Comparing, printing and dropping a value takes stack for each level, and a stack that overflows ends the
//! process. So the depth of every value that a program makes is measured: of lists, hashes and types when they
//! are written, and of the results of functions.
//!
//! Invariant: measuring a value takes no stack, and time for the parts that were not measured before.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use pcore::{FastHashMap, Hash, Value};

use crate::defaults::{MEASURED_VALUES_MAX, NESTING_MAX, REMEMBERED_PARTS_MIN, SEEN_PARTS_MIN};

/// Depths of large values that were measured, by their address.
#[derive(Debug, Default)]
pub(crate) struct NestingDepths {
    known: RefCell<FastHashMap<usize, KnownDepth>>,
}

#[derive(Debug)]
struct KnownDepth {
    /// Keeps the address from being used again, but not the value.
    container: WeakContainer,
    depth: u32,
}

#[derive(Debug)]
enum WeakContainer {
    Array(Weak<Vec<Value>>),
    Hash(Weak<Hash>),
}

// === impl NestingDepths ===

impl NestingDepths {
    /// True if a value is at most [`NESTING_MAX`] levels deep.
    pub(crate) fn is_allowed(&self, value: &Value) -> bool {
        self.depth(value) <= NESTING_MAX
    }

    /// Levels of lists, hashes, types and the like in a value, 0 for a plain one; more than [`NESTING_MAX`] are
    /// not counted.
    fn depth(&self, value: &Value) -> u32 {
        let mut waiting = vec![(value, 0)];
        let mut parts = 0_usize;
        let mut deepest = 0;
        // a part that is reached twice at the same level is looked at once
        let mut seen: FastHashMap<usize, u32> = FastHashMap::default();
        while let Some((value, level)) = waiting.pop() {
            let Some(address) = address_of(value) else {
                deepest = deepest.max(level + plain_depth(value));
                continue;
            };
            if level >= NESTING_MAX {
                return NESTING_MAX + 1;
            }
            if let Some(known) = self.known_depth(value, address) {
                deepest = deepest.max(level + known);
                continue;
            }
            parts += 1;
            if parts > SEEN_PARTS_MIN {
                match seen.get_mut(&address) {
                    Some(before) if *before >= level => continue,
                    Some(before) => *before = level,
                    None => drop(seen.insert(address, level)),
                }
            }
            deepest = deepest.max(level + 1);
            parts += push_parts(value, level + 1, &mut waiting);
        }
        if parts >= REMEMBERED_PARTS_MIN && deepest <= NESTING_MAX {
            self.remember(value, deepest);
        }
        deepest
    }

    fn known_depth(&self, value: &Value, address: usize) -> Option<u32> {
        let known = self.known.borrow();
        let known = known.get(&address)?;
        let is_same = match (&known.container, value) {
            (WeakContainer::Array(weak), Value::Array(array)) => {
                weak.as_ptr() == Arc::as_ptr(array)
            }
            (WeakContainer::Hash(weak), Value::Hash(hash)) => weak.as_ptr() == Arc::as_ptr(hash),
            _ => false,
        };
        is_same.then_some(known.depth)
    }

    fn remember(&self, value: &Value, depth: u32) {
        let (address, container) = match value {
            Value::Array(array) => (
                Arc::as_ptr(array).addr(),
                WeakContainer::Array(Arc::downgrade(array)),
            ),
            Value::Hash(hash) => (
                Arc::as_ptr(hash).addr(),
                WeakContainer::Hash(Arc::downgrade(hash)),
            ),
            _ => return,
        };
        let mut known = self.known.borrow_mut();
        if known.len() >= MEASURED_VALUES_MAX {
            known.retain(|_, known| known.container.is_alive());
        }
        if known.len() >= MEASURED_VALUES_MAX {
            known.clear();
        }
        known.insert(address, KnownDepth { container, depth });
    }
}

impl WeakContainer {
    fn is_alive(&self) -> bool {
        match self {
            Self::Array(weak) => weak.strong_count() > 0,
            Self::Hash(weak) => weak.strong_count() > 0,
        }
    }
}

/// Address of a value with parts; `None` for other values.
fn address_of(value: &Value) -> Option<usize> {
    match value {
        Value::Array(array) if !array.is_empty() => Some(Arc::as_ptr(array).addr()),
        Value::Hash(hash) if !hash.is_empty() => Some(Arc::as_ptr(hash).addr()),
        Value::Sensitive(inner) => Some(Arc::as_ptr(inner).addr()),
        Value::Object(object) => Some(Arc::as_ptr(object).addr()),
        _ => None,
    }
}

/// Levels of a value without parts that are values.
fn plain_depth(value: &Value) -> u32 {
    match value {
        Value::Type(ty) => ty.nesting(NESTING_MAX + 1),
        _ => 0,
    }
}

/// Adds the parts of a value, and gives their number.
fn push_parts<'v>(value: &'v Value, level: u32, waiting: &mut Vec<(&'v Value, u32)>) -> usize {
    let before = waiting.len();
    match value {
        Value::Array(elements) => waiting.extend(elements.iter().map(|it| (it, level))),
        Value::Hash(entries) => {
            for (key, value) in entries.iter() {
                waiting.extend([(key, level), (value, level)]);
            }
        }
        Value::Sensitive(inner) => waiting.push((inner, level)),
        Value::Object(object) => {
            let values = object.held_values().into_iter();
            waiting.extend(values.map(|it| (it, level)));
        }
        _ => {}
    }
    waiting.len() - before
}

#[cfg(test)]
mod tests {
    use pcore::{Hash, Type, Value};

    use super::NestingDepths;
    use crate::defaults::NESTING_MAX;

    /// A value inside `levels` others, which `wrap` makes.
    fn nested(levels: u32, wrap: impl Fn(Value) -> Value) -> Value {
        (0..levels).fold(Value::Int(1), |inner, _| wrap(inner))
    }

    fn is_allowed(value: &Value) -> bool {
        NestingDepths::default().is_allowed(value)
    }

    #[test]
    fn each_kind_of_level_counts_wherever_it_stands() {
        let list = |inner| Value::array(vec![Value::array(vec![1.into()]), inner, 2.into()]);
        let hash = |inner| {
            let entries = [("a", Value::Int(1)), ("b", inner), ("c", Value::Int(2))];
            Value::hash(entries.into_iter().collect())
        };
        let key = |inner: Value| Value::hash([(inner, 1)].into_iter().collect::<Hash>());
        let wraps: [&dyn Fn(Value) -> Value; 4] = [&list, &hash, &key, &Value::sensitive];
        for wrap in wraps {
            assert!(is_allowed(&nested(NESTING_MAX - 1, wrap)));
            assert!(!is_allowed(&nested(NESTING_MAX + 1, wrap)));
        }
        let text = format!("{}Integer{}", "Array[".repeat(50), "]".repeat(50));
        let fifty = Type::parse(&text).unwrap();
        assert_eq!(fifty.nesting(NESTING_MAX), 50);
        assert_eq!(fifty.nesting(20), 20);
        assert!(is_allowed(&Value::Type(fifty)));
        let inner = Type::parse("Integer").unwrap();
        let deep = (0..=NESTING_MAX).fold(inner, |inner, _| Type::array_of(inner));
        assert!(!is_allowed(&Value::Type(deep)));
    }

    #[test]
    fn values_that_share_their_parts_are_measured_quickly() {
        let doubled = nested(NESTING_MAX - 1, |inner| {
            Value::array(vec![inner.clone(), inner])
        });
        assert!(is_allowed(&doubled));
        let deeper = Value::array(vec![Value::array(vec![doubled.clone(), doubled])]);
        assert!(!is_allowed(&deeper));
    }

    #[test]
    fn a_known_depth_is_that_of_the_value_that_lives() {
        let depths = NestingDepths::default();
        for round in 0..20_000_u32 {
            let wide = Value::array((0..40).map(Value::Int).collect());
            let deep = nested(round % 3, |inner| Value::array(vec![inner]));
            let value = Value::array(vec![wide, deep]);
            let expected = 1 + (round % 3).max(1);
            assert_eq!(depths.depth(&value), expected);
        }
    }
}
