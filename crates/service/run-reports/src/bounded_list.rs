//! Lists that are bounded while they are read: [`BoundedList`].
//!
//! Invariant: no more than `FIRST + LAST` items are in memory, however many the text has.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

/// The first and the last items of a list. Null is an empty list.
#[derive(Debug)]
pub(crate) struct BoundedList<T, const FIRST: usize, const LAST: usize = 0> {
    first: Vec<T>,
    last: VecDeque<T>,
    /// Number of items between them that were left out.
    pub(crate) left_out: usize,
}

impl<T, const FIRST: usize, const LAST: usize> Default for BoundedList<T, FIRST, LAST> {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            last: VecDeque::new(),
            left_out: 0,
        }
    }
}

impl<T, const FIRST: usize, const LAST: usize> BoundedList<T, FIRST, LAST> {
    fn push(&mut self, item: T) {
        if self.first.len() < FIRST {
            self.first.push(item);
            return;
        }
        self.last.push_back(item);
        if self.last.len() > LAST {
            self.last.pop_front();
            self.left_out += 1;
        }
    }

    /// Returns `true` if the list had items.
    pub(crate) fn has_items(&self) -> bool {
        !self.first.is_empty()
    }

    /// The kept items in their order.
    pub(crate) fn into_items(self) -> impl Iterator<Item = T> {
        self.first.into_iter().chain(self.last)
    }
}

struct BoundedVisitor<T, const FIRST: usize, const LAST: usize>(PhantomData<T>);

impl<'de, T, const FIRST: usize, const LAST: usize> Visitor<'de> for BoundedVisitor<T, FIRST, LAST>
where
    T: Deserialize<'de>,
{
    type Value = BoundedList<T, FIRST, LAST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(BoundedList::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = BoundedList::default();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(list)
    }
}

impl<'de, T, const FIRST: usize, const LAST: usize> Deserialize<'de> for BoundedList<T, FIRST, LAST>
where
    T: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(BoundedVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const FIRST: usize, const LAST: usize>(text: &str) -> (Vec<u32>, usize) {
        let list: BoundedList<u32, FIRST, LAST> = serde_json::from_str(text).unwrap();
        let left_out = list.left_out;
        (list.into_items().collect(), left_out)
    }

    #[test]
    fn the_middle_of_a_long_list_is_left_out() {
        assert_eq!(read::<2, 2>("[1,2,3,4,5,6]"), (vec![1, 2, 5, 6], 2));
        assert_eq!(read::<2, 2>("[1,2,3,4]"), (vec![1, 2, 3, 4], 0));
        assert_eq!(read::<2, 0>("[1,2,3,4]"), (vec![1, 2], 2));
        assert_eq!(read::<2, 2>("null"), (vec![], 0));
        serde_json::from_str::<BoundedList<u32, 2>>("{}").unwrap_err();
    }
}
