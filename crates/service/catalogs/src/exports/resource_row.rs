//! Rows of PuppetDB's resources: [`exported_resource`].

use compiler::ExportedResource;
use pcore::{Hash, Value};
use serde_json::Value as Json;

/// The resource of a row. The error describes a row that PuppetDB does not send.
pub(super) fn exported_resource(row: &Json, type_name: &str) -> Result<ExportedResource, String> {
    let text = |column: &str| match row.get(column).and_then(Json::as_str) {
        Some(text) => Ok(text.to_owned()),
        None => Err(format!("a row has no text in the column `{column}`")),
    };
    let found = text("type")?;
    if found != type_name {
        return Err(format!(
            "a resource of the type {found:?} answers a query for {type_name}"
        ));
    }
    let parameters = match row.get("parameters") {
        None | Some(Json::Null) => Hash::new(),
        Some(Json::Object(parameters)) => parameters
            .iter()
            .map(|(name, value)| (name.as_str(), Value::from_json(value)))
            .collect(),
        Some(_) => return Err("the parameters of a resource are not an object".to_owned()),
    };
    Ok(ExportedResource {
        certname: text("certname")?,
        title: text("title")?,
        parameters,
        // PuppetDB has compared them
        tags: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::exported_resource;

    #[test]
    fn rows_of_other_shapes_are_refused() {
        let good = json!({"certname": "a", "type": "File", "title": "/a", "parameters": null});
        assert!(exported_resource(&good, "File").is_ok());
        for (column, value) in [
            ("certname", json!(1)),
            ("certname", json!(null)),
            ("type", json!("Exec")),
            ("title", json!(["/a"])),
            ("parameters", json!([])),
            ("parameters", json!("x")),
        ] {
            let mut bad = good.clone();
            bad[column] = value;
            assert!(exported_resource(&bad, "File").is_err(), "{bad}");
        }
        assert!(exported_resource(&json!("text"), "File").is_err());
    }
}
