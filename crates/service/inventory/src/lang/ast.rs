//! The AST form: `["from", "nodes", ["extract", ["certname"], ["=", "certname", "a"]], ["limit",
//! 3]]`, and the same without `from` if the entity is known.

use serde_json::Value;

use super::budget::QueryBudget;
use super::entity::{QueryEntity, clip_name};
use super::field::QueryField;
use super::{
    OrderColumn, QueryColumn, QueryCondition, SelectQuery, UnsupportedQuery, invalid, literal,
};
use crate::defaults::{MAX_COLUMNS, MAX_QUERY_DEPTH};

/// Parses a query. `entity` is the entity of a query without `from`.
pub(crate) fn parse(
    query: &Value,
    entity: Option<QueryEntity>,
) -> Result<SelectQuery, UnsupportedQuery> {
    let budget = QueryBudget::default();
    let here = AstPosition::at_clause("query", &budget);
    let (operator, rest) = here.read_operation(query)?;
    match (operator, entity) {
        ("from", _) => from(&here, rest),
        (_, Some(entity)) => {
            let mut select = SelectQuery::of(entity);
            parse_extract_or_condition(&here, query, &mut select)?;
            here.check_select(select)
        }
        (_, None) => Err(here.error(
            "the query begins with [\"from\", \"nodes\", …]; without it, nothing says what is asked for",
        )),
    }
}

/// Parses the list of an `order_by`.
pub(crate) fn parse_order(
    list: &Value,
    entity: QueryEntity,
) -> Result<Vec<OrderColumn>, UnsupportedQuery> {
    parse_order_by(
        &AstPosition::at_clause("order_by", &QueryBudget::default()),
        list,
        entity,
    )
}

/// Position in the query, for error messages and the limit on nesting.
struct AstPosition<'q> {
    path: String,
    depth: usize,
    budget: &'q QueryBudget,
}

// === queries ===

fn from(here: &AstPosition<'_>, rest: &[Value]) -> Result<SelectQuery, UnsupportedQuery> {
    let name = here.read_text(rest.first(), 1, "the name of an entity")?;
    let entity = QueryEntity::from_name(name).map_err(|what| here.at_item(1).error(what))?;
    let mut select = SelectQuery::of(entity);
    for (i, part) in rest.iter().enumerate().skip(1) {
        let place = here.at_nested(i + 1)?;
        let (operator, arguments) = place.read_operation(part)?;
        match operator {
            "limit" => select.limit = Some(place.read_count(arguments)?),
            "offset" => select.offset = place.read_count(arguments)?,
            "order_by" => {
                let list = place.read_single(arguments)?;
                select.order_by = parse_order_by(&place.at_item(1), list, entity)?;
            }
            "group_by" => select.group_by = parse_fields(&place, arguments, entity)?,
            _ if i == 1 => parse_extract_or_condition(&place, part, &mut select)?,
            _ => return Err(place.error("expected limit, offset, order_by or group_by")),
        }
    }
    here.check_select(select)
}

/// `["extract", columns, condition?, ["group_by", …]?]`, or a condition alone.
fn parse_extract_or_condition(
    here: &AstPosition<'_>,
    query: &Value,
    select: &mut SelectQuery,
) -> Result<(), UnsupportedQuery> {
    let entity = select.entity;
    let (operator, rest) = here.read_operation(query)?;
    if operator != "extract" {
        select.condition = Some(parse_condition(here, query, entity)?);
        return Ok(());
    }
    let Some(columns) = rest.first() else {
        return Err(here.error("`extract` is followed by a list of columns"));
    };
    select.columns = parse_columns(&here.at_item(1), columns, entity)?;
    for (i, part) in rest.iter().enumerate().skip(1) {
        let place = here.at_nested(i + 1)?;
        match place.read_operation(part)? {
            ("group_by", names) => select.group_by = parse_fields(&place, names, entity)?,
            _ if i == 1 => select.condition = Some(parse_condition(&place, part, entity)?),
            _ => return Err(place.error("expected group_by")),
        }
    }
    Ok(())
}

fn parse_columns(
    here: &AstPosition<'_>,
    columns: &Value,
    entity: QueryEntity,
) -> Result<Vec<QueryColumn>, UnsupportedQuery> {
    // A single column may be given without a list.
    let lone = [columns.clone()];
    let is_list = matches!(columns, Value::Array(items)
        if items.first().is_none_or(|first| first.as_str() != Some("function")));
    let list: &[Value] = match columns {
        Value::Array(items) if is_list => items,
        _ => &lone,
    };
    if list.len() > MAX_COLUMNS {
        return Err(here.error(format!("a query has at most {MAX_COLUMNS} columns")));
    }
    let each = |(i, column): (usize, &Value)| {
        let place = here.at_item(i);
        let Value::Array(function) = column else {
            return parse_field(&place, column, entity).map(QueryColumn::Field);
        };
        let names: Vec<Option<&str>> = function.iter().map(Value::as_str).collect();
        match names[..] {
            [Some("function"), Some("count")] => Ok(QueryColumn::Count(None)),
            [Some("function"), Some("count"), Some(_)] => Ok(QueryColumn::Count(Some(
                parse_field(&place, &function[2], entity)?,
            ))),
            _ => Err(place.error("the only function of the embedded inventory is count")),
        }
    };
    list.iter().enumerate().map(each).collect()
}

fn parse_order_by(
    here: &AstPosition<'_>,
    list: &Value,
    entity: QueryEntity,
) -> Result<Vec<OrderColumn>, UnsupportedQuery> {
    let Value::Array(items) = list else {
        return Err(here.error("expected a list of columns"));
    };
    if items.len() > MAX_COLUMNS {
        return Err(here.error(format!("a list has at most {MAX_COLUMNS} columns")));
    }
    let each = |(i, item): (usize, &Value)| {
        let place = here.at_item(i);
        // "x", ["x", "desc"], or {"field": "x", "order": "desc"} as in a URL.
        let (name, order) = match item {
            Value::Array(pair) => (pair.first(), pair.get(1)),
            Value::Object(pair) => (pair.get("field"), pair.get("order")),
            name => (Some(name), None),
        };
        let name = name.ok_or_else(|| place.error("expected a column"))?;
        let descending = match order.map(Value::as_str) {
            None => false,
            Some(Some(order)) if order.eq_ignore_ascii_case("asc") => false,
            Some(Some(order)) if order.eq_ignore_ascii_case("desc") => true,
            Some(_) => return Err(place.error("the order is \"asc\" or \"desc\"")),
        };
        let field = parse_field(&place, name, entity)?;
        Ok(OrderColumn { field, descending })
    };
    items.iter().enumerate().map(each).collect()
}

fn parse_fields(
    here: &AstPosition<'_>,
    names: &[Value],
    entity: QueryEntity,
) -> Result<Vec<QueryField>, UnsupportedQuery> {
    if names.len() > MAX_COLUMNS {
        return Err(here.error(format!("a list has at most {MAX_COLUMNS} columns")));
    }
    let each = |(i, name): (usize, &Value)| parse_field(&here.at_item(i + 1), name, entity);
    names.iter().enumerate().map(each).collect()
}

// === conditions ===

fn parse_condition(
    here: &AstPosition<'_>,
    query: &Value,
    entity: QueryEntity,
) -> Result<QueryCondition, UnsupportedQuery> {
    let (operator, rest) = here.read_operation(query)?;
    match (operator, rest) {
        ("and", [_, ..]) => Ok(QueryCondition::All(parse_conditions(here, rest, entity)?)),
        ("or", [_, ..]) => Ok(QueryCondition::Any(parse_conditions(here, rest, entity)?)),
        ("not", [inner]) => {
            let inner = parse_condition(&here.at_nested(1)?, inner, entity)?;
            Ok(QueryCondition::Not(Box::new(inner)))
        }
        ("null?", [name, Value::Bool(is)]) => Ok(QueryCondition::Null(
            parse_field(&here.at_item(1), name, entity)?,
            *is,
        )),
        ("in", [left, right]) => parse_membership(here, left, right, entity),
        ("subquery", [Value::String(name), inner @ ..]) if inner.len() < 2 => {
            parse_subquery(here, name, inner.first(), entity)
        }
        ("=" | "~" | "<" | "<=" | ">" | ">=", [name, value]) => {
            let field = parse_field(&here.at_item(1), name, entity)?;
            literal::parse_comparison(field, operator, value.clone(), here.budget)
                .map_err(|what| here.error(what))
        }
        (
            "and" | "or" | "not" | "null?" | "in" | "subquery" | "=" | "~" | "<" | "<=" | ">"
            | ">=",
            _,
        ) => Err(here.error(format!("`{operator}` has other arguments than these"))),
        (other, _) => Err(here.error(format!(
            "`{}` is not supported by the embedded inventory; there are = ~ < <= > >= in null? and \
             or not subquery",
            clip_name(other)
        ))),
    }
}

fn parse_conditions(
    here: &AstPosition<'_>,
    rest: &[Value],
    entity: QueryEntity,
) -> Result<Vec<QueryCondition>, UnsupportedQuery> {
    let each =
        |(i, inner): (usize, &Value)| parse_condition(&here.at_nested(i + 1)?, inner, entity);
    rest.iter().enumerate().map(each).collect()
}

fn parse_membership(
    here: &AstPosition<'_>,
    left: &Value,
    right: &Value,
    entity: QueryEntity,
) -> Result<QueryCondition, UnsupportedQuery> {
    let fields = match left {
        Value::Array(names) => parse_fields(&here.at_item(1), names, entity)?,
        name => vec![parse_field(&here.at_item(1), name, entity)?],
    };
    let place = here.at_nested(2)?;
    let select = match (place.read_operation(right)?, &fields[..]) {
        (("array", [Value::Array(values)]), [field]) => {
            return literal::parse_one_of(field.clone(), values.clone())
                .map_err(|what| place.error(what));
        }
        (("from", rest), _) => from(&place, rest)?,
        (("extract", [columns, inner]), _) => parse_select_subquery(&place, columns, inner)?,
        _ => {
            return Err(place
                .error("`in` is followed by [\"array\", […]], [\"from\", …] or [\"extract\", …]"));
        }
    };
    if select.columns.len() != fields.len() || fields.is_empty() {
        return Err(place.error(format!(
            "the query in `in` needs {} column(s)",
            fields.len()
        )));
    }
    Ok(QueryCondition::Among(fields, Box::new(select)))
}

/// `["extract", "certname", ["select_facts", condition]]`, the older form of a subquery.
fn parse_select_subquery(
    here: &AstPosition<'_>,
    columns: &Value,
    inner: &Value,
) -> Result<SelectQuery, UnsupportedQuery> {
    let place = here.at_nested(2)?;
    let (operator, rest) = place.read_operation(inner)?;
    let name = operator
        .strip_prefix("select_")
        .ok_or_else(|| place.error("expected [\"select_facts\", …] or [\"from\", …] in `in`"))?;
    let entity = QueryEntity::from_name(name).map_err(|what| place.error(what))?;
    let mut select = SelectQuery::of(entity);
    select.columns = parse_columns(&here.at_item(1), columns, entity)?;
    if let Some(inner) = rest.first() {
        select.condition = Some(parse_condition(&place.at_nested(1)?, inner, entity)?);
    }
    place.check_select(select)
}

/// A subquery that is joined by certname.
fn parse_subquery(
    here: &AstPosition<'_>,
    name: &str,
    inner: Option<&Value>,
    entity: QueryEntity,
) -> Result<QueryCondition, UnsupportedQuery> {
    let other = QueryEntity::from_name(name).map_err(|what| here.at_item(1).error(what))?;
    let mut select = SelectQuery::of(other);
    if let Some(inner) = inner {
        select.condition = Some(parse_condition(&here.at_nested(2)?, inner, other)?);
    }
    let certname = |entity| QueryField::parse(entity, "certname").map_err(|what| here.error(what));
    select.columns = vec![QueryColumn::Field(certname(other)?)];
    let select = here.check_select(select)?;
    Ok(QueryCondition::Among(
        vec![certname(entity)?],
        Box::new(select),
    ))
}

fn parse_field(
    here: &AstPosition<'_>,
    name: &Value,
    entity: QueryEntity,
) -> Result<QueryField, UnsupportedQuery> {
    match name {
        Value::String(name) => QueryField::parse(entity, name).map_err(|what| here.error(what)),
        _ => Err(here.error("expected the name of a field, such as \"certname\"")),
    }
}

// === impl AstPosition ===

impl<'q> AstPosition<'q> {
    fn at_clause(name: &str, budget: &'q QueryBudget) -> Self {
        Self {
            path: name.to_owned(),
            depth: 0,
            budget,
        }
    }

    fn at_item(&self, index: usize) -> Self {
        Self {
            path: format!("{}[{index}]", self.path),
            depth: self.depth,
            budget: self.budget,
        }
    }

    /// A nested query or condition.
    fn at_nested(&self, index: usize) -> Result<Self, UnsupportedQuery> {
        let mut inner = self.at_item(index);
        inner.depth += 1;
        if inner.depth > MAX_QUERY_DEPTH {
            let what = format!("the query is nested more than {MAX_QUERY_DEPTH} deep");
            return Err(self.error(what));
        }
        Ok(inner)
    }

    fn check_select(&self, select: SelectQuery) -> Result<SelectQuery, UnsupportedQuery> {
        let checked = select
            .check_aggregates()
            .and_then(|()| self.budget.count_subquery());
        checked.map_err(|what| self.error(what))?;
        Ok(select)
    }

    fn error(&self, what: impl Into<String>) -> UnsupportedQuery {
        invalid(self.path.clone(), what)
    }

    fn read_operation<'a>(
        &self,
        query: &'a Value,
    ) -> Result<(&'a str, &'a [Value]), UnsupportedQuery> {
        match query.as_array().map(Vec::as_slice) {
            Some([Value::String(operator), rest @ ..]) => Ok((operator, rest)),
            _ => Err(self.error("expected a list that begins with an operator, [\"=\", …]")),
        }
    }

    fn read_text<'a>(
        &self,
        value: Option<&'a Value>,
        index: usize,
        wanted: &str,
    ) -> Result<&'a str, UnsupportedQuery> {
        value
            .and_then(Value::as_str)
            .ok_or_else(|| self.at_item(index).error(format!("expected {wanted}")))
    }

    fn read_single<'a>(&self, arguments: &'a [Value]) -> Result<&'a Value, UnsupportedQuery> {
        match arguments {
            [argument] => Ok(argument),
            _ => Err(self.error("expected one argument")),
        }
    }

    fn read_count(&self, arguments: &[Value]) -> Result<u64, UnsupportedQuery> {
        self.read_single(arguments)?
            .as_u64()
            .ok_or_else(|| self.at_item(1).error("expected a number of rows"))
    }
}
