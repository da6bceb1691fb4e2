//! [`NodeQuery`]: a query to the inventory, in the form in which it was received.

use serde_json::Value;

/// A query in PQL or as PuppetDB's AST, with the requested part of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeQuery {
    pub(crate) form: QueryForm,
    /// Entity of a query without `from`: `nodes`, `facts`, …
    pub(crate) entity: Option<String>,
    pub(crate) paging: QueryPaging,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueryForm {
    Pql(String),
    Ast(Value),
    /// All rows of the entity.
    Everything,
}

/// The requested part of the answer, in addition to limits in the query itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryPaging {
    /// Maximum number of rows; `None` for no limit.
    pub limit: Option<u64>,
    /// Number of rows to skip at the beginning; `None` for 0.
    pub offset: Option<u64>,
    /// `[{"field": "certname", "order": "desc"}]`, as PuppetDB takes it.
    pub order_by: Option<Value>,
}

/// The error that a query is neither a text nor a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a query is a PQL string or an AST array")]
pub struct InvalidQueryType;

impl NodeQuery {
    /// A PQL text, or an AST array written as text.
    pub fn from_text(text: impl Into<String>) -> Self {
        let text = text.into();
        let form = match text.trim_start().starts_with('[') {
            // A text that is not JSON stays PQL, and the PQL parser reports its errors.
            true => serde_json::from_str(&text).map_or(QueryForm::Pql(text), QueryForm::Ast),
            false => QueryForm::Pql(text),
        };
        Self::of(form)
    }

    /// A query from an array in AST form.
    pub fn from_ast(query: Value) -> Self {
        Self::of(QueryForm::Ast(query))
    }

    /// A query from the string or array in a request's body.
    pub fn from_json(value: Value) -> Result<Self, InvalidQueryType> {
        match value {
            Value::String(text) => Ok(Self::from_text(text)),
            Value::Array(_) => Ok(Self::from_ast(value)),
            _ => Err(InvalidQueryType),
        }
    }

    /// A query for all rows of an entity, such as `nodes`.
    pub fn all_rows(entity: impl Into<String>) -> Self {
        Self::of(QueryForm::Everything).with_entity(entity)
    }

    /// Sets the entity for a query without `from`.
    pub fn with_entity(mut self, entity: impl Into<String>) -> Self {
        self.entity = Some(entity.into());
        self
    }

    /// Requests a part of the answer.
    pub fn with_paging(mut self, paging: QueryPaging) -> Self {
        self.paging = paging;
        self
    }

    fn of(form: QueryForm) -> Self {
        Self {
            form,
            entity: None,
            paging: QueryPaging::default(),
        }
    }
}
