//! The query language: PQL text or AST JSON in, one [`Select`] out.
//!
//! Both forms are parsed into the same model and checked against the [`Entity`]'s columns, so that
//! an unknown name is an error with its position. Invariant: any input gives a query or an
//! [`Invalid`] with the position and the supported alternatives, within the bounds of
//! [`crate::defaults`].

mod ast;
mod budget;
mod entity;
mod field;
mod lexer;
mod literal;
mod pql;

pub(crate) use ast::{parse as parse_ast, parse_order as parse_ast_order};
pub(crate) use entity::{Entity, Kind};
pub(crate) use field::{Field, Segment};
pub(crate) use pql::parse as parse_pql;

use regex::Regex;
use serde_json::Value;

/// The error that a query is not in the supported subset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Invalid {
    /// `line 1, column 5`, or the path in an AST: `query[1][2]`.
    pub place: String,
    /// Description of the defect and of the supported form.
    pub what: String,
}

/// One query.
#[derive(Debug)]
pub(crate) struct Select {
    pub(crate) entity: Entity,
    /// The columns of the answer; empty for all columns.
    pub(crate) columns: Vec<Column>,
    pub(crate) condition: Option<Condition>,
    pub(crate) group_by: Vec<Field>,
    pub(crate) order_by: Vec<Order>,
    pub(crate) limit: Option<u64>,
    pub(crate) offset: u64,
}

/// A column of the answer.
#[derive(Debug)]
pub(crate) enum Column {
    Field(Field),
    /// Number of rows, or with a field: number of rows where it is not null.
    Count(Option<Field>),
}

/// A column by which rows are ordered.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) field: Field,
    pub(crate) descending: bool,
}

/// A condition that selects rows.
#[derive(Debug)]
pub(crate) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Equal(Field, Value),
    /// A timestamp, in milliseconds.
    SameTime(Field, i64),
    Matches(Field, Regex),
    Compare(Field, Comparison, Bound),
    Null(Field, bool),
    /// One of these scalar values.
    OneOf(Field, Vec<Value>),
    /// The combination of the fields is a row of the other query.
    Among(Vec<Field>, Box<Select>),
}

/// `<`, `<=`, `>`, `>=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The value of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    Number(f64),
    /// Milliseconds since 1970.
    Time(i64),
}

impl Select {
    pub(crate) fn of(entity: Entity) -> Self {
        Self {
            entity,
            columns: Vec::new(),
            condition: None,
            group_by: Vec::new(),
            order_by: Vec::new(),
            limit: None,
            offset: 0,
        }
    }

    /// Checks PostgreSQL's rule for aggregates: a counted query may name only its grouping
    /// columns.
    fn check(&self) -> Result<(), String> {
        let counted = self.columns.iter().any(|c| matches!(c, Column::Count(_)));
        if !counted && self.group_by.is_empty() {
            return Ok(());
        }
        if self.columns.is_empty() {
            return Err("`group by` needs a list of columns".to_owned());
        }
        let grouped = |field: &Field| self.group_by.iter().any(|by| by.name == field.name);
        for column in &self.columns {
            if let Column::Field(field) = column
                && !grouped(field)
            {
                let name = &field.name;
                return Err(format!("`{name}` is neither counted nor in `group by`"));
            }
        }
        match self.order_by.iter().find(|order| !grouped(&order.field)) {
            Some(order) => {
                let name = &order.field.name;
                Err(format!("`{name}` in `order by` is not in `group by`"))
            }
            None => Ok(()),
        }
    }
}

pub(crate) fn invalid(place: impl Into<String>, what: impl Into<String>) -> Invalid {
    Invalid {
        place: place.into(),
        what: what.into(),
    }
}
