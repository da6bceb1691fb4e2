//! The storage of lists in the arena: [`AstSlice`], a range of one of its tables.
//!
//! Invariant: a list is contiguous and never changes after parsing, so a list costs eight bytes in
//! its owner and no allocation of its own.

use std::fmt;
use std::marker::PhantomData;

use super::{Ast, AttributeOp, CaseOption, ExprId, HashEntry, Param, ResourceBody, SelectorEntry};

/// A list of `T` in the arena; read it with [`Ast::get`].
pub struct AstSlice<T> {
    start: u32,
    len: u32,
    of: PhantomData<fn() -> T>,
}

/// Types of which the arena stores lists.
pub trait Pooled: Sized {
    fn pool(ast: &Ast) -> &Vec<Self>;
    fn pool_mut(ast: &mut Ast) -> &mut Vec<Self>;
}

macro_rules! pooled {
    ($($kind:ty => $table:ident),+ $(,)?) => {$(
        impl Pooled for $kind {
            fn pool(ast: &Ast) -> &Vec<Self> {
                &ast.$table
            }
            fn pool_mut(ast: &mut Ast) -> &mut Vec<Self> {
                &mut ast.$table
            }
        }
    )+};
}

pooled! {
    ExprId => lists,
    HashEntry => hash_entries,
    CaseOption => case_options,
    SelectorEntry => selector_entries,
    AttributeOp => attribute_ops,
    ResourceBody => resource_bodies,
    Param => params,
}

// === impl AstSlice ===

impl<T> AstSlice<T> {
    pub const EMPTY: Self = Self {
        start: 0,
        len: 0,
        of: PhantomData,
    };

    pub(super) fn new(start: u32, len: u32) -> Self {
        Self {
            start,
            len,
            of: PhantomData,
        }
    }

    #[must_use]
    pub fn len(self) -> usize {
        self.len as usize
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

impl<T> Clone for AstSlice<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for AstSlice<T> {}

impl<T> PartialEq for AstSlice<T> {
    fn eq(&self, other: &Self) -> bool {
        self.start == other.start && self.len == other.len
    }
}

impl<T> fmt::Debug for AstSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.start..self.start + self.len)
    }
}
