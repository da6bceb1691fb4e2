//! Sorting.
//!
//! Invariant: Ruby's sort keeps no order among equal elements, and which one comes first depends on the
//! platform; so equal elements that differ leave the template to Ruby.

use std::cmp::Ordering;

use super::Interpreter;
use crate::syntax::Block;
use crate::value::{Eval, Key, RubyValue, refuse};

impl<'t> Interpreter<'t, '_> {
    pub(super) fn sort_by(&mut self, items: &[RubyValue], block: &'t Block) -> Eval {
        let mut keyed = Vec::with_capacity(items.len());
        for item in items {
            keyed.push((self.yield_value(block, item)?, item.clone()));
        }
        let sorted = merge_sort(keyed, &mut |(a, x), (b, y)| {
            refuse_ambiguous(a.order(b)?, x, y)
        })?;
        let items = sorted.into_iter().map(|(_, item)| item);
        Ok(RubyValue::array(items.collect()))
    }

    pub(super) fn sort_with(&mut self, items: &[RubyValue], block: &'t Block) -> Eval {
        let sorted = merge_sort(items.to_vec(), &mut |a, b| {
            let order = self.yield_values(block, &[a.clone(), b.clone()])?;
            let RubyValue::Int(order) = order else {
                return refuse("a comparison that gives no integer");
            };
            refuse_ambiguous(order.cmp(&0), a, b)
        })?;
        Ok(RubyValue::array(sorted))
    }
}

pub(super) fn sort(items: Vec<RubyValue>) -> Eval<Vec<RubyValue>> {
    merge_sort(items, &mut |a, b| refuse_ambiguous(a.order(b)?, a, b))
}

fn refuse_ambiguous(order: Ordering, a: &RubyValue, b: &RubyValue) -> Eval<Ordering> {
    if order == Ordering::Equal && Key::new(a)? != Key::new(b)? {
        return refuse("a sort of equal elements that differ");
    }
    Ok(order)
}

/// Sorts with a comparison that may fail.
fn merge_sort<T>(
    mut items: Vec<T>,
    compare: &mut dyn FnMut(&T, &T) -> Eval<Ordering>,
) -> Eval<Vec<T>> {
    if items.len() < 2 {
        return Ok(items);
    }
    let right = items.split_off(items.len() / 2);
    let mut left = merge_sort(items, compare)?.into_iter().peekable();
    let mut right = merge_sort(right, compare)?.into_iter().peekable();
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = match compare(a, b)? {
            Ordering::Greater => right.next(),
            _ => left.next(),
        };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}
