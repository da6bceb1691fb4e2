//! Evaluates a [`SelectQuery`] over a snapshot: [`evaluate_select`].
//!
//! Invariant: the cost of an answer, in time and in values, is bounded; a query that exceeds a
//! bound fails with an error.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::Instant;

use serde_json::{Map, Value};

use super::condition_test::{ConditionTest, ScalarKey, ScalarValue};
use super::node_table::InventorySnapshot;
use super::row::{EntityRow, FieldValue, count_values, for_each_row};
use crate::defaults::{EVALUATION_TIME, MAX_ANSWER_VALUES};
use crate::lang::{ColumnType, OrderColumn, QueryColumn, QueryCondition, QueryField, SelectQuery};
use crate::{FactValue, QueryError};

/// The rows of the answer.
pub(super) fn evaluate_select(
    snapshot: &InventorySnapshot,
    select: &SelectQuery,
) -> Result<Vec<Value>, QueryError> {
    let walk = SnapshotWalk {
        snapshot,
        deadline: Instant::now() + EVALUATION_TIME,
    };
    if select.is_counted() {
        return walk.count_groups(select);
    }
    let rows = walk.rows(select)?;
    let all = every_column(select);
    let mut values = 0;
    let mut answer = Vec::with_capacity(rows.len());
    for row in rows {
        let row = match select.columns.is_empty() {
            true => row_object(row, all.iter()),
            false => row_object(row, select.columns.iter().filter_map(QueryColumn::field)),
        };
        values += count_values(&row);
        if values > MAX_ANSWER_VALUES {
            return Err(too_large());
        }
        answer.push(row);
    }
    Ok(answer)
}

/// Only the certnames, without the rest of the rows. `None` if the answer has no such column.
pub(super) fn certnames<'s>(
    snapshot: &'s InventorySnapshot,
    select: &SelectQuery,
) -> Result<Option<Vec<&'s str>>, QueryError> {
    let named = |column: &QueryColumn| column.field().is_some_and(|field| field.name == "certname");
    if !select.columns.is_empty() && !select.columns.iter().any(named) {
        return Ok(None);
    }
    let Ok(certname) = QueryField::parse(select.entity, "certname") else {
        return Ok(None);
    };
    let walk = SnapshotWalk {
        snapshot,
        deadline: Instant::now() + EVALUATION_TIME,
    };
    let mut seen = HashSet::new();
    let rows = walk.rows(select)?.into_iter();
    let names = rows.filter_map(|row| match row.cell(&certname) {
        FieldValue::Text(name) => seen.insert(name).then_some(name),
        _ => None,
    });
    Ok(Some(names.collect()))
}

/// One walk over a snapshot.
struct SnapshotWalk<'s> {
    snapshot: &'s InventorySnapshot,
    deadline: Instant,
}

impl<'s> SnapshotWalk<'s> {
    /// The requested rows, in order, cut to limit and offset.
    fn rows(&self, select: &SelectQuery) -> Result<Vec<EntityRow<'s>>, QueryError> {
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
        self.for_each_row(select, |row| {
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
            rows.sort_by(|a, b| compare_rows(&select.order_by, *a, *b));
        }
        Ok(rows.into_iter().skip(offset).take(limit).collect())
    }

    /// Passes every row that satisfies the condition to `take`, until it breaks.
    fn for_each_row(
        &self,
        select: &SelectQuery,
        mut take: impl FnMut(EntityRow<'s>) -> ControlFlow<Option<QueryError>>,
    ) -> Result<(), QueryError> {
        let test = select
            .condition
            .as_ref()
            .map(|c| self.prepare_test(c))
            .transpose()?;
        let mut walked = 0_usize;
        let ended = for_each_row(self.snapshot, select.entity, |row| {
            walked += 1;
            if walked.is_multiple_of(256) && Instant::now() > self.deadline {
                return ControlFlow::Break(Some(QueryError::Slow(EVALUATION_TIME)));
            }
            match test
                .as_ref()
                .is_none_or(|test| test.evaluate(row) == Some(true))
            {
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
    fn count_groups(&self, select: &SelectQuery) -> Result<Vec<Value>, QueryError> {
        let mut groups: Vec<RowGroup<'s>> = Vec::new();
        let mut known: HashMap<ScalarKey, usize> = HashMap::new();
        if select.group_by.is_empty() {
            groups.push(RowGroup::new(None, select));
            known.insert(Vec::new(), 0);
        }
        self.for_each_row(select, |row| {
            let by = select.group_by.iter();
            let key: ScalarKey = by
                .map(|field| ScalarValue::from_value(row.cell(field)))
                .collect();
            let index = *known.entry(key).or_insert_with(|| {
                groups.push(RowGroup::new(Some(row), select));
                groups.len() - 1
            });
            if groups.len() > MAX_ANSWER_VALUES / 16 {
                return ControlFlow::Break(Some(too_large()));
            }
            groups[index].add(row, select);
            ControlFlow::Continue(())
        })?;
        groups.sort_by(|a, b| match (a.first, b.first) {
            (Some(a), Some(b)) => compare_rows(&select.order_by, a, b),
            _ => Ordering::Equal,
        });
        let offset = usize::try_from(select.offset).unwrap_or(usize::MAX);
        let limit = select.limit.and_then(|limit| usize::try_from(limit).ok());
        let groups = groups.iter().skip(offset).take(limit.unwrap_or(usize::MAX));
        Ok(groups.map(|group| group.row(select)).collect())
    }

    /// The condition with the answers of its subqueries.
    fn prepare_test<'q>(
        &self,
        condition: &'q QueryCondition,
    ) -> Result<ConditionTest<'q>, QueryError> {
        let tests = |inner: &'q [QueryCondition]| -> Result<Vec<ConditionTest<'q>>, QueryError> {
            inner.iter().map(|c| self.prepare_test(c)).collect()
        };
        Ok(match condition {
            QueryCondition::All(inner) => ConditionTest::All(tests(inner)?),
            QueryCondition::Any(inner) => ConditionTest::Any(tests(inner)?),
            QueryCondition::Not(inner) => ConditionTest::Not(Box::new(self.prepare_test(inner)?)),
            QueryCondition::Equal(field, value) => ConditionTest::Equal(field, value),
            QueryCondition::SameTime(field, at) => ConditionTest::SameTime(field, *at),
            QueryCondition::Matches(field, regex) => ConditionTest::Matches(field, regex),
            QueryCondition::Compare(field, how, bound) => {
                ConditionTest::Compare(field, *how, *bound)
            }
            QueryCondition::Null(field, is) => ConditionTest::Null(field, *is),
            QueryCondition::OneOf(field, values) => {
                let keys = values
                    .iter()
                    .map(|value| vec![ScalarValue::from_json(value)]);
                ConditionTest::Among(vec![field], keys.collect())
            }
            QueryCondition::Among(fields, select) => {
                ConditionTest::Among(fields.iter().collect(), self.subquery_keys(select)?)
            }
        })
    }

    /// The rows of a subquery, as keys.
    fn subquery_keys(&self, select: &SelectQuery) -> Result<HashSet<ScalarKey>, QueryError> {
        let columns: Vec<&QueryField> = select
            .columns
            .iter()
            .filter_map(QueryColumn::field)
            .collect();
        let key = |row: EntityRow<'s>| {
            columns
                .iter()
                .map(|f| ScalarValue::from_value(row.cell(f)))
                .collect()
        };
        if select.is_counted() {
            return Err(QueryError::Unsupported(crate::UnsupportedQuery {
                place: "a query inside".to_owned(),
                what: "count() is for the outermost query".to_owned(),
            }));
        }
        Ok(self.rows(select)?.into_iter().map(key).collect())
    }
}

/// Rows with equal grouping columns, which are counted together.
struct RowGroup<'s> {
    first: Option<EntityRow<'s>>,
    /// One count for each column; only those of `count()` columns are used.
    counts: Vec<u64>,
}

impl<'s> RowGroup<'s> {
    fn new(first: Option<EntityRow<'s>>, select: &SelectQuery) -> Self {
        Self {
            first,
            counts: vec![0; select.columns.len()],
        }
    }

    fn add(&mut self, row: EntityRow<'s>, select: &SelectQuery) {
        for (count, column) in self.counts.iter_mut().zip(&select.columns) {
            let counts = match column {
                QueryColumn::Count(Some(field)) => !row.cell(field).is_null(),
                _ => true,
            };
            *count += u64::from(counts);
        }
    }

    fn row(&self, select: &SelectQuery) -> Value {
        let mut object = Map::new();
        for (count, column) in self.counts.iter().zip(&select.columns) {
            match (column, self.first) {
                (QueryColumn::Field(field), Some(first)) => {
                    object.insert(field.name.clone(), first.cell(field).to_json());
                }
                (QueryColumn::Field(_), None) => {}
                (QueryColumn::Count(_), _) => {
                    object.insert("count".to_owned(), (*count).into());
                }
            }
        }
        Value::Object(object)
    }
}

// === order and shape ===

fn compare_rows(orders: &[OrderColumn], a: EntityRow<'_>, b: EntityRow<'_>) -> Ordering {
    for order in orders {
        let ordering = compare_cells(a.cell(&order.field), b.cell(&order.field));
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
fn compare_cells(a: FieldValue<'_>, b: FieldValue<'_>) -> Ordering {
    match (a, b) {
        (FieldValue::Text(a), FieldValue::Text(b)) => a.cmp(b),
        (FieldValue::Bool(a), FieldValue::Bool(b)) => a.cmp(&b),
        (FieldValue::Time(a), FieldValue::Time(b)) => a.cmp(&b),
        (FieldValue::Json(a), FieldValue::Json(b)) => compare_values(a, b),
        _ => cell_rank(a).cmp(&cell_rank(b)),
    }
}

fn compare_values(a: &FactValue, b: &FactValue) -> Ordering {
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
    cell_rank(FieldValue::Json(a)).cmp(&cell_rank(FieldValue::Json(b)))
}

fn cell_rank(cell: FieldValue<'_>) -> u8 {
    match cell {
        cell if cell.is_null() => 5,
        FieldValue::Bool(_) => 0,
        FieldValue::Text(_) => 2,
        FieldValue::Time(_) => 3,
        FieldValue::Json(value) if value.as_bool().is_some() => 0,
        FieldValue::Json(value) if value.as_number().is_some() => 1,
        FieldValue::Json(value) if value.as_str().is_some() => 2,
        _ => 4,
    }
}

/// All columns of the entity, as fields.
fn every_column(select: &SelectQuery) -> Vec<QueryField> {
    let columns = select.entity.columns().iter();
    let field = |(column, kind): &(&'static str, ColumnType)| QueryField {
        name: (*column).to_owned(),
        column,
        kind: *kind,
        path: Vec::new(),
    };
    columns.map(field).collect()
}

fn row_object<'q>(row: EntityRow<'_>, fields: impl Iterator<Item = &'q QueryField>) -> Value {
    let cells = fields.map(|field| (field.name.clone(), row.cell(field).to_json()));
    Value::Object(cells.collect())
}

fn too_large() -> QueryError {
    QueryError::TooLarge {
        limit: format!("{MAX_ANSWER_VALUES} values"),
    }
}

// === impl SelectQuery, QueryColumn ===

impl SelectQuery {
    fn is_counted(&self) -> bool {
        let counts = |column: &QueryColumn| matches!(column, QueryColumn::Count(_));
        !self.group_by.is_empty() || self.columns.iter().any(counts)
    }
}

impl QueryColumn {
    fn field(&self) -> Option<&QueryField> {
        match self {
            Self::Field(field) => Some(field),
            Self::Count(_) => None,
        }
    }
}
