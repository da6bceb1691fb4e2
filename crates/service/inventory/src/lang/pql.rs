//! PQL: `entity[columns] { condition order by … limit … offset … }`, by recursive descent.

use serde_json::Value;

use super::budget::Budget;
use super::entity::Entity;
use super::field::Field;
use super::lexer::{Lexer, Token};
use super::{Column, Condition, Invalid, Order, Select, literal};
use crate::defaults::{MAX_COLUMNS, MAX_QUERY_BYTES, MAX_QUERY_DEPTH};

/// Parses a whole query.
pub(crate) fn parse(text: &str) -> Result<Select, Invalid> {
    if text.len() > MAX_QUERY_BYTES {
        let what = format!("the query is longer than {MAX_QUERY_BYTES} bytes");
        return Err(super::invalid("line 1, column 1", what));
    }
    let mut lexer = Lexer::new(text);
    let (at, token) = lexer.next()?;
    let mut parser = Parser {
        lexer,
        at,
        token,
        depth: 0,
        budget: Budget::default(),
    };
    let select = parser.select()?;
    match parser.token {
        Token::End => Ok(select),
        _ => Err(parser.unexpected("the end of the query")),
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// Offset at which `token` begins.
    at: usize,
    token: Token,
    depth: usize,
    budget: Budget,
}

// === impl Parser: queries ===

impl Parser<'_> {
    fn select(&mut self) -> Result<Select, Invalid> {
        let start = self.at;
        let name = self.name("the name of an entity: facts, inventory, nodes or reports")?;
        let entity = Entity::named(&name).map_err(|what| self.lexer.error(start, what))?;
        self.select_of(entity, start)
    }

    /// Parses the text after the entity's name: `[columns] { … }`.
    fn select_of(&mut self, entity: Entity, start: usize) -> Result<Select, Invalid> {
        let mut select = Select::of(entity);
        if self.take("[")? {
            select.columns = self.columns(entity)?;
        }
        self.expect("{")?;
        if !self.starts_clause() && self.token != Token::Sign("}") {
            select.condition = Some(self.any_of(entity)?);
        }
        self.clauses(&mut select)?;
        self.expect("}")?;
        let checked = select.check().and_then(|()| self.budget.select());
        checked.map_err(|what| self.lexer.error(start, what))?;
        Ok(select)
    }

    fn columns(&mut self, entity: Entity) -> Result<Vec<Column>, Invalid> {
        let mut columns = Vec::new();
        while !self.take("]")? {
            if !columns.is_empty() {
                self.expect(",")?;
            }
            let at = self.at;
            if columns.len() == MAX_COLUMNS {
                let what = format!("a query has at most {MAX_COLUMNS} columns");
                return Err(self.lexer.error(at, what));
            }
            let name = self.name("a column")?;
            columns.push(match self.take("(")? {
                true => self.function(entity, &name, at)?,
                false => Column::Field(self.field(entity, &name, at)?),
            });
        }
        Ok(columns)
    }

    fn function(&mut self, entity: Entity, name: &str, at: usize) -> Result<Column, Invalid> {
        if name != "count" {
            let what = "the only function of the embedded inventory is count()";
            return Err(self.lexer.error(at, what));
        }
        if self.take(")")? {
            return Ok(Column::Count(None));
        }
        let field = self.any_field(entity)?;
        self.expect(")")?;
        Ok(Column::Count(Some(field)))
    }

    fn starts_clause(&self) -> bool {
        matches!(&self.token, Token::Name(name)
            if matches!(name.as_str(), "order" | "limit" | "offset" | "group"))
    }

    fn clauses(&mut self, select: &mut Select) -> Result<(), Invalid> {
        while self.starts_clause() {
            let at = self.at;
            let clause = self.name("a clause")?;
            match clause.as_str() {
                "limit" => select.limit = Some(self.count()?),
                "offset" => select.offset = self.count()?,
                by => {
                    if !self.take_word("by")? {
                        return Err(self.lexer.error(at, format!("`{by}` is followed by `by`")));
                    }
                    self.by(by == "order", select)?;
                }
            }
        }
        Ok(())
    }

    /// Parses the list of `order by` or `group by`.
    fn by(&mut self, order: bool, select: &mut Select) -> Result<(), Invalid> {
        loop {
            if select.order_by.len().max(select.group_by.len()) == MAX_COLUMNS {
                let what = format!("a list has at most {MAX_COLUMNS} columns");
                return Err(self.lexer.error(self.at, what));
            }
            let field = self.any_field(select.entity)?;
            if order {
                let descending = self.take_word("desc")?;
                if !descending {
                    self.take_word("asc")?;
                }
                select.order_by.push(Order { field, descending });
            } else {
                select.group_by.push(field);
            }
            if !self.take(",")? {
                return Ok(());
            }
        }
    }

    fn count(&mut self) -> Result<u64, Invalid> {
        let count = match &self.token {
            Token::Number(number) => number.as_u64(),
            _ => None,
        };
        let Some(count) = count else {
            return Err(self.unexpected("a number of rows"));
        };
        self.advance()?;
        Ok(count)
    }
}

// === impl Parser: conditions ===

impl Parser<'_> {
    fn any_of(&mut self, entity: Entity) -> Result<Condition, Invalid> {
        self.deeper(|parser| {
            let mut tests = vec![parser.all_of(entity)?];
            while parser.take_word("or")? {
                tests.push(parser.all_of(entity)?);
            }
            Ok(one_or(tests, Condition::Any))
        })
    }

    fn all_of(&mut self, entity: Entity) -> Result<Condition, Invalid> {
        let mut tests = vec![self.not(entity)?];
        while self.take_word("and")? {
            tests.push(self.not(entity)?);
        }
        Ok(one_or(tests, Condition::All))
    }

    fn not(&mut self, entity: Entity) -> Result<Condition, Invalid> {
        if self.take("!")? || self.take_word("not")? {
            return self.deeper(|parser| Ok(Condition::Not(Box::new(parser.not(entity)?))));
        }
        if self.take("(")? {
            let inner = self.any_of(entity)?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.test(entity)
    }

    fn test(&mut self, entity: Entity) -> Result<Condition, Invalid> {
        if self.take("[")? {
            return self.several_in(entity);
        }
        let at = self.at;
        let name = self.name("a condition")?;
        // `nodes { facts { … } }`: a subquery that is joined by certname.
        if matches!(self.token, Token::Sign("{" | "[")) {
            return self.deeper(|parser| parser.inside(entity, &name, at));
        }
        let field = self.field(entity, &name, at)?;
        let operator_at = self.at;
        let operator = match &self.token {
            Token::Sign(sign) => (*sign).to_owned(),
            Token::Name(word) => word.clone(),
            _ => return Err(self.unexpected("an operator such as = or ~")),
        };
        self.advance()?;
        match operator.as_str() {
            "is" => self.null(field),
            "in" => self.member(field),
            _ => {
                literal::check_operator(&operator)
                    .map_err(|what| self.lexer.error(operator_at, what))?;
                let value = self.value()?;
                literal::test(field, &operator, value, &self.budget)
                    .map_err(|what| self.lexer.error(operator_at, what))
            }
        }
    }

    fn inside(&mut self, entity: Entity, name: &str, at: usize) -> Result<Condition, Invalid> {
        let other = Entity::named(name).map_err(|what| self.lexer.error(at, what))?;
        let mut select = self.select_of(other, at)?;
        select.columns = vec![Column::Field(self.field(other, "certname", at)?)];
        let certname = self.field(entity, "certname", at)?;
        Ok(Condition::Among(vec![certname], Box::new(select)))
    }

    fn null(&mut self, field: Field) -> Result<Condition, Invalid> {
        let negated = self.take_word("not")?;
        match self.take_word("null")? {
            true => Ok(Condition::Null(field, !negated)),
            false => Err(self.unexpected("`null` or `not null`")),
        }
    }

    /// `field in [values]` or `field in entity[column] { … }`.
    fn member(&mut self, field: Field) -> Result<Condition, Invalid> {
        let at = self.at;
        if !self.take("[")? {
            return self.deeper(|parser| parser.among(vec![field]));
        }
        let mut values = Vec::new();
        while !self.take("]")? {
            if !values.is_empty() {
                self.expect(",")?;
            }
            values.push(self.value()?);
        }
        literal::one_of(field, values).map_err(|what| self.lexer.error(at, what))
    }

    /// `[a, b] in entity[x, y] { … }`.
    fn several_in(&mut self, entity: Entity) -> Result<Condition, Invalid> {
        let mut fields = vec![self.any_field(entity)?];
        while self.take(",")? {
            if fields.len() == MAX_COLUMNS {
                return Err(self.lexer.error(self.at, "too many fields"));
            }
            fields.push(self.any_field(entity)?);
        }
        self.expect("]")?;
        if !self.take_word("in")? {
            return Err(self.unexpected("`in`"));
        }
        self.deeper(|parser| parser.among(fields))
    }

    fn among(&mut self, fields: Vec<Field>) -> Result<Condition, Invalid> {
        let at = self.at;
        let select = self.select()?;
        if select.columns.len() != fields.len() {
            let what = format!("the query after `in` needs {} column(s)", fields.len());
            return Err(self.lexer.error(at, what));
        }
        Ok(Condition::Among(fields, Box::new(select)))
    }

    fn value(&mut self) -> Result<Value, Invalid> {
        let value = match &self.token {
            Token::Text(text) => Value::String(text.clone()),
            Token::Number(number) => Value::Number(number.clone()),
            Token::Name(name) if name == "true" => Value::Bool(true),
            Token::Name(name) if name == "false" => Value::Bool(false),
            _ => {
                return Err(self.unexpected("a value: a string in quotes, a number, true or false"));
            }
        };
        self.advance()?;
        Ok(value)
    }
}

// === impl Parser: tokens ===

impl Parser<'_> {
    fn any_field(&mut self, entity: Entity) -> Result<Field, Invalid> {
        let at = self.at;
        let name = self.name("a field")?;
        self.field(entity, &name, at)
    }

    fn field(&self, entity: Entity, name: &str, at: usize) -> Result<Field, Invalid> {
        Field::parse(entity, name).map_err(|what| self.lexer.error(at, what))
    }

    fn name(&mut self, wanted: &str) -> Result<String, Invalid> {
        match &self.token {
            Token::Name(name) => {
                let name = name.clone();
                self.advance()?;
                Ok(name)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    fn take(&mut self, sign: &str) -> Result<bool, Invalid> {
        let found = matches!(&self.token, Token::Sign(given) if *given == sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn take_word(&mut self, word: &str) -> Result<bool, Invalid> {
        let found = matches!(&self.token, Token::Name(given) if given == word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: &str) -> Result<(), Invalid> {
        match self.take(sign)? {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{sign}`"))),
        }
    }

    fn advance(&mut self) -> Result<(), Invalid> {
        (self.at, self.token) = self.lexer.next()?;
        Ok(())
    }

    fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, Invalid>,
    ) -> Result<T, Invalid> {
        if self.depth == MAX_QUERY_DEPTH {
            let what = format!("the query is nested more than {MAX_QUERY_DEPTH} deep");
            return Err(self.lexer.error(self.at, what));
        }
        self.depth += 1;
        let read = inner(self);
        self.depth -= 1;
        read
    }

    fn unexpected(&self, wanted: &str) -> Invalid {
        let found = match &self.token {
            Token::Name(name) => format!("`{}`", super::entity::clipped(name)),
            Token::Text(_) => "a string".to_owned(),
            Token::Number(number) => number.to_string(),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".to_owned(),
        };
        self.lexer
            .error(self.at, format!("expected {wanted}, found {found}"))
    }
}

fn one_or(
    mut tests: Vec<Condition>,
    several: impl FnOnce(Vec<Condition>) -> Condition,
) -> Condition {
    match tests.len() {
        1 => tests.remove(0),
        _ => several(tests),
    }
}
