//! The AST form: `["from", "nodes", ["extract", ["certname"], ["=", "certname", "a"]], ["limit",
//! 3]]`, and the same without `from` if the entity is known.

use serde_json::Value;

use super::budget::Budget;
use super::entity::{Entity, clipped};
use super::field::Field;
use super::{Column, Condition, Invalid, Order, Select, invalid, literal};
use crate::defaults::{MAX_COLUMNS, MAX_QUERY_DEPTH};

/// Parses a query. `entity` is the entity of a query without `from`.
pub(crate) fn parse(query: &Value, entity: Option<Entity>) -> Result<Select, Invalid> {
    let budget = Budget::default();
    let here = Place::named("query", &budget);
    let (operator, rest) = here.operation(query)?;
    match (operator, entity) {
        ("from", _) => from(&here, rest),
        (_, Some(entity)) => {
            let mut select = Select::of(entity);
            extract_or_condition(&here, query, &mut select)?;
            here.checked(select)
        }
        (_, None) => Err(here.error(
            "the query begins with [\"from\", \"nodes\", …]; without it, nothing says what is asked for",
        )),
    }
}

/// Parses the list of an `order_by`.
pub(crate) fn parse_order(list: &Value, entity: Entity) -> Result<Vec<Order>, Invalid> {
    order_by(&Place::named("order_by", &Budget::default()), list, entity)
}

/// Position in the query, for error messages and the limit on nesting.
struct Place<'q> {
    path: String,
    depth: usize,
    budget: &'q Budget,
}

// === queries ===

fn from(here: &Place<'_>, rest: &[Value]) -> Result<Select, Invalid> {
    let name = here.text(rest.first(), 1, "the name of an entity")?;
    let entity = Entity::named(name).map_err(|what| here.item(1).error(what))?;
    let mut select = Select::of(entity);
    for (i, part) in rest.iter().enumerate().skip(1) {
        let place = here.inner(i + 1)?;
        let (operator, arguments) = place.operation(part)?;
        match operator {
            "limit" => select.limit = Some(place.count(arguments)?),
            "offset" => select.offset = place.count(arguments)?,
            "order_by" => {
                let list = place.only(arguments)?;
                select.order_by = order_by(&place.item(1), list, entity)?;
            }
            "group_by" => select.group_by = fields(&place, arguments, entity)?,
            _ if i == 1 => extract_or_condition(&place, part, &mut select)?,
            _ => return Err(place.error("expected limit, offset, order_by or group_by")),
        }
    }
    here.checked(select)
}

/// `["extract", columns, condition?, ["group_by", …]?]`, or a condition alone.
fn extract_or_condition(
    here: &Place<'_>,
    query: &Value,
    select: &mut Select,
) -> Result<(), Invalid> {
    let entity = select.entity;
    let (operator, rest) = here.operation(query)?;
    if operator != "extract" {
        select.condition = Some(condition(here, query, entity)?);
        return Ok(());
    }
    let Some(columns) = rest.first() else {
        return Err(here.error("`extract` is followed by a list of columns"));
    };
    select.columns = extracted(&here.item(1), columns, entity)?;
    for (i, part) in rest.iter().enumerate().skip(1) {
        let place = here.inner(i + 1)?;
        match place.operation(part)? {
            ("group_by", names) => select.group_by = fields(&place, names, entity)?,
            _ if i == 1 => select.condition = Some(condition(&place, part, entity)?),
            _ => return Err(place.error("expected group_by")),
        }
    }
    Ok(())
}

fn extracted(here: &Place<'_>, columns: &Value, entity: Entity) -> Result<Vec<Column>, Invalid> {
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
        let place = here.item(i);
        let Value::Array(function) = column else {
            return field(&place, column, entity).map(Column::Field);
        };
        let names: Vec<Option<&str>> = function.iter().map(Value::as_str).collect();
        match names[..] {
            [Some("function"), Some("count")] => Ok(Column::Count(None)),
            [Some("function"), Some("count"), Some(_)] => {
                Ok(Column::Count(Some(field(&place, &function[2], entity)?)))
            }
            _ => Err(place.error("the only function of the embedded inventory is count")),
        }
    };
    list.iter().enumerate().map(each).collect()
}

fn order_by(here: &Place<'_>, list: &Value, entity: Entity) -> Result<Vec<Order>, Invalid> {
    let Value::Array(items) = list else {
        return Err(here.error("expected a list of columns"));
    };
    if items.len() > MAX_COLUMNS {
        return Err(here.error(format!("a list has at most {MAX_COLUMNS} columns")));
    }
    let each = |(i, item): (usize, &Value)| {
        let place = here.item(i);
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
        let field = field(&place, name, entity)?;
        Ok(Order { field, descending })
    };
    items.iter().enumerate().map(each).collect()
}

fn fields(here: &Place<'_>, names: &[Value], entity: Entity) -> Result<Vec<Field>, Invalid> {
    if names.len() > MAX_COLUMNS {
        return Err(here.error(format!("a list has at most {MAX_COLUMNS} columns")));
    }
    let each = |(i, name): (usize, &Value)| field(&here.item(i + 1), name, entity);
    names.iter().enumerate().map(each).collect()
}

// === conditions ===

fn condition(here: &Place<'_>, query: &Value, entity: Entity) -> Result<Condition, Invalid> {
    let (operator, rest) = here.operation(query)?;
    match (operator, rest) {
        ("and", [_, ..]) => Ok(Condition::All(conditions(here, rest, entity)?)),
        ("or", [_, ..]) => Ok(Condition::Any(conditions(here, rest, entity)?)),
        ("not", [inner]) => {
            let inner = condition(&here.inner(1)?, inner, entity)?;
            Ok(Condition::Not(Box::new(inner)))
        }
        ("null?", [name, Value::Bool(is)]) => {
            Ok(Condition::Null(field(&here.item(1), name, entity)?, *is))
        }
        ("in", [left, right]) => member(here, left, right, entity),
        ("subquery", [Value::String(name), inner @ ..]) if inner.len() < 2 => {
            subquery(here, name, inner.first(), entity)
        }
        ("=" | "~" | "<" | "<=" | ">" | ">=", [name, value]) => {
            let field = field(&here.item(1), name, entity)?;
            literal::test(field, operator, value.clone(), here.budget)
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
            clipped(other)
        ))),
    }
}

fn conditions(here: &Place<'_>, rest: &[Value], entity: Entity) -> Result<Vec<Condition>, Invalid> {
    let each = |(i, inner): (usize, &Value)| condition(&here.inner(i + 1)?, inner, entity);
    rest.iter().enumerate().map(each).collect()
}

fn member(
    here: &Place<'_>,
    left: &Value,
    right: &Value,
    entity: Entity,
) -> Result<Condition, Invalid> {
    let fields = match left {
        Value::Array(names) => fields(&here.item(1), names, entity)?,
        name => vec![field(&here.item(1), name, entity)?],
    };
    let place = here.inner(2)?;
    let select = match (place.operation(right)?, &fields[..]) {
        (("array", [Value::Array(values)]), [field]) => {
            return literal::one_of(field.clone(), values.clone())
                .map_err(|what| place.error(what));
        }
        (("from", rest), _) => from(&place, rest)?,
        (("extract", [columns, inner]), _) => selected(&place, columns, inner)?,
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
    Ok(Condition::Among(fields, Box::new(select)))
}

/// `["extract", "certname", ["select_facts", condition]]`, the older form of a subquery.
fn selected(here: &Place<'_>, columns: &Value, inner: &Value) -> Result<Select, Invalid> {
    let place = here.inner(2)?;
    let (operator, rest) = place.operation(inner)?;
    let name = operator
        .strip_prefix("select_")
        .ok_or_else(|| place.error("expected [\"select_facts\", …] or [\"from\", …] in `in`"))?;
    let entity = Entity::named(name).map_err(|what| place.error(what))?;
    let mut select = Select::of(entity);
    select.columns = extracted(&here.item(1), columns, entity)?;
    if let Some(inner) = rest.first() {
        select.condition = Some(condition(&place.inner(1)?, inner, entity)?);
    }
    place.checked(select)
}

/// A subquery that is joined by certname.
fn subquery(
    here: &Place<'_>,
    name: &str,
    inner: Option<&Value>,
    entity: Entity,
) -> Result<Condition, Invalid> {
    let other = Entity::named(name).map_err(|what| here.item(1).error(what))?;
    let mut select = Select::of(other);
    if let Some(inner) = inner {
        select.condition = Some(condition(&here.inner(2)?, inner, other)?);
    }
    let certname = |entity| Field::parse(entity, "certname").map_err(|what| here.error(what));
    select.columns = vec![Column::Field(certname(other)?)];
    let select = here.checked(select)?;
    Ok(Condition::Among(vec![certname(entity)?], Box::new(select)))
}

fn field(here: &Place<'_>, name: &Value, entity: Entity) -> Result<Field, Invalid> {
    match name {
        Value::String(name) => Field::parse(entity, name).map_err(|what| here.error(what)),
        _ => Err(here.error("expected the name of a field, such as \"certname\"")),
    }
}

// === impl Place ===

impl<'q> Place<'q> {
    fn named(name: &str, budget: &'q Budget) -> Self {
        Self {
            path: name.to_owned(),
            depth: 0,
            budget,
        }
    }

    fn item(&self, index: usize) -> Self {
        Self {
            path: format!("{}[{index}]", self.path),
            depth: self.depth,
            budget: self.budget,
        }
    }

    /// A nested query or condition.
    fn inner(&self, index: usize) -> Result<Self, Invalid> {
        let mut inner = self.item(index);
        inner.depth += 1;
        if inner.depth > MAX_QUERY_DEPTH {
            let what = format!("the query is nested more than {MAX_QUERY_DEPTH} deep");
            return Err(self.error(what));
        }
        Ok(inner)
    }

    fn checked(&self, select: Select) -> Result<Select, Invalid> {
        let checked = select.check().and_then(|()| self.budget.select());
        checked.map_err(|what| self.error(what))?;
        Ok(select)
    }

    fn error(&self, what: impl Into<String>) -> Invalid {
        invalid(self.path.clone(), what)
    }

    fn operation<'a>(&self, query: &'a Value) -> Result<(&'a str, &'a [Value]), Invalid> {
        match query.as_array().map(Vec::as_slice) {
            Some([Value::String(operator), rest @ ..]) => Ok((operator, rest)),
            _ => Err(self.error("expected a list that begins with an operator, [\"=\", …]")),
        }
    }

    fn text<'a>(
        &self,
        value: Option<&'a Value>,
        index: usize,
        wanted: &str,
    ) -> Result<&'a str, Invalid> {
        value
            .and_then(Value::as_str)
            .ok_or_else(|| self.item(index).error(format!("expected {wanted}")))
    }

    fn only<'a>(&self, arguments: &'a [Value]) -> Result<&'a Value, Invalid> {
        match arguments {
            [argument] => Ok(argument),
            _ => Err(self.error("expected one argument")),
        }
    }

    fn count(&self, arguments: &[Value]) -> Result<u64, Invalid> {
        self.only(arguments)?
            .as_u64()
            .ok_or_else(|| self.item(1).error("expected a number of rows"))
    }
}
