//! `POST /puppet/v3/compile`: catalogs of `apply` blocks, whose plans run on a server of Puppet Enterprise.
//!
//! Puppet's default rules allow no client: the route is forbidden without a rule of an `auth.conf`.

use agent_catalogs::{BlockCatalogRequest, BlockProgram, BlockProgramError, BlockVariables};
use axum::extract::{Request, State};
use axum::response::Response;
use environments::EnvironmentName;
use pcp::Certname;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::server_state::AgentServerState;
use super::service_answer::{
    CapturedLevel, ValuesDocument, catalog_answer, check_ids, invalid_input,
};
use crate::defaults::CATALOG_BODY_BYTES;
use crate::failure::PuppetApiFailure;
use crate::peer::PuppetApiCaller;
use crate::submitted_body::SubmittedText;

/// The answer to a request without an environment, which is puppetserver's.
const NO_ENVIRONMENT: &str =
    "A compile request must include an `environment` or `versioned_project` parameter.";

/// The body of a request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompileQuestion {
    certname: String,
    /// JSON in a text.
    code_ast: String,
    trusted_facts: ValuesDocument,
    facts: ValuesDocument,
    variables: VariablesDocument,
    #[serde(default)]
    environment: Option<String>,
    #[serde(default)]
    versioned_project: Option<String>,
    #[serde(default)]
    target_variables: Option<ValuesDocument>,
    #[serde(default)]
    transaction_uuid: Option<String>,
    #[serde(default)]
    job_id: Option<String>,
    #[serde(default)]
    options: BlockOptions,
}

/// Variables of the plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VariablesDocument {
    values: VariableValues,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum VariableValues {
    Object(Map<String, Value>),
    List(Vec<Map<String, Value>>),
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BlockOptions {
    capture_logs: bool,
    log_level: CapturedLevel,
    /// Ignored: types and functions of plans are never known in blocks.
    #[serde(rename = "compile_for_plan")]
    _compile_for_plan: bool,
}

/// The values of a question whose code was not read yet.
struct CheckedQuestion {
    certname: Certname,
    environment: EnvironmentName,
    question: CompileQuestion,
}

pub(super) async fn post(
    State(server): State<AgentServerState>,
    caller: PuppetApiCaller,
    request: Request,
) -> Result<Response, PuppetApiFailure> {
    let service = caller.require_certname()?.to_owned();
    let body = server
        .bodies
        .read_any(&caller, &service, request, CATALOG_BODY_BYTES);
    let reading = body
        .await?
        .read_text(|text| CheckedQuestion::parse(&text.json).map_err(PuppetApiFailure::into_text));
    let (checked, text) = reading.await?;
    let bytes = text.json.len();
    let options = &checked.question.options;
    let captured = options.capture_logs.then_some(options.log_level);
    // the text's memory is free when the thread that reads the block is done, also if the client leaves; then the
    // queue of compilations bounds the values that wait
    let request = checked.into_request(service.clone(), bytes, text).await;
    let request = request.map_err(PuppetApiFailure::into_text)?;
    let certname = request.certname.clone();
    let compiled = Box::pin(server.agents.catalogs.block_catalog(request)).await;
    catalog_answer(compiled, captured, (&service, &certname), "block")
}

impl CheckedQuestion {
    fn parse(json: &str) -> Result<Self, PuppetApiFailure> {
        let question = decode_errors::json::object_from_slice(json.as_bytes());
        let question: CompileQuestion = question
            .map_err(|error| PuppetApiFailure::bad_request(format!("Invalid input: {error}")))?;
        check_ids([
            ("transaction_uuid", &question.transaction_uuid),
            ("job_id", &question.job_id),
        ])?;
        if question.versioned_project.is_some() {
            return Err(invalid_input(
                "versioned_project",
                &"this server has no projects; send the name of an environment as `environment`",
            ));
        }
        let Some(environment) = &question.environment else {
            return Err(PuppetApiFailure::bad_request(NO_ENVIRONMENT.to_owned()));
        };
        let certname: Result<Certname, _> = question.certname.parse();
        let environment: Result<EnvironmentName, _> = environment.parse();
        Ok(Self {
            certname: certname.map_err(|error| invalid_input("certname", &error))?,
            environment: environment.map_err(|error| invalid_input("environment", &error))?,
            question,
        })
    }

    async fn into_request(
        self,
        service: String,
        bytes: usize,
        memory: SubmittedText,
    ) -> Result<BlockCatalogRequest, PuppetApiFailure> {
        let question = self.question;
        let variables = match question.variables.values {
            VariableValues::Object(all) => BlockVariables::Object(all),
            VariableValues::List(list) => BlockVariables::List(list),
        };
        let of_target = question.target_variables.map(|it| it.values);
        let of_target = of_target.unwrap_or_default();
        let program = BlockProgram::read(question.code_ast, variables, of_target, memory).await;
        let program = program.map_err(|error| match error {
            BlockProgramError::Thread(_) => PuppetApiFailure::internal(&error),
            refused => PuppetApiFailure::bad_request(format!("Invalid input: {refused}")),
        })?;
        Ok(BlockCatalogRequest {
            service,
            certname: self.certname,
            environment: self.environment,
            facts: question.facts.values,
            trusted: question.trusted_facts.values,
            program,
            bytes,
        })
    }
}
