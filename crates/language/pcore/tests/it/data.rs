//! Values as JSON.

use pcore::{Type, Value, new_instance};
use serde_json::json;

use super::{ty, value};

fn back(value: &Value) -> Value {
    let json = value.to_rich_json().unwrap();
    Value::from_rich_json(&json, &|_| None).unwrap()
}

#[test]
fn plain_data_goes_there_and_back() {
    let json = json!({"b": [1, 2.5, null, "x"], "a": {"c": true}});
    let value = Value::from_json(&json);
    assert_eq!(value.to_json().unwrap(), json);
    assert_eq!(
        value.to_json().unwrap().to_string(),
        json.to_string(),
        "in order"
    );
}

#[test]
fn plain_data_refuses_what_json_has_not() {
    let cases = [
        (
            "[{'a' => /x/}]",
            "the value[0]['a'] holds a value of type Regexp, which is not Data",
        ),
        (
            "{1 => 2}",
            "the value has a key of type Integer, and keys of Data are texts",
        ),
        (
            "default",
            "the value holds a value of type Default, which is not Data",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text).to_json().unwrap_err().to_string(), expected);
    }
    assert!(Value::Float(f64::NAN).to_json().is_err());
}

#[test]
fn rich_data_is_puppets() {
    let cases = [
        ("default", json!({"__ptype": "Default"})),
        ("/a/", json!({"__ptype": "Regexp", "__pvalue": "a"})),
        ("{1 => 2}", json!({"__ptype": "Hash", "__pvalue": [1, 2]})),
        (
            "{'__ptype' => 'x'}",
            json!({"__ptype": "Hash", "__pvalue": ["__ptype", "x"]}),
        ),
        (
            "Integer[1]",
            json!({"__ptype": "Pcore::IntegerType", "from": 1}),
        ),
        (
            "Integer[default, 5]",
            json!({"__ptype": "Pcore::IntegerType", "from": null, "to": 5}),
        ),
        (
            "File['/x']",
            json!({"__ptype": "Pcore::ResourceType", "type_name": "File", "title": "/x"}),
        ),
    ];
    for (text, expected) in cases {
        let value = value(text);
        assert_eq!(value.to_rich_json().unwrap(), expected, "{text}");
        assert_eq!(back(&value), value, "{text}");
    }
}

#[test]
fn rich_data_keeps_everything() {
    let made = |name: &str, text: &str| {
        let arguments = value(&format!("[{text}]"));
        new_instance(&ty(name), arguments.as_array().unwrap()).unwrap()
    };
    let values = [
        made("Sensitive", "{'a' => 1}"),
        made("Timestamp", "'2016-10-10T12:13:14.000000005'"),
        made("Timespan", "{'milliseconds' => 5}"),
        made("Timespan", "-1.25"),
        made("SemVer", "'1.2.3-rc1+b'"),
        made("SemVerRange", "'1.x || 3.x'"),
        made("Binary", "'aGVsbG8='"),
        made("URI", "'http://u@h:81/p?q#f'"),
        made("Error", "'m', 'k', {'a' => [1]}"),
        made("Deferred", "'f', [1]"),
        ty("Boolean[true]").into(),
        ty("Sensitive[String]").into(),
        ty("Struct[{Optional[a] => Variant[Integer, Undef]}]").into(),
        ty("Callable[[String, 1, 2, Optional[Callable]], Integer]").into(),
        ty("Enum['a', true]").into(),
    ];
    for value in values {
        assert_eq!(back(&value), value);
    }
}

#[test]
fn rich_data_makes_only_what_is_known() {
    let refused = [
        json!({"__ptype": "Foo::Bar", "a": 1}),
        json!({"__ptype": "Pcore::FooType"}),
        json!({"__ptype": "Pcore::IntegerType", "from": 5, "to": 1}),
        json!({"__ptype": "Hash", "__pvalue": [1]}),
        json!({"__ptype": "Timestamp", "__pvalue": "x"}),
        json!({"__ptype": "Error"}),
        json!({"__ptype": "Array", "__pvalue": 1_000_000}),
        json!({"__ptype": "Array", "__pvalue": "abc"}),
        json!({"__ptype": "Tuple", "__pvalue": 3}),
        json!({"__ptype": "Integer", "__pvalue": 3}),
        json!({"__ptype": "String", "__pvalue": [1, "%05d"]}),
        json!({"__ptype": "Timespan", "__pvalue": null}),
        json!({"__ptype": "URI", "__pvalue": {"__ptype": "Sensitive", "__pvalue": "http://u"}}),
    ];
    for json in refused {
        assert!(Value::from_rich_json(&json, &|_| None).is_err(), "{json}");
    }
    let data = Value::Type(Type::data());
    assert!(data.to_rich_json().is_err(), "a type that holds itself");
}
