//! `command run`: runs a line in the login shell of the agent's user, as pxp-agent does.

use pxp::action::CommandParams;
use serde_json::value::RawValue;

use super::request_plan::{
    ActionPlan, PlannedProgram, ProcessInput, RequestPlan, RequestRefusal, RunPlan, parse,
    without_nul,
};
use crate::spool::ResultKind;

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let CommandParams { command } = parse(params)?;
    without_nul("`command`", &command)?;
    Ok(RequestPlan::Work(ActionPlan::Run(RunPlan {
        program: PlannedProgram::Installed(login_shell()),
        args: vec!["-c".into(), command],
        input: ProcessInput::Nothing,
        files: vec![],
        keep_files: false,
        result: ResultKind::Output,
        user: None,
        env: vec![],
    })))
}

/// The shell of the passwd file; `/bin/sh` for users that are not in it (they come from a directory
/// service) or may not log in.
fn login_shell() -> String {
    let uid = rustix::process::geteuid().as_raw();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    shell_of(uid, &passwd).unwrap_or("/bin/sh").to_owned()
}

fn shell_of(uid: u32, passwd: &str) -> Option<&str> {
    let fields = passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.get(2).and_then(|field| field.parse().ok()) == Some(uid))?;
    let shell = fields.get(6)?.trim();
    let refuses = shell.is_empty() || shell.ends_with("/nologin") || shell.ends_with("/false");
    (!refuses).then_some(shell)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{plan_of, run_plan};
    use super::*;

    #[test]
    fn the_shell_is_the_users() {
        let passwd = "root:x:0:0:root:/root:/bin/zsh\nsvc:x:5:5::/:/usr/sbin/nologin\nshort:x:6\n";
        assert_eq!(shell_of(0, passwd), Some("/bin/zsh"));
        for uid in [5, 6, 7] {
            assert_eq!(shell_of(uid, passwd), None, "uid {uid}");
        }
    }

    #[test]
    fn the_command_is_one_argument() {
        let plan = run_plan("command", &json!({"command": "echo 'a b'; exit 3"}));
        assert_eq!(plan.args, ["-c", "echo 'a b'; exit 3"]);
        assert!(plan_of("command", "run", &json!({"command": "a\u{0}b"})).is_err());
    }
}
