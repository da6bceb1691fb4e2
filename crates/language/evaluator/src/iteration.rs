//! Sequences that iteration functions process. Main type: [`ElementIteration`].
//!
//! Invariant: numbers are generated one by one, so a range may have any length.

use std::sync::Arc;

use pcore::{Hash, IntRange, Type, TypeKind, Value};

/// An iterator over elements.
#[derive(Debug, Clone)]
pub(crate) enum ElementIteration {
    List {
        elements: Arc<Vec<Value>>,
        next: usize,
    },
    Entries {
        entries: Arc<Hash>,
        next: usize,
    },
    Range {
        next: i64,
        last: i64,
        step: i64,
        ended: bool,
    },
}

impl ElementIteration {
    /// The elements of a value; `None` if it has none.
    pub(crate) fn over_value(value: &Value) -> Option<Self> {
        match value {
            Value::Array(elements) => Some(Self::list(Arc::clone(elements))),
            Value::Hash(entries) => Some(Self::Entries {
                entries: Arc::clone(entries),
                next: 0,
            }),
            Value::Int(0) => Some(Self::list(Arc::default())),
            Value::Int(count) if *count > 0 => Some(Self::range(0, *count - 1)),
            Value::Str(text) => {
                let letters = text.chars().map(|it| Value::from(it.to_string())).collect();
                Some(Self::list(Arc::new(letters)))
            }
            Value::Type(ty) => Self::over_type(ty),
            Value::Object(object) => {
                if let Some(iterator) = value.downcast_object::<crate::iterator::LazyIterator>() {
                    return Some(iterator.iteration().clone());
                }
                object.elements().map(|it| Self::list(Arc::new(it)))
            }
            _ => None,
        }
    }

    /// The values among which are those that it gives.
    pub(crate) fn held_values(&self) -> Vec<&Value> {
        match self {
            Self::List { elements, .. } => elements.iter().collect(),
            Self::Entries { entries, .. } => entries.keys().chain(entries.values()).collect(),
            Self::Range { .. } => Vec::new(),
        }
    }

    fn over_type(ty: &Type) -> Option<Self> {
        match ty.unaliased()?.kind() {
            TypeKind::Integer(range) => Some(Self::range(range.from()?, range.to()?)),
            TypeKind::Enum(values) => {
                let values = values
                    .values()
                    .iter()
                    .map(|it| Value::Str(Arc::clone(it)))
                    .collect();
                Some(Self::list(Arc::new(values)))
            }
            _ => None,
        }
    }

    pub(crate) fn list(elements: Arc<Vec<Value>>) -> Self {
        Self::List { elements, next: 0 }
    }

    pub(crate) fn range(first: i64, last: i64) -> Self {
        Self::Range {
            next: first,
            last,
            step: 1,
            ended: first > last,
        }
    }

    /// True if the elements are pairs of key and value.
    pub(crate) fn is_hash(&self) -> bool {
        matches!(self, Self::Entries { .. })
    }

    /// The elements from the last to the first.
    pub(crate) fn reversed(self) -> Self {
        match self {
            Self::Range {
                next,
                last,
                step,
                ended,
            } => {
                let reach = (i128::from(last) - i128::from(next)) / i128::from(step);
                let end = i128::from(next) + reach * i128::from(step);
                Self::Range {
                    next: i64::try_from(end).unwrap_or(last),
                    last: next,
                    step: -step,
                    ended,
                }
            }
            other => {
                let mut elements: Vec<Value> = other.collect();
                elements.reverse();
                Self::list(Arc::new(elements))
            }
        }
    }

    /// Every `step`th element.
    pub(crate) fn stepped(self, every: usize) -> Self {
        match self {
            Self::Range {
                next,
                last,
                step,
                ended,
            } => Self::Range {
                next,
                last,
                step: step.saturating_mul(i64::try_from(every).unwrap_or(i64::MAX)),
                ended,
            },
            other => Self::list(Arc::new(other.step_by(every).collect())),
        }
    }

    /// The type of the elements, for the type of an iterator.
    pub(crate) fn element_type(&self) -> Type {
        match self {
            Self::Range {
                next, last, step, ..
            } => {
                let (low, high) = if *step > 0 {
                    (next, last)
                } else {
                    (last, next)
                };
                IntRange::new(Some(*low), Some(*high)).map_or_else(Type::integer, Type::integer_in)
            }
            other => {
                let types: Vec<Type> = other.clone().map(|it| Type::infer_detailed(&it)).collect();
                if types.is_empty() {
                    Type::unit()
                } else {
                    Type::variant(types)
                }
            }
        }
    }
}

impl std::iter::Iterator for ElementIteration {
    type Item = Value;

    #[inline]
    fn next(&mut self) -> Option<Value> {
        match self {
            Self::List { elements, next } => {
                let element = elements.get(*next)?.clone();
                *next += 1;
                Some(element)
            }
            Self::Entries { entries, next } => {
                let (key, value) = entries.get_index(*next)?;
                *next += 1;
                Some(Value::array(vec![key.clone(), value.clone()]))
            }
            Self::Range {
                next,
                last,
                step,
                ended,
            } => {
                if *ended {
                    return None;
                }
                let value = *next;
                match value.checked_add(*step) {
                    Some(following)
                        if (*step > 0 && following <= *last)
                            || (*step < 0 && following >= *last) =>
                    {
                        *next = following
                    }
                    _ => *ended = true,
                }
                Some(Value::Int(value))
            }
        }
    }
}

/// The elements of a value that can be iterated, those of a hash as pairs; `None` if it has none.
#[must_use]
pub fn elements(value: &Value) -> Option<impl std::iter::Iterator<Item = Value> + use<>> {
    ElementIteration::over_value(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(iteration: ElementIteration) -> Vec<i64> {
        iteration.filter_map(|it| it.as_int()).collect()
    }

    #[test]
    fn ranges_step_and_turn_round_and_end_at_the_largest_number() {
        assert_eq!(numbers(ElementIteration::range(1, 5).stepped(2)), [1, 3, 5]);
        assert_eq!(
            numbers(ElementIteration::range(1, 6).stepped(2).reversed()),
            [5, 3, 1]
        );
        assert_eq!(
            numbers(ElementIteration::range(1, 3).reversed().stepped(2)),
            [3, 1]
        );
        assert_eq!(
            numbers(ElementIteration::range(i64::MAX - 1, i64::MAX)).len(),
            2
        );
        assert_eq!(numbers(ElementIteration::range(2, 1)), [0_i64; 0]);
    }
}
