//! [`Query`]: what somebody asks the inventory, as it came.

use serde_json::Value;

/// A question in PQL or as PuppetDB's AST, and which part of the answer is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub(crate) form: Form,
    /// For a query without `from`: `nodes`, `facts`, …
    pub(crate) entity: Option<String>,
    pub(crate) paging: Paging,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    Pql(String),
    Ast(Value),
    /// Everything of the entity.
    Everything,
}

/// Which part of the answer, beside what the query itself says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paging {
    /// At most so many rows.
    pub limit: Option<u64>,
    /// So many rows are left out at the begin.
    pub offset: Option<u64>,
    /// `[{"field": "certname", "order": "desc"}]`, as PuppetDB takes it.
    pub order_by: Option<Value>,
}

/// Neither a text nor a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a query is a PQL string or an AST array")]
pub struct NotAQuery;

impl Query {
    /// A PQL text, or an AST array written as text.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        let form = match text.trim_start().starts_with('[') {
            // A text that is no JSON stays PQL, whose parser says what is wrong with it.
            true => serde_json::from_str(&text).map_or(Form::Pql(text), Form::Ast),
            false => Form::Pql(text),
        };
        Self::of(form)
    }

    /// An AST array.
    pub fn ast(query: Value) -> Self {
        Self::of(Form::Ast(query))
    }

    /// A string or an array, as it stands in a body.
    pub fn from_json(value: Value) -> Result<Self, NotAQuery> {
        match value {
            Value::String(text) => Ok(Self::text(text)),
            Value::Array(_) => Ok(Self::ast(value)),
            _ => Err(NotAQuery),
        }
    }

    /// Everything of an entity, such as `nodes`.
    pub fn everything(entity: impl Into<String>) -> Self {
        Self::of(Form::Everything).on(entity)
    }

    /// What a query without `from` asks for.
    pub fn on(mut self, entity: impl Into<String>) -> Self {
        self.entity = Some(entity.into());
        self
    }

    /// A part of the answer.
    pub fn paged(mut self, paging: Paging) -> Self {
        self.paging = paging;
        self
    }

    fn of(form: Form) -> Self {
        Self {
            form,
            entity: None,
            paging: Paging::default(),
        }
    }
}
