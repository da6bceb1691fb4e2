//! Values while a template is rendered. Main type: [`RubyValue`].
//!
//! Strings, arrays and hashes are shared as in Ruby, so a change is seen under all names; those of the
//! scope are never changed.

mod compare;
mod convert;
mod depth;
mod key;
mod scope_values;
mod text;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use ruby_regex::Regex;

use crate::error::RubyScopeError;
use crate::syntax::ExceptionClass;

pub(crate) use compare::exact_float;
pub(crate) use depth::Depth;
pub(crate) use key::Key;
pub(crate) use scope_values::ScopeValues;

/// Entries of a hash in their order.
pub(crate) type Entries = pcore::FastIndexMap<Key, RubyValue>;

/// Result of an evaluation.
pub(crate) type Eval<T = RubyValue> = Result<T, Interruption>;

/// Reason for which an evaluation does not go on.
#[derive(Debug)]
pub(crate) enum Interruption {
    /// `next` in a block, with its value.
    Next(RubyValue),
    Break,
    /// `return` in a method, with its value.
    Return(RubyValue),
    /// An exception that native code may rescue, and its reason.
    Raised(ExceptionClass, String),
    /// Ruby is needed.
    Refused(String),
    Scope(RubyScopeError),
}

#[derive(Debug, Clone)]
pub(crate) enum RubyValue {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(RubyString),
    Symbol(Arc<str>),
    Array(RubyArray),
    Hash(RubyHash),
    /// Integers from the first up to and including the second; `None` for the end of a receiver.
    Range(i64, Option<i64>, bool),
    Regex(Regex),
    Match(Rc<MatchGroups>),
    Class(crate::syntax::RubyClass),
    /// The value of a statement that is for Ruby, such as one that puts text out.
    Unknown,
    /// Bytes that are no text.
    Bytes(Rc<[u8]>),
    /// An `IPAddr`, and whether it has version 6.
    IpAddress(bool),
    /// The global scope.
    Scope,
    /// A value of Puppet that is only printed.
    Foreign(pcore::Value),
}

/// The last successful match.
#[derive(Debug)]
pub(crate) struct MatchGroups {
    pub(crate) groups: Vec<Option<Arc<str>>>,
    /// The text that was searched, which the matches of one search share.
    pub(crate) text: Arc<str>,
    /// Bytes of the text that the match takes.
    pub(crate) span: Range<usize>,
}

impl MatchGroups {
    /// The text before the match.
    pub(crate) fn before(&self) -> &str {
        self.text.get(..self.span.start).unwrap_or_default()
    }

    /// The text after the match.
    pub(crate) fn after(&self) -> &str {
        self.text.get(self.span.end..).unwrap_or_default()
    }
}

/// A string. `is_shared`: it belongs to the scope or is frozen, and must not change.
#[derive(Debug, Clone)]
pub(crate) struct RubyString(Rc<StringCell>);

#[derive(Debug)]
struct StringCell {
    text: RefCell<Arc<str>>,
    is_shared: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct RubyArray(Rc<ArrayCell>);

#[derive(Debug)]
struct ArrayCell {
    content: RefCell<ArrayContent>,
    owner: ArrayOwner,
}

#[derive(Debug)]
enum ArrayOwner {
    Code,
    /// The array may be in several places of the scope, and must not change.
    Scope,
    /// The array of a variable, which may change if nothing else can see that.
    Variable(Rc<ScopeValues>),
}

#[derive(Debug)]
enum ArrayContent {
    /// Elements of the scope that were not looked at.
    Unread(Arc<Vec<pcore::Value>>),
    Read(Rc<Vec<RubyValue>>),
}

#[derive(Debug, Clone)]
pub(crate) struct RubyHash(Rc<HashCell>);

#[derive(Debug)]
struct HashCell {
    content: RefCell<HashContent>,
    is_shared: bool,
}

#[derive(Debug)]
enum HashContent {
    Unread(Arc<pcore::Hash>),
    Read(Rc<Entries>),
}

/// Leaves the template to Ruby.
pub(crate) fn refuse<T>(reason: impl Into<String>) -> Eval<T> {
    Err(Interruption::Refused(reason.into()))
}

// === impl RubyValue ===

impl RubyValue {
    pub(crate) fn string(text: impl Into<Arc<str>>) -> Self {
        Self::Str(RubyString::new(text.into(), false))
    }

    pub(crate) fn array(elements: Vec<Self>) -> Self {
        Self::Array(RubyArray::new(elements))
    }

    pub(crate) fn hash(entries: Entries) -> Self {
        Self::Hash(RubyHash(Rc::new(HashCell {
            content: RefCell::new(HashContent::Read(Rc::new(entries))),
            is_shared: false,
        })))
    }

    pub(crate) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(crate) const fn is_truthy(&self) -> bool {
        !matches!(self, Self::Nil | Self::Bool(false))
    }

    /// True for values that only the functions of libraries read.
    pub(crate) const fn is_opaque(&self) -> bool {
        matches!(
            self,
            Self::Unknown | Self::Bytes(_) | Self::IpAddress(_) | Self::Scope
        )
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Str(_) => "a string",
            Self::Symbol(_) => "a symbol",
            Self::Array(_) => "an array",
            Self::Hash(_) => "a hash",
            Self::Range(..) => "a range",
            Self::Regex(_) => "a regular expression",
            Self::Match(_) => "a match",
            Self::Class(_) => "a class",
            Self::Unknown => "the value of a statement",
            Self::Bytes(_) => "bytes",
            Self::IpAddress(_) => "an IP address",
            Self::Scope => "the scope",
            Self::Foreign(_) => "a value of Puppet's own types",
        }
    }
}

// === impl RubyString ===

impl RubyString {
    pub(crate) fn new(text: Arc<str>, is_shared: bool) -> Self {
        Self(Rc::new(StringCell {
            text: RefCell::new(text),
            is_shared,
        }))
    }

    pub(crate) fn get(&self) -> Arc<str> {
        Arc::clone(&self.0.text.borrow())
    }

    pub(crate) fn set(&self, text: Arc<str>) -> Eval<()> {
        if self.0.is_shared {
            return refuse("a change of a string of the scope");
        }
        *self.0.text.borrow_mut() = text;
        Ok(())
    }
}

// === impl RubyArray ===

impl RubyArray {
    pub(crate) fn new(elements: Vec<RubyValue>) -> Self {
        Self(Rc::new(ArrayCell {
            content: RefCell::new(ArrayContent::Read(Rc::new(elements))),
            owner: ArrayOwner::Code,
        }))
    }

    fn of_scope(elements: Arc<Vec<pcore::Value>>) -> Self {
        Self(Rc::new(ArrayCell {
            content: RefCell::new(ArrayContent::Unread(elements)),
            owner: ArrayOwner::Scope,
        }))
    }

    fn of_variable(elements: Arc<Vec<pcore::Value>>, values: Rc<ScopeValues>) -> Self {
        Self(Rc::new(ArrayCell {
            content: RefCell::new(ArrayContent::Unread(elements)),
            owner: ArrayOwner::Variable(values),
        }))
    }

    pub(crate) fn get(&self) -> Rc<Vec<RubyValue>> {
        let mut content = self.0.content.borrow_mut();
        match &*content {
            ArrayContent::Read(elements) => Rc::clone(elements),
            ArrayContent::Unread(values) => {
                let elements: Vec<RubyValue> = values.iter().map(RubyValue::of_scope).collect();
                let elements = Rc::new(elements);
                *content = ArrayContent::Read(Rc::clone(&elements));
                elements
            }
        }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Vec<RubyValue>)) -> Eval<()> {
        match &self.0.owner {
            ArrayOwner::Code => {}
            ArrayOwner::Scope => return refuse("a change of an array of the scope"),
            ArrayOwner::Variable(values) => values.begin_change()?,
        }
        let mut elements = self.get();
        // one handle is that of the array, one is this one
        if Rc::strong_count(&elements) > 2 {
            return refuse("a change of an array that is in use");
        }
        change(Rc::make_mut(&mut elements));
        *self.0.content.borrow_mut() = ArrayContent::Read(elements);
        Ok(())
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

// === impl RubyHash ===

impl RubyHash {
    fn of_scope(entries: Arc<pcore::Hash>) -> Self {
        Self(Rc::new(HashCell {
            content: RefCell::new(HashContent::Unread(entries)),
            is_shared: true,
        }))
    }

    pub(crate) fn get(&self) -> Eval<Rc<Entries>> {
        let mut content = self.0.content.borrow_mut();
        match &*content {
            HashContent::Read(entries) => Ok(Rc::clone(entries)),
            HashContent::Unread(hash) => {
                let mut entries = Entries::with_capacity_and_hasher(hash.len(), Default::default());
                for (key, value) in hash.iter() {
                    let key = Key::new(&RubyValue::of_scope(key))?;
                    entries.insert(key, RubyValue::of_scope(value));
                }
                let entries = Rc::new(entries);
                *content = HashContent::Read(Rc::clone(&entries));
                Ok(entries)
            }
        }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Entries)) -> Eval<()> {
        if self.0.is_shared {
            return refuse("a change of a hash of the scope");
        }
        let mut entries = self.get()?;
        if Rc::strong_count(&entries) > 2 {
            return refuse("a change of a hash that is in use");
        }
        change(Rc::make_mut(&mut entries));
        *self.0.content.borrow_mut() = HashContent::Read(entries);
        Ok(())
    }
}
