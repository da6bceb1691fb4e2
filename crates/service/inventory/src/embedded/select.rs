//! Evaluates a [`Select`] over a snapshot: [`answer`].
//!
//! Invariant: the cost of an answer, in time and in values, is bounded; a query that exceeds a
//! bound fails with an error.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::Instant;

use serde_json::{Map, Value};

use super::fleet::Snapshot;
use super::row::{Cell, Row, each_row, size};
use super::test::{Key, Scalar, Test};
use crate::defaults::{EVALUATION_TIME, MAX_ANSWER_VALUES};
use crate::lang::{Column, Condition, Field, Kind, Order, Select};
use crate::{FactValue, QueryError};

/// The rows of the answer.
pub(super) fn answer(snapshot: &Snapshot, select: &Select) -> Result<Vec<Value>, QueryError> {
    let walk = Walk {
        snapshot,
        deadline: Instant::now() + EVALUATION_TIME,
    };
    if select.is_counted() {
        return walk.counted(select);
    }
    let rows = walk.rows(select)?;
    let all = every_column(select);
    let mut values = 0;
    let mut answer = Vec::with_capacity(rows.len());
    for row in rows {
        let row = match select.columns.is_empty() {
            true => object(row, all.iter()),
            false => object(row, select.columns.iter().filter_map(Column::field)),
        };
        values += size(&row);
        if values > MAX_ANSWER_VALUES {
            return Err(too_large());
        }
        answer.push(row);
    }
    Ok(answer)
}

/// Only the certnames, without the rest of the rows. `None` if the answer has no such column.
pub(super) fn certnames<'s>(
    snapshot: &'s Snapshot,
    select: &Select,
) -> Result<Option<Vec<&'s str>>, QueryError> {
    let named = |column: &Column| column.field().is_some_and(|field| field.name == "certname");
    if !select.columns.is_empty() && !select.columns.iter().any(named) {
        return Ok(None);
    }
    let Ok(certname) = Field::parse(select.entity, "certname") else {
        return Ok(None);
    };
    let walk = Walk {
        snapshot,
        deadline: Instant::now() + EVALUATION_TIME,
    };
    let mut seen = HashSet::new();
    let rows = walk.rows(select)?.into_iter();
    let names = rows.filter_map(|row| match row.cell(&certname) {
        Cell::Text(name) => seen.insert(name).then_some(name),
        _ => None,
    });
    Ok(Some(names.collect()))
}

/// One walk over a snapshot.
struct Walk<'s> {
    snapshot: &'s Snapshot,
    deadline: Instant,
}

impl<'s> Walk<'s> {
    /// The requested rows, in order, cut to limit and offset.
    fn rows(&self, select: &Select) -> Result<Vec<Row<'s>>, QueryError> {
        let offset = usize::try_from(select.offset).unwrap_or(usize::MAX);
        let limit = select.limit.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        // Without an order, the first rows suffice.
        let enough = match select.order_by.is_empty() {
            true => offset.saturating_add(limit),
            false => usize::MAX,
        };
        let mut rows = Vec::new();
        self.each(select, |row| {
            if rows.len() >= enough {
                return ControlFlow::Break(None);
            }
            if rows.len() >= MAX_ANSWER_VALUES {
                return ControlFlow::Break(Some(too_large()));
            }
            rows.push(row);
            ControlFlow::Continue(())
        })?;
        if !select.order_by.is_empty() {
            rows.sort_by(|a, b| in_order(&select.order_by, *a, *b));
        }
        Ok(rows.into_iter().skip(offset).take(limit).collect())
    }

    /// Passes every row that satisfies the condition to `take`, until it breaks.
    fn each(
        &self,
        select: &Select,
        mut take: impl FnMut(Row<'s>) -> ControlFlow<Option<QueryError>>,
    ) -> Result<(), QueryError> {
        let test = select
            .condition
            .as_ref()
            .map(|c| self.test(c))
            .transpose()?;
        let mut walked = 0_usize;
        let ended = each_row(self.snapshot, select.entity, |row| {
            walked += 1;
            if walked.is_multiple_of(256) && Instant::now() > self.deadline {
                return ControlFlow::Break(Some(QueryError::Slow(EVALUATION_TIME)));
            }
            match test.as_ref().is_none_or(|test| test.of(row) == Some(true)) {
                true => take(row),
                false => ControlFlow::Continue(()),
            }
        });
        match ended {
            ControlFlow::Break(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// The results of `count()`, by group.
    fn counted(&self, select: &Select) -> Result<Vec<Value>, QueryError> {
        let mut groups: Vec<Group<'s>> = Vec::new();
        let mut known: HashMap<Key, usize> = HashMap::new();
        if select.group_by.is_empty() {
            groups.push(Group::new(None, select));
            known.insert(Vec::new(), 0);
        }
        self.each(select, |row| {
            let by = select.group_by.iter();
            let key: Key = by.map(|field| Scalar::of(row.cell(field))).collect();
            let index = *known.entry(key).or_insert_with(|| {
                groups.push(Group::new(Some(row), select));
                groups.len() - 1
            });
            if groups.len() > MAX_ANSWER_VALUES / 16 {
                return ControlFlow::Break(Some(too_large()));
            }
            groups[index].add(row, select);
            ControlFlow::Continue(())
        })?;
        groups.sort_by(|a, b| match (a.first, b.first) {
            (Some(a), Some(b)) => in_order(&select.order_by, a, b),
            _ => Ordering::Equal,
        });
        let offset = usize::try_from(select.offset).unwrap_or(usize::MAX);
        let limit = select.limit.and_then(|limit| usize::try_from(limit).ok());
        let groups = groups.iter().skip(offset).take(limit.unwrap_or(usize::MAX));
        Ok(groups.map(|group| group.row(select)).collect())
    }

    /// The condition with the answers of its subqueries.
    fn test<'q>(&self, condition: &'q Condition) -> Result<Test<'q>, QueryError> {
        let tests = |inner: &'q [Condition]| -> Result<Vec<Test<'q>>, QueryError> {
            inner.iter().map(|c| self.test(c)).collect()
        };
        Ok(match condition {
            Condition::All(inner) => Test::All(tests(inner)?),
            Condition::Any(inner) => Test::Any(tests(inner)?),
            Condition::Not(inner) => Test::Not(Box::new(self.test(inner)?)),
            Condition::Equal(field, value) => Test::Equal(field, value),
            Condition::SameTime(field, at) => Test::SameTime(field, *at),
            Condition::Matches(field, regex) => Test::Matches(field, regex),
            Condition::Compare(field, how, bound) => Test::Compare(field, *how, *bound),
            Condition::Null(field, is) => Test::Null(field, *is),
            Condition::OneOf(field, values) => {
                let keys = values.iter().map(|value| vec![Scalar::of_json(value)]);
                Test::Among(vec![field], keys.collect())
            }
            Condition::Among(fields, select) => {
                Test::Among(fields.iter().collect(), self.keys(select)?)
            }
        })
    }

    /// The rows of a subquery, as keys.
    fn keys(&self, select: &Select) -> Result<HashSet<Key>, QueryError> {
        let columns: Vec<&Field> = select.columns.iter().filter_map(Column::field).collect();
        let key = |row: Row<'s>| columns.iter().map(|f| Scalar::of(row.cell(f))).collect();
        if select.is_counted() {
            return Err(QueryError::Unsupported(crate::Invalid {
                place: "a query inside".to_owned(),
                what: "count() is for the outermost query".to_owned(),
            }));
        }
        Ok(self.rows(select)?.into_iter().map(key).collect())
    }
}

/// Rows with equal grouping columns, which are counted together.
struct Group<'s> {
    first: Option<Row<'s>>,
    /// One count for each column; only those of `count()` columns are used.
    counts: Vec<u64>,
}

impl<'s> Group<'s> {
    fn new(first: Option<Row<'s>>, select: &Select) -> Self {
        Self {
            first,
            counts: vec![0; select.columns.len()],
        }
    }

    fn add(&mut self, row: Row<'s>, select: &Select) {
        for (count, column) in self.counts.iter_mut().zip(&select.columns) {
            let counts = match column {
                Column::Count(Some(field)) => !row.cell(field).is_null(),
                _ => true,
            };
            *count += u64::from(counts);
        }
    }

    fn row(&self, select: &Select) -> Value {
        let mut object = Map::new();
        for (count, column) in self.counts.iter().zip(&select.columns) {
            match (column, self.first) {
                (Column::Field(field), Some(first)) => {
                    object.insert(field.name.clone(), first.cell(field).to_json());
                }
                (Column::Field(_), None) => {}
                (Column::Count(_), _) => {
                    object.insert("count".to_owned(), (*count).into());
                }
            }
        }
        Value::Object(object)
    }
}

// === order and shape ===

fn in_order(orders: &[Order], a: Row<'_>, b: Row<'_>) -> Ordering {
    for order in orders {
        let ordering = cells(a.cell(&order.field), b.cell(&order.field));
        let ordering = match order.descending {
            true => ordering.reverse(),
            false => ordering,
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

/// Null comes last, as in PostgreSQL; values of different types are grouped by type.
fn cells(a: Cell<'_>, b: Cell<'_>) -> Ordering {
    match (a, b) {
        (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
        (Cell::Bool(a), Cell::Bool(b)) => a.cmp(&b),
        (Cell::Time(a), Cell::Time(b)) => a.cmp(&b),
        (Cell::Json(a), Cell::Json(b)) => values(a, b),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn values(a: &FactValue, b: &FactValue) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        return a.cmp(b);
    }
    if let (Some(a), Some(b)) = (a.as_bool(), b.as_bool()) {
        return a.cmp(&b);
    }
    if let (Some(a), Some(b)) = (a.as_number(), b.as_number()) {
        let (a, b) = (a.as_f64(), b.as_f64());
        return a.partial_cmp(&b).unwrap_or(Ordering::Equal);
    }
    rank(Cell::Json(a)).cmp(&rank(Cell::Json(b)))
}

fn rank(cell: Cell<'_>) -> u8 {
    match cell {
        cell if cell.is_null() => 5,
        Cell::Bool(_) => 0,
        Cell::Text(_) => 2,
        Cell::Time(_) => 3,
        Cell::Json(value) if value.as_bool().is_some() => 0,
        Cell::Json(value) if value.as_number().is_some() => 1,
        Cell::Json(value) if value.as_str().is_some() => 2,
        _ => 4,
    }
}

/// All columns of the entity, as fields.
fn every_column(select: &Select) -> Vec<Field> {
    let columns = select.entity.columns().iter();
    let field = |(column, kind): &(&'static str, Kind)| Field {
        name: (*column).to_owned(),
        column,
        kind: *kind,
        path: Vec::new(),
    };
    columns.map(field).collect()
}

fn object<'q>(row: Row<'_>, fields: impl Iterator<Item = &'q Field>) -> Value {
    let cells = fields.map(|field| (field.name.clone(), row.cell(field).to_json()));
    Value::Object(cells.collect())
}

fn too_large() -> QueryError {
    QueryError::TooLarge {
        limit: format!("{MAX_ANSWER_VALUES} values"),
    }
}

// === impl Select, Column ===

impl Select {
    fn is_counted(&self) -> bool {
        let counts = |column: &Column| matches!(column, Column::Count(_));
        !self.group_by.is_empty() || self.columns.iter().any(counts)
    }
}

impl Column {
    fn field(&self) -> Option<&Field> {
        match self {
            Self::Field(field) => Some(field),
            Self::Count(_) => None,
        }
    }
}
