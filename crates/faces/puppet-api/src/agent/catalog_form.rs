//! The parameters of a request for a catalog: [`CatalogForm`].
//!
//! Agents send them as a form in the body; the facts in it are escaped once more. The query may have
//! them too, and always has the environment.
//!
//! Invariant: facts of another node than the one whose catalog is requested are an error.

use agent_catalogs::{AgentFacts, ChecksumType};
use environments::EnvironmentName;
use run_reports::pson_to_json;

use crate::defaults::ID_BYTES_MAX;
use crate::facts_document::read_facts;
use crate::failure::PuppetApiFailure;
use crate::query::QueryParams;

/// Parameters of a request for a catalog.
#[derive(Debug)]
pub(super) struct CatalogForm {
    pub(super) environment: EnvironmentName,
    pub(super) checks_environment: bool,
    /// `None` if the request has none.
    pub(super) facts: Option<AgentFacts>,
    /// Checksum type of a static catalog; `None` if the agent wants none.
    pub(super) static_files: Option<ChecksumType>,
    pub(super) transaction_uuid: Option<String>,
    /// The job that started the run; `None` if no job did.
    pub(super) job_id: Option<String>,
}

impl CatalogForm {
    /// Reads the parameters of a request for the catalog of `certname`.
    pub(super) fn parse(certname: &str, mut params: QueryParams) -> Result<Self, PuppetApiFailure> {
        let facts = params.take("facts").filter(|facts| !facts.is_empty());
        let facts = facts
            .map(|facts| {
                let format = params.get("facts_format")?;
                parse_facts(certname, &facts, format)
            })
            .transpose()?;
        let wants_static = params.flag("static_catalog")?;
        let types = params.get("checksum_type")?.unwrap_or("sha256");
        let static_files = match wants_static {
            true => Some(common_checksum_type(types)?),
            false => None,
        };
        Ok(Self {
            environment: params.environment()?,
            checks_environment: params.flag("check_environment")?,
            facts,
            static_files,
            transaction_uuid: short_text(&params, "transaction_uuid")?,
            // agents send `job_uuid`, and the API document of Puppet has `job_id`
            job_id: match short_text(&params, "job_uuid")? {
                Some(job_id) => Some(job_id),
                None => short_text(&params, "job_id")?,
            },
        })
    }
}

/// The text of a parameter that names a run or a job; `None` if it is absent or empty.
fn short_text(params: &QueryParams, name: &str) -> Result<Option<String>, PuppetApiFailure> {
    let text = params.get(name)?.filter(|text| !text.is_empty());
    match text.is_some_and(|text| text.len() > ID_BYTES_MAX) {
        true => Err(PuppetApiFailure::bad_request(format!(
            "the parameter {name} is longer than {ID_BYTES_MAX} bytes"
        ))),
        false => Ok(text.map(str::to_owned)),
    }
}

/// The first type of the agent that identifies content. Puppet's server refuses an agent without one,
/// too, because it asked for a static catalog.
fn common_checksum_type(types: &str) -> Result<ChecksumType, PuppetApiFailure> {
    ChecksumType::first_common(types).ok_or_else(|| {
        PuppetApiFailure::bad_request(format!(
            "none of the checksum types {types:?} identifies the content of files; this server knows sha256, \
             sha384, sha512, sha224, sha1 and md5"
        ))
    })
}

fn parse_facts(
    certname: &str,
    escaped: &str,
    format: Option<&str>,
) -> Result<AgentFacts, PuppetApiFailure> {
    match format {
        None | Some("application/json" | "pson" | "text/pson") => {}
        Some(other) => {
            return Err(PuppetApiFailure::bad_request(format!(
                "facts in the format {other:?} cannot be read; send application/json"
            )));
        }
    }
    // a text that is not escaped is taken as it is
    match escaped.starts_with('{') {
        true => read_facts(certname, escaped),
        false => {
            let bytes: Vec<u8> = percent_encoding::percent_decode_str(escaped).collect();
            read_facts(certname, &pson_to_json(&bytes))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{CatalogForm, QueryParams};

    fn parse(facts: &str) -> Result<CatalogForm, String> {
        let twice = |text: &str| {
            let once =
                percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
            let once = once.to_string();
            percent_encoding::utf8_percent_encode(&once, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
        };
        let form = format!(
            "environment=dev&facts_format=application%2Fjson&facts={}&static_catalog=true\
             &checksum_type=sha256.md5&check_environment=true",
            twice(facts)
        );
        CatalogForm::parse("n1", QueryParams::of_form(form.as_bytes()))
            .map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn facts_are_unescaped_twice() {
        let facts = json!({
            "name": "n1",
            "values": {"text": "a+b %41 ü \"", "trusted": {"certname": "n2"}},
            "timestamp": "2026-11-28T03:00:00.123456789+01:00",
        });
        let form = parse(&facts.to_string()).unwrap();
        let facts = form.facts.unwrap();
        assert_eq!(json!(facts.values), json!({"text": "a+b %41 ü \""}));
        assert!(form.checks_environment);
        assert_eq!(form.environment.as_str(), "dev");
    }

    #[test]
    fn facts_of_another_node_and_broken_ones_are_refused() {
        for facts in [
            r#"{"name": "n2", "values": {}}"#,
            r#"{"name": "n1", "values": []}"#,
            "{",
            "[]",
            &format!(
                "{{\"name\": \"n1\", \"values\": {}1{}}}",
                "[".repeat(500),
                "]".repeat(500)
            ),
        ] {
            assert!(parse(facts).is_err(), "{facts}");
        }
    }
}
