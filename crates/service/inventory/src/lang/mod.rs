//! The query language: PQL text or AST JSON in, one [`SelectQuery`] out.
//!
//! Both forms are parsed into the same model and checked against the [`QueryEntity`]'s columns, so
//! that an unknown name is an error with its position. Invariant: any input gives a query or an
//! [`UnsupportedQuery`] with the position and the supported alternatives, within the bounds of
//! [`crate::defaults`].

mod ast;
mod budget;
mod entity;
mod field;
mod lexer;
mod literal;
mod pql;

pub(crate) use ast::{parse as parse_ast, parse_order as parse_ast_order};
pub(crate) use entity::{ColumnType, QueryEntity};
pub(crate) use field::{PathSegment, QueryField};
pub(crate) use pql::parse as parse_pql;

use regex::Regex;
use serde_json::Value;

/// The error that a query is not in the supported subset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct UnsupportedQuery {
    /// `line 1, column 5`, or the path in an AST: `query[1][2]`.
    pub place: String,
    /// Description of the defect and of the supported form.
    pub what: String,
}

/// One query.
#[derive(Debug)]
pub(crate) struct SelectQuery {
    pub(crate) entity: QueryEntity,
    /// The columns of the answer; empty for all columns.
    pub(crate) columns: Vec<QueryColumn>,
    pub(crate) condition: Option<QueryCondition>,
    pub(crate) group_by: Vec<QueryField>,
    pub(crate) order_by: Vec<OrderColumn>,
    pub(crate) limit: Option<u64>,
    pub(crate) offset: u64,
}

/// A column of the answer.
#[derive(Debug)]
pub(crate) enum QueryColumn {
    Field(QueryField),
    /// Number of rows, or with a field: number of rows where it is not null.
    Count(Option<QueryField>),
}

/// A column by which rows are ordered.
#[derive(Debug)]
pub(crate) struct OrderColumn {
    pub(crate) field: QueryField,
    pub(crate) descending: bool,
}

/// A condition that selects rows.
#[derive(Debug)]
pub(crate) enum QueryCondition {
    All(Vec<QueryCondition>),
    Any(Vec<QueryCondition>),
    Not(Box<QueryCondition>),
    Equal(QueryField, Value),
    /// A timestamp, in milliseconds.
    SameTime(QueryField, i64),
    Matches(QueryField, Regex),
    Compare(QueryField, ComparisonOperator, ComparisonBound),
    Null(QueryField, bool),
    /// One of these scalar values.
    OneOf(QueryField, Vec<Value>),
    /// The combination of the fields is a row of the other query.
    Among(Vec<QueryField>, Box<SelectQuery>),
}

/// `<`, `<=`, `>`, `>=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparisonOperator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The value of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ComparisonBound {
    Number(f64),
    /// Milliseconds since 1970.
    Time(i64),
}

impl SelectQuery {
    pub(crate) fn of(entity: QueryEntity) -> Self {
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
    fn check_aggregates(&self) -> Result<(), String> {
        let counted = self
            .columns
            .iter()
            .any(|c| matches!(c, QueryColumn::Count(_)));
        if !counted && self.group_by.is_empty() {
            return Ok(());
        }
        if self.columns.is_empty() {
            return Err("`group by` needs a list of columns".to_owned());
        }
        let grouped = |field: &QueryField| self.group_by.iter().any(|by| by.name == field.name);
        for column in &self.columns {
            if let QueryColumn::Field(field) = column
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

pub(crate) fn invalid(place: impl Into<String>, what: impl Into<String>) -> UnsupportedQuery {
    UnsupportedQuery {
        place: place.into(),
        what: what.into(),
    }
}
