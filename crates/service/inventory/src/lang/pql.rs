//! PQL: `entity[columns] { condition order by … limit … offset … }`, by recursive descent.

use serde_json::Value;

use super::budget::QueryBudget;
use super::entity::QueryEntity;
use super::field::QueryField;
use super::lexer::{PqlLexer, PqlToken};
use super::{OrderColumn, QueryColumn, QueryCondition, SelectQuery, UnsupportedQuery, literal};
use crate::defaults::{MAX_COLUMNS, MAX_QUERY_BYTES, MAX_QUERY_DEPTH};

/// Parses a whole query.
pub(crate) fn parse(text: &str) -> Result<SelectQuery, UnsupportedQuery> {
    if text.len() > MAX_QUERY_BYTES {
        let what = format!("the query is longer than {MAX_QUERY_BYTES} bytes");
        return Err(super::invalid("line 1, column 1", what));
    }
    let mut lexer = PqlLexer::new(text);
    let (at, token) = lexer.next_token()?;
    let mut parser = PqlParser {
        lexer,
        at,
        token,
        depth: 0,
        budget: QueryBudget::default(),
    };
    let select = parser.parse_select()?;
    match parser.token {
        PqlToken::End => Ok(select),
        _ => Err(parser.unexpected_error("the end of the query")),
    }
}

struct PqlParser<'a> {
    lexer: PqlLexer<'a>,
    /// Offset at which `token` begins.
    at: usize,
    token: PqlToken,
    depth: usize,
    budget: QueryBudget,
}

// === impl PqlParser: queries ===

impl PqlParser<'_> {
    fn parse_select(&mut self) -> Result<SelectQuery, UnsupportedQuery> {
        let start = self.at;
        let name = self.parse_name("the name of an entity: facts, inventory, nodes or reports")?;
        let entity =
            QueryEntity::from_name(&name).map_err(|what| self.lexer.to_error(start, what))?;
        self.parse_select_of(entity, start)
    }

    /// Parses the text after the entity's name: `[columns] { … }`.
    fn parse_select_of(
        &mut self,
        entity: QueryEntity,
        start: usize,
    ) -> Result<SelectQuery, UnsupportedQuery> {
        let mut select = SelectQuery::of(entity);
        if self.take_sign("[")? {
            select.columns = self.parse_columns(entity)?;
        }
        self.expect("{")?;
        if !self.starts_clause() && self.token != PqlToken::Sign("}") {
            select.condition = Some(self.parse_any_of(entity)?);
        }
        self.parse_clauses(&mut select)?;
        self.expect("}")?;
        let checked = select
            .check_aggregates()
            .and_then(|()| self.budget.count_subquery());
        checked.map_err(|what| self.lexer.to_error(start, what))?;
        Ok(select)
    }

    fn parse_columns(&mut self, entity: QueryEntity) -> Result<Vec<QueryColumn>, UnsupportedQuery> {
        let mut columns = Vec::new();
        while !self.take_sign("]")? {
            if !columns.is_empty() {
                self.expect(",")?;
            }
            let at = self.at;
            if columns.len() == MAX_COLUMNS {
                let what = format!("a query has at most {MAX_COLUMNS} columns");
                return Err(self.lexer.to_error(at, what));
            }
            let name = self.parse_name("a column")?;
            columns.push(match self.take_sign("(")? {
                true => self.parse_function(entity, &name, at)?,
                false => QueryColumn::Field(self.parse_field(entity, &name, at)?),
            });
        }
        Ok(columns)
    }

    fn parse_function(
        &mut self,
        entity: QueryEntity,
        name: &str,
        at: usize,
    ) -> Result<QueryColumn, UnsupportedQuery> {
        if name != "count" {
            let what = "the only function of the embedded inventory is count()";
            return Err(self.lexer.to_error(at, what));
        }
        if self.take_sign(")")? {
            return Ok(QueryColumn::Count(None));
        }
        let field = self.parse_any_field(entity)?;
        self.expect(")")?;
        Ok(QueryColumn::Count(Some(field)))
    }

    fn starts_clause(&self) -> bool {
        matches!(&self.token, PqlToken::Name(name)
            if matches!(name.as_str(), "order" | "limit" | "offset" | "group"))
    }

    fn parse_clauses(&mut self, select: &mut SelectQuery) -> Result<(), UnsupportedQuery> {
        while self.starts_clause() {
            let at = self.at;
            let clause = self.parse_name("a clause")?;
            match clause.as_str() {
                "limit" => select.limit = Some(self.parse_count()?),
                "offset" => select.offset = self.parse_count()?,
                by => {
                    if !self.take_word("by")? {
                        return Err(self
                            .lexer
                            .to_error(at, format!("`{by}` is followed by `by`")));
                    }
                    self.parse_by(by == "order", select)?;
                }
            }
        }
        Ok(())
    }

    /// Parses the list of `order by` or `group by`.
    fn parse_by(&mut self, order: bool, select: &mut SelectQuery) -> Result<(), UnsupportedQuery> {
        loop {
            if select.order_by.len().max(select.group_by.len()) == MAX_COLUMNS {
                let what = format!("a list has at most {MAX_COLUMNS} columns");
                return Err(self.lexer.to_error(self.at, what));
            }
            let field = self.parse_any_field(select.entity)?;
            if order {
                let descending = self.take_word("desc")?;
                if !descending {
                    self.take_word("asc")?;
                }
                select.order_by.push(OrderColumn { field, descending });
            } else {
                select.group_by.push(field);
            }
            if !self.take_sign(",")? {
                return Ok(());
            }
        }
    }

    fn parse_count(&mut self) -> Result<u64, UnsupportedQuery> {
        let count = match &self.token {
            PqlToken::Number(number) => number.as_u64(),
            _ => None,
        };
        let Some(count) = count else {
            return Err(self.unexpected_error("a number of rows"));
        };
        self.advance()?;
        Ok(count)
    }
}

// === impl PqlParser: conditions ===

impl PqlParser<'_> {
    fn parse_any_of(&mut self, entity: QueryEntity) -> Result<QueryCondition, UnsupportedQuery> {
        self.with_nesting(|parser| {
            let mut tests = vec![parser.parse_all_of(entity)?];
            while parser.take_word("or")? {
                tests.push(parser.parse_all_of(entity)?);
            }
            Ok(one_or(tests, QueryCondition::Any))
        })
    }

    fn parse_all_of(&mut self, entity: QueryEntity) -> Result<QueryCondition, UnsupportedQuery> {
        let mut tests = vec![self.parse_not(entity)?];
        while self.take_word("and")? {
            tests.push(self.parse_not(entity)?);
        }
        Ok(one_or(tests, QueryCondition::All))
    }

    fn parse_not(&mut self, entity: QueryEntity) -> Result<QueryCondition, UnsupportedQuery> {
        if self.take_sign("!")? || self.take_word("not")? {
            return self.with_nesting(|parser| {
                Ok(QueryCondition::Not(Box::new(parser.parse_not(entity)?)))
            });
        }
        if self.take_sign("(")? {
            let inner = self.parse_any_of(entity)?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.parse_test(entity)
    }

    fn parse_test(&mut self, entity: QueryEntity) -> Result<QueryCondition, UnsupportedQuery> {
        if self.take_sign("[")? {
            return self.parse_several_in(entity);
        }
        let at = self.at;
        let name = self.parse_name("a condition")?;
        // `nodes { facts { … } }`: a subquery that is joined by certname.
        if matches!(self.token, PqlToken::Sign("{" | "[")) {
            return self.with_nesting(|parser| parser.parse_in_subquery(entity, &name, at));
        }
        let field = self.parse_field(entity, &name, at)?;
        let operator_at = self.at;
        let operator = match &self.token {
            PqlToken::Sign(sign) => (*sign).to_owned(),
            PqlToken::Name(word) => word.clone(),
            _ => return Err(self.unexpected_error("an operator such as = or ~")),
        };
        self.advance()?;
        match operator.as_str() {
            "is" => self.parse_null(field),
            "in" => self.parse_membership(field),
            _ => {
                literal::check_operator(&operator)
                    .map_err(|what| self.lexer.to_error(operator_at, what))?;
                let value = self.parse_value()?;
                literal::parse_comparison(field, &operator, value, &self.budget)
                    .map_err(|what| self.lexer.to_error(operator_at, what))
            }
        }
    }

    fn parse_in_subquery(
        &mut self,
        entity: QueryEntity,
        name: &str,
        at: usize,
    ) -> Result<QueryCondition, UnsupportedQuery> {
        let other = QueryEntity::from_name(name).map_err(|what| self.lexer.to_error(at, what))?;
        let mut select = self.parse_select_of(other, at)?;
        select.columns = vec![QueryColumn::Field(self.parse_field(other, "certname", at)?)];
        let certname = self.parse_field(entity, "certname", at)?;
        Ok(QueryCondition::Among(vec![certname], Box::new(select)))
    }

    fn parse_null(&mut self, field: QueryField) -> Result<QueryCondition, UnsupportedQuery> {
        let negated = self.take_word("not")?;
        match self.take_word("null")? {
            true => Ok(QueryCondition::Null(field, !negated)),
            false => Err(self.unexpected_error("`null` or `not null`")),
        }
    }

    /// `field in [values]` or `field in entity[column] { … }`.
    fn parse_membership(&mut self, field: QueryField) -> Result<QueryCondition, UnsupportedQuery> {
        let at = self.at;
        if !self.take_sign("[")? {
            return self.with_nesting(|parser| parser.parse_among(vec![field]));
        }
        let mut values = Vec::new();
        while !self.take_sign("]")? {
            if !values.is_empty() {
                self.expect(",")?;
            }
            values.push(self.parse_value()?);
        }
        literal::parse_one_of(field, values).map_err(|what| self.lexer.to_error(at, what))
    }

    /// `[a, b] in entity[x, y] { … }`.
    fn parse_several_in(
        &mut self,
        entity: QueryEntity,
    ) -> Result<QueryCondition, UnsupportedQuery> {
        let mut fields = vec![self.parse_any_field(entity)?];
        while self.take_sign(",")? {
            if fields.len() == MAX_COLUMNS {
                return Err(self.lexer.to_error(self.at, "too many fields"));
            }
            fields.push(self.parse_any_field(entity)?);
        }
        self.expect("]")?;
        if !self.take_word("in")? {
            return Err(self.unexpected_error("`in`"));
        }
        self.with_nesting(|parser| parser.parse_among(fields))
    }

    fn parse_among(&mut self, fields: Vec<QueryField>) -> Result<QueryCondition, UnsupportedQuery> {
        let at = self.at;
        let select = self.parse_select()?;
        if select.columns.len() != fields.len() {
            let what = format!("the query after `in` needs {} column(s)", fields.len());
            return Err(self.lexer.to_error(at, what));
        }
        Ok(QueryCondition::Among(fields, Box::new(select)))
    }

    fn parse_value(&mut self) -> Result<Value, UnsupportedQuery> {
        let value = match &self.token {
            PqlToken::Text(text) => Value::String(text.clone()),
            PqlToken::Number(number) => Value::Number(number.clone()),
            PqlToken::Name(name) if name == "true" => Value::Bool(true),
            PqlToken::Name(name) if name == "false" => Value::Bool(false),
            _ => {
                return Err(
                    self.unexpected_error("a value: a string in quotes, a number, true or false")
                );
            }
        };
        self.advance()?;
        Ok(value)
    }
}

// === impl PqlParser: tokens ===

impl PqlParser<'_> {
    fn parse_any_field(&mut self, entity: QueryEntity) -> Result<QueryField, UnsupportedQuery> {
        let at = self.at;
        let name = self.parse_name("a field")?;
        self.parse_field(entity, &name, at)
    }

    fn parse_field(
        &self,
        entity: QueryEntity,
        name: &str,
        at: usize,
    ) -> Result<QueryField, UnsupportedQuery> {
        QueryField::parse(entity, name).map_err(|what| self.lexer.to_error(at, what))
    }

    fn parse_name(&mut self, wanted: &str) -> Result<String, UnsupportedQuery> {
        match &self.token {
            PqlToken::Name(name) => {
                let name = name.clone();
                self.advance()?;
                Ok(name)
            }
            _ => Err(self.unexpected_error(wanted)),
        }
    }

    fn take_sign(&mut self, sign: &str) -> Result<bool, UnsupportedQuery> {
        let found = matches!(&self.token, PqlToken::Sign(given) if *given == sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn take_word(&mut self, word: &str) -> Result<bool, UnsupportedQuery> {
        let found = matches!(&self.token, PqlToken::Name(given) if given == word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: &str) -> Result<(), UnsupportedQuery> {
        match self.take_sign(sign)? {
            true => Ok(()),
            false => Err(self.unexpected_error(&format!("`{sign}`"))),
        }
    }

    fn advance(&mut self) -> Result<(), UnsupportedQuery> {
        (self.at, self.token) = self.lexer.next_token()?;
        Ok(())
    }

    fn with_nesting<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, UnsupportedQuery>,
    ) -> Result<T, UnsupportedQuery> {
        if self.depth == MAX_QUERY_DEPTH {
            let what = format!("the query is nested more than {MAX_QUERY_DEPTH} deep");
            return Err(self.lexer.to_error(self.at, what));
        }
        self.depth += 1;
        let read = inner(self);
        self.depth -= 1;
        read
    }

    fn unexpected_error(&self, wanted: &str) -> UnsupportedQuery {
        let found = match &self.token {
            PqlToken::Name(name) => format!("`{}`", super::entity::clip_name(name)),
            PqlToken::Text(_) => "a string".to_owned(),
            PqlToken::Number(number) => number.to_string(),
            PqlToken::Sign(sign) => format!("`{sign}`"),
            PqlToken::End => "the end".to_owned(),
        };
        self.lexer
            .to_error(self.at, format!("expected {wanted}, found {found}"))
    }
}

fn one_or(
    mut tests: Vec<QueryCondition>,
    several: impl FnOnce(Vec<QueryCondition>) -> QueryCondition,
) -> QueryCondition {
    match tests.len() {
        1 => tests.remove(0),
        _ => several(tests),
    }
}
