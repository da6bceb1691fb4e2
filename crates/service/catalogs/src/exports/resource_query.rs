//! Queries of collectors in PuppetDB's AST: [`resource_query`].
//!
//! The conditions are those that the terminus of PuppetDB sends. PuppetDB itself adds that the node is
//! active.

use evaluator::CollectorQuery;
use pcore::Value;
use serde_json::{Value as Json, json};

/// The query for exported resources of a type that `query` accepts, except those of `certname`.
pub(super) fn resource_query(
    certname: &str,
    type_name: &str,
    query: Option<&CollectorQuery>,
) -> Json {
    let mut conditions = vec![
        json!("and"),
        json!(["=", "type", type_name]),
        json!(["=", "exported", true]),
        json!(["not", ["=", "certname", certname]]),
    ];
    conditions.extend(query.map(condition));
    let columns = json!(["certname", "type", "title", "parameters"]);
    json!(["from", "resources", ["extract", columns, conditions]])
}

fn condition(query: &CollectorQuery) -> Json {
    let joined = |operator: &str, queries: &[CollectorQuery]| {
        let operands = queries.iter().map(condition);
        Json::Array(std::iter::once(json!(operator)).chain(operands).collect())
    };
    match query {
        CollectorQuery::And(queries) => joined("and", queries),
        CollectorQuery::Or(queries) => joined("or", queries),
        CollectorQuery::Compare {
            is_equal,
            attribute,
            value,
        } => {
            let compared = comparison(attribute, value);
            match is_equal {
                true => compared,
                false => json!(["not", compared]),
            }
        }
    }
}

/// Tags and titles are no parameters. PuppetDB has tags in lower case.
fn comparison(attribute: &str, value: &Value) -> Json {
    match attribute {
        "tag" => json!(["=", "tag", value.to_string().to_lowercase()]),
        "title" => json!(["=", "title", plain(value)]),
        name => json!(["=", ["parameter", name], plain(value)]),
    }
}

/// The value, or its text if JSON does not have it.
fn plain(value: &Value) -> Json {
    let json = value.to_json();
    json.unwrap_or_else(|_| Json::String(value.to_string()))
}

#[cfg(test)]
mod tests {
    use evaluator::CollectorQuery;
    use pcore::Value;
    use serde_json::json;

    use super::resource_query;

    fn compare(attribute: &str, is_equal: bool, value: impl Into<Value>) -> CollectorQuery {
        CollectorQuery::Compare {
            is_equal,
            attribute: attribute.into(),
            value: value.into(),
        }
    }

    #[test]
    fn the_node_itself_is_left_out() {
        let expected = json!([
            "from",
            "resources",
            [
                "extract",
                ["certname", "type", "title", "parameters"],
                [
                    "and",
                    ["=", "type", "Foo::Bar"],
                    ["=", "exported", true],
                    ["not", ["=", "certname", "web1"]]
                ]
            ]
        ]);
        assert_eq!(resource_query("web1", "Foo::Bar", None), expected);
    }

    #[test]
    fn comparisons_are_those_of_the_terminus() {
        let query = CollectorQuery::And(vec![
            compare("tag", true, "Web"),
            CollectorQuery::Or(vec![
                compare("title", true, "/A"),
                compare("mode", false, "0644"),
                compare("port", true, Value::Int(80)),
                compare("owner", true, Value::Undef),
            ]),
        ]);
        let conditions = resource_query("a", "File", Some(&query))[2][2][4].clone();
        let expected = json!([
            "and",
            ["=", "tag", "web"],
            [
                "or",
                ["=", "title", "/A"],
                ["not", ["=", ["parameter", "mode"], "0644"]],
                ["=", ["parameter", "port"], 80],
                ["=", ["parameter", "owner"], null]
            ]
        ]);
        assert_eq!(conditions, expected);
    }
}
