//! Exported resources as they are stored: [`StoredType`].
//!
//! The resources of one type of a node are a JSON list of title, tags and parameters. Values of
//! sensitive parameters are in a list of their own, which is sealed.
//!
//! Invariant: no sensitive value is in the list of resources.

use compiler::ExportedResource;
use pcore::{Hash, Value};
use serde_json::{Map, Value as Json, json};
use zeroize::Zeroizing;

/// The exported resources of one type of a node.
pub(super) struct StoredType {
    pub(super) resource_type: String,
    /// Objects with `title`, `tags` and `parameters`.
    resources: Vec<Json>,
    /// Sensitive values: index of the resource, name of the parameter, value.
    secrets: Vec<Json>,
}

/// The description of an input that is no resource of a catalog.
pub(super) type Malformed = &'static str;

/// Groups resources of a catalog document in plain form by their types, in the order of the document.
pub(super) fn stored_types(resources: &[Json]) -> Result<Vec<StoredType>, Malformed> {
    let mut types: Vec<StoredType> = Vec::new();
    for resource in resources {
        let ty = resource["type"].as_str().ok_or("it has no type")?;
        let known = types.iter().position(|it| it.resource_type == ty);
        let index = known.unwrap_or(types.len());
        if known.is_none() {
            types.push(StoredType {
                resource_type: ty.to_owned(),
                resources: Vec::new(),
                secrets: Vec::new(),
            });
        }
        types[index].add(resource)?;
    }
    Ok(types)
}

impl StoredType {
    fn add(&mut self, resource: &Json) -> Result<(), Malformed> {
        let title = resource["title"].as_str().ok_or("it has no title")?;
        let mut parameters = match &resource["parameters"] {
            Json::Null => Map::new(),
            Json::Object(parameters) => parameters.clone(),
            _ => return Err("its parameters are not an object"),
        };
        let index = self.resources.len();
        for name in texts(&resource["sensitive_parameters"])? {
            if let Some(value) = parameters.remove(name) {
                self.secrets.push(json!([index, name, value]));
            }
        }
        let tags = texts(&resource["tags"])?;
        self.resources
            .push(json!({"title": title, "tags": tags, "parameters": parameters}));
        Ok(())
    }

    /// The resources without sensitive values, as JSON.
    pub(super) fn resources_text(&self) -> String {
        Json::Array(self.resources.clone()).to_string()
    }

    /// The sensitive values as JSON, to be sealed; `None` if there are none.
    pub(super) fn secrets_text(&self) -> Option<Zeroizing<String>> {
        let has_secrets = !self.secrets.is_empty();
        has_secrets.then(|| Zeroizing::new(Json::Array(self.secrets.clone()).to_string()))
    }
}

fn texts(list: &Json) -> Result<Vec<&str>, Malformed> {
    match list {
        Json::Null => Ok(Vec::new()),
        Json::Array(texts) => texts
            .iter()
            .map(|text| text.as_str().ok_or("a tag or name is no text"))
            .collect(),
        _ => Err("its tags or sensitive parameters are not a list"),
    }
}

/// The resources of a node that were stored with [`StoredType`].
pub(super) fn read_stored(
    certname: &str,
    resources: &str,
    secrets: Option<&str>,
) -> Result<Vec<ExportedResource>, String> {
    let damaged = |error: serde_json::Error| format!("the stored resources are damaged: {error}");
    let stored: Vec<Json> = serde_json::from_str(resources).map_err(damaged)?;
    let read = stored.iter().map(|resource| ExportedResource {
        certname: certname.to_owned(),
        title: resource["title"].as_str().unwrap_or_default().to_owned(),
        parameters: parameters(&resource["parameters"]),
        tags: texts(&resource["tags"])
            .unwrap_or_default()
            .into_iter()
            .map(str::to_owned)
            .collect(),
    });
    let mut read: Vec<ExportedResource> = read.collect();
    let secrets: Vec<(usize, String, Json)> = match secrets {
        Some(secrets) => serde_json::from_str(secrets).map_err(damaged)?,
        None => Vec::new(),
    };
    for (index, name, value) in secrets {
        if let Some(resource) = read.get_mut(index) {
            let value = Value::sensitive(Value::from_json(&value));
            resource.parameters.insert(name.as_str(), value);
        }
    }
    Ok(read)
}

fn parameters(stored: &Json) -> Hash {
    let stored = stored.as_object().into_iter().flatten();
    stored
        .map(|(name, value)| (name.as_str(), Value::from_json(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use pcore::Value;
    use serde_json::json;

    use super::{read_stored, stored_types};

    #[test]
    fn resources_are_read_as_they_were_stored() {
        let resources = [
            json!({"type": "File", "title": "/a", "tags": ["file", "x"], "exported": true,
                "parameters": {"mode": "0644", "content": "hunter2", "n": [1, null, "ü\u{0}"]},
                "sensitive_parameters": ["content", "absent"]}),
            json!({"type": "Foo::Bar", "title": "b", "tags": []}),
            json!({"type": "File", "title": "/c"}),
        ];
        let types = stored_types(&resources).unwrap();
        let names: Vec<&str> = types.iter().map(|it| it.resource_type.as_str()).collect();
        assert_eq!(names, ["File", "Foo::Bar"]);
        let files = &types[0];
        let text = files.resources_text();
        assert!(!text.contains("hunter2"), "{text}");
        assert!(types[1].secrets_text().is_none());
        let secrets = files.secrets_text().unwrap();
        let read = read_stored("web1", &text, Some(secrets.as_str())).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(
            (read[0].certname.as_str(), read[0].title.as_str()),
            ("web1", "/a")
        );
        assert_eq!(read[0].tags, ["file", "x"]);
        let content = read[0].parameters.get_str("content");
        assert_eq!(content, Some(&Value::sensitive(Value::from("hunter2"))));
        let list = read[0].parameters.get_str("n").unwrap().to_json();
        assert_eq!(list.unwrap(), json!([1, null, "ü\u{0}"]));
        assert_eq!(read[1].title, "/c");
    }

    #[test]
    fn what_is_no_resource_is_refused() {
        for resource in [
            json!("text"),
            json!({"title": "a"}),
            json!({"type": "File"}),
            json!({"type": "File", "title": 1}),
            json!({"type": "File", "title": "a", "parameters": []}),
            json!({"type": "File", "title": "a", "tags": [1]}),
            json!({"type": "File", "title": "a", "sensitive_parameters": "content"}),
        ] {
            assert!(
                stored_types(std::slice::from_ref(&resource)).is_err(),
                "{resource}"
            );
        }
        for stored in ["", "{}", "[", "\u{0}"] {
            assert!(read_stored("a", stored, None).is_err(), "{stored}");
        }
        assert!(read_stored("a", "[]", Some("[[1]]")).is_err());
    }
}
