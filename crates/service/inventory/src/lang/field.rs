//! [`QueryField`]: a column, and a path into it: `certname`, `facts.os.family`,
//! `facts.processors.models[0]`, `facts."a name.with dots".x`.

use super::entity::{ColumnType, QueryEntity, clip_name};
use crate::defaults::MAX_PATH_SEGMENTS;

/// A column of an entity, with a path into its JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueryField {
    /// The field as written, which is the key in the answer.
    pub(crate) name: String,
    pub(crate) column: &'static str,
    pub(crate) kind: ColumnType,
    pub(crate) path: Vec<PathSegment>,
}

/// One step into JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathSegment {
    Key(String),
    Index(usize),
}

impl QueryField {
    /// Reads a name such as `facts.os.family`.
    pub(crate) fn parse(entity: QueryEntity, name: &str) -> Result<Self, String> {
        let mut segments = parse_segments(name)?.into_iter();
        let Some(PathSegment::Key(first)) = segments.next() else {
            return Err("a field has a name".to_owned());
        };
        let path: Vec<PathSegment> = segments.collect();
        let columns = entity.columns();
        let Some((column, kind)) = columns.iter().find(|(column, _)| *column == first) else {
            let known: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
            return Err(format!(
                "{} has no field `{}`; it has {}",
                entity.name(),
                clip_name(&first),
                known.join(", ")
            ));
        };
        if !path.is_empty() && *kind != ColumnType::Json {
            return Err(format!("`{column}` of {} has no parts", entity.name()));
        }
        Ok(Self {
            name: name.to_owned(),
            column,
            kind: *kind,
            path,
        })
    }

    /// Returns `true` if the field has a path into JSON: a missing value there is absent, not
    /// null.
    pub(crate) fn is_dotted(&self) -> bool {
        !self.path.is_empty()
    }
}

fn parse_segments(name: &str) -> Result<Vec<PathSegment>, String> {
    let mut found = Vec::new();
    let mut rest = name;
    loop {
        let (segment, after) = parse_key(rest)?;
        found.push(PathSegment::Key(segment));
        rest = after;
        while let Some(inside) = rest.strip_prefix('[') {
            let (index, after) = inside
                .split_once(']')
                .ok_or("a `[` in the field is not closed")?;
            let index = index
                .parse()
                .map_err(|_| "an index in a field is a number, such as `[0]`")?;
            found.push(PathSegment::Index(index));
            rest = after;
        }
        if found.len() > MAX_PATH_SEGMENTS {
            return Err(format!("a field has at most {MAX_PATH_SEGMENTS} parts"));
        }
        rest = match rest.strip_prefix('.') {
            Some(after) => after,
            None if rest.is_empty() => return Ok(found),
            None => return Err(format!("the field ends before `{}`", clip_name(rest))),
        };
    }
}

/// Parses a key at the beginning of `rest`, plain or in double quotes; returns it with the
/// remaining text.
fn parse_key(rest: &str) -> Result<(String, &str), String> {
    if let Some(inside) = rest.strip_prefix('"') {
        let (key, after) = inside
            .split_once('"')
            .ok_or("a quote in the field is not closed")?;
        return Ok((key.to_owned(), after));
    }
    let end = rest.find(['.', '[', '"']).unwrap_or(rest.len());
    match rest.split_at(end) {
        ("", _) => Err("a part of the field is empty".to_owned()),
        (key, after) => Ok((key.to_owned(), after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_through_keys_quotes_and_indexes() {
        let field =
            QueryField::parse(QueryEntity::Inventory, "facts.\"a.b\".models[0][12].x").unwrap();
        let key = |text: &str| PathSegment::Key(text.to_owned());
        let expected = [
            key("a.b"),
            key("models"),
            PathSegment::Index(0),
            PathSegment::Index(12),
            key("x"),
        ];
        assert_eq!((field.column, &field.path[..]), ("facts", &expected[..]));
    }

    #[test]
    fn what_is_no_field_says_why() {
        for (name, words) in [
            ("certname.x", "has no parts"),
            ("fact", "it has certname, environment, facts"),
            ("facts.", "empty"),
            ("", "empty"),
            ("facts..x", "empty"),
            ("facts[x]", "number"),
            ("facts[1", "not closed"),
            ("facts.\"x", "not closed"),
            ("facts.\"x\"y", "ends before"),
        ] {
            let error = QueryField::parse(QueryEntity::Inventory, name).unwrap_err();
            assert!(error.contains(words), "{name}: {error}");
        }
        let deep = format!("facts{}", ".x".repeat(MAX_PATH_SEGMENTS + 1));
        assert!(QueryField::parse(QueryEntity::Inventory, &deep).is_err());
    }
}
