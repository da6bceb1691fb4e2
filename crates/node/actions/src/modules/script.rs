//! `script run`: runs a file from the primary server with arguments.

use pxp::action::ScriptParams;
use serde_json::value::RawValue;

use super::request_plan::{
    ActionPlan, PlannedFile, PlannedProgram, ProcessInput, RequestPlan, RequestRefusal, RunPlan,
    in_files_directory, parse, without_nul,
};
use crate::spool::ResultKind;

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let ScriptParams { script, arguments } = parse(params)?;
    for argument in &arguments {
        without_nul("an argument", argument)?;
    }
    let destination = in_files_directory(script.filename.file_name())?;
    Ok(RequestPlan::Work(ActionPlan::Run(RunPlan {
        program: PlannedProgram::File(destination.clone()),
        args: arguments,
        input: ProcessInput::Nothing,
        files: vec![PlannedFile {
            spec: script,
            destination,
        }],
        keep_files: false,
        result: ResultKind::Output,
        user: None,
        env: vec![],
    })))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{plan_of, run_plan};

    fn script(filename: &str) -> Value {
        json!({
            "script": {
                "filename": filename,
                "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                "uri": {"path": "/puppet/v3/file_content/scripts/m/x.sh", "params": {}},
            },
            "arguments": ["--flag", "with blank", ""],
        })
    }

    #[test]
    fn the_script_runs_under_its_own_name() {
        let plan = run_plan("script", &script("m/x.sh"));
        assert_eq!(plan.files[0].destination.as_str(), "files/x.sh");
        assert_eq!(plan.args, ["--flag", "with blank", ""]);
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        assert!(plan_of("script", "run", &script("../x.sh")).is_err());
    }
}
