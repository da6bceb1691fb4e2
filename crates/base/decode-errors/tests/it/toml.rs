//! Every TOML error that people cause: the text and the message.

use decode_errors::toml::from_str;
use serde::Deserialize;

use crate::no_library_wording::assert_plain;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(rename = "certname")]
    _certname: String,
    #[serde(rename = "api", default)]
    _api: Api,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Api {
    #[serde(rename = "port", default)]
    _port: Option<u16>,
    #[serde(rename = "address", default)]
    _address: Option<std::net::IpAddr>,
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let table = [
        (
            "certname = ",
            "not TOML: write a value here; strings stand in quotes (line 1, column 12)",
        ),
        (
            "certname",
            "not TOML: write = and a value after the key (line 1, column 9)",
        ),
        (
            "certname = puppet",
            "not TOML: write a value here; strings stand in quotes (line 1, column 12)",
        ),
        (
            "certname = \"puppet\n",
            "not TOML: the string is not closed, or it has an unknown escape (write \\\\ for \
             a backslash) (line 1, column 19)",
        ),
        (
            "certname = \"a\"\n[api\nport = 1",
            "not TOML: close the name of the section with ] (line 2, column 5)",
        ),
        (
            "certname = \"a\"\ncertname = \"b\"",
            "not TOML: the key occurs twice; remove one (line 2, column 1)",
        ),
        (
            "certname = \"a\" api = 3",
            "not TOML: write one key and its value on each line (line 1, column 16)",
        ),
        (
            "a = [\"b\" \"c\"]",
            "not TOML: write a comma between two values (line 1, column 10)",
        ),
        (
            "a = [1,\n",
            "not TOML: the array is not closed; write ] after its last value (line 1, column 8)",
        ),
        (
            "a = {b = 1",
            "not TOML: the table is not closed; write } after its last value (line 1, column 11)",
        ),
        (
            "a = 1__0",
            "not TOML: a number is not written as TOML writes numbers (line 1, column 6)",
        ),
        (
            "",
            "the key \"certname\" is missing; add it (line 1, column 1)",
        ),
        (
            "certname = 3",
            "certname: must be a string, not the number 3 (line 1, column 12)",
        ),
        (
            "certname = \"ä\"\n[api]\nport = 70000",
            "api.port: must be a whole number from 0 to 65535, not the number 70000 (line 3, column 8)",
        ),
        (
            "certname = \"a\"\napi = 1",
            "api: must be a table, not the number 1 (line 2, column 7)",
        ),
        (
            "certname = \"a\"\n[api]\nprot = 1",
            "api: unknown key \"prot\"; the keys here are \"port\", \"address\" (line 3, column 1)",
        ),
        (
            "certname = \"a\"\n[api]\naddress = \"here\"",
            "api.address: invalid IP address syntax (line 3, column 11)",
        ),
    ];
    for (text, whole) in table {
        let message = from_str::<Config>(text).unwrap_err().to_string();
        assert_plain(&message);
        assert_eq!(message, whole, "{text}");
    }
}
