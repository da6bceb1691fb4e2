//! A node with a scripted `puppet` for every outcome: [`Puppet`].

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use pxp::action::PuppetResult;
use serde_json::{Value, json};

use super::fake::Node;

/// Records its arguments, answers queries, and runs `agent.sh`.
const PUPPET: &str = r#"#!/bin/sh
home=@HOME@
if [ "$1" = config ]; then
    echo asked >>$home/asked
    echo "config = $home/puppet.conf"
    echo "lastrunreport = $home/last_run_report.yaml"
    echo "agent_disabled_lockfile = $home/disabled.lock"
    echo "agent_catalog_run_lockfile = $home/run.lock"
    [ -f $home/config.more ] && cat $home/config.more
    exit 0
fi
printf '%s\n' "$@" >$home/args
env >$home/env
echo run >>$home/runs
lock=$home/run.lock
while [ $# -gt 0 ]; do
    [ "$1" = --lastrunreport ] && report=$2
    [ "$1" = --agent_catalog_run_lockfile ] && lock=$2
    shift
done
. $home/agent.sh
"#;

pub(super) const UUID: &str = "0b2f6d70-2f3c-4c5c-8f0a-4ac5c3f3b9d1";

/// Shell text that writes a report with this status and the given additional lines.
pub(super) fn reports(status: &str, more: &str) -> String {
    format!(
        "cat >$report <<'END'\n--- !ruby/object:Puppet::Transaction::Report\n\
         time: '2026-11-21T12:34:56.7+00:00'\ntransaction_uuid: {UUID}\nenvironment: production\n\
         configuration_version: 17\nstatus: {status}\nnoop: false\n{more}END\n"
    )
}

/// A node with a scripted `puppet`.
pub(super) struct Puppet {
    pub(super) node: Node,
    pub(super) home: PathBuf,
}

impl Puppet {
    pub(super) async fn start(agent: &str) -> Self {
        Self::start_with(agent, |_| {}).await
    }

    pub(super) async fn start_with(
        agent: &str,
        change: impl FnOnce(&mut actions::EngineConfig),
    ) -> Self {
        let node = Node::start_with(|config, dir| {
            config.modules_config_dir = Some(dir.join("modules.d"));
            std::fs::create_dir(dir.join("modules.d")).unwrap();
            std::fs::create_dir(dir.join("puppet")).unwrap();
            change(config);
        })
        .await;
        let home = node.dir.path().join("puppet");
        let bin = home.join("puppet");
        let text = PUPPET.replace("@HOME@", home.to_str().unwrap());
        std::fs::write(&bin, text).unwrap();
        std::fs::set_permissions(&bin, std::fs::Permissions::from_mode(0o755)).unwrap();
        let puppet = Self { node, home };
        puppet.plays(agent);
        puppet.configure(&json!({ "puppet_bin": bin }));
        puppet
    }

    pub(super) fn plays(&self, agent: &str) {
        std::fs::write(self.home.join("agent.sh"), agent).unwrap();
    }

    pub(super) fn configure(&self, config: &Value) {
        let path = self
            .node
            .dir
            .path()
            .join("modules.d/pxp-module-puppet.conf");
        std::fs::write(path, config.to_string()).unwrap();
    }

    pub(super) fn ask(&self, flags: &[&str]) -> pxp::TransactionId {
        let params = json!({"flags": flags, "job": "71", "env": []});
        self.node.blocking("pxp-module-puppet", "run", &params)
    }

    pub(super) async fn result(&self) -> PuppetResult {
        serde_json::from_value(self.node.broker.results().await).unwrap()
    }

    pub(super) async fn run(&self) -> PuppetResult {
        self.ask(&[]);
        self.result().await
    }

    pub(super) fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.home.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(super) async fn begin(&self) -> pxp::TransactionId {
        let params = json!({"flags": []});
        let id = self.node.non_blocking("pxp-module-puppet", "run", &params);
        assert_eq!(self.node.broker.provisional().await, id);
        id
    }

    /// Another run that holds the lock until the child is ended.
    pub(super) fn other_run(&self) -> Child {
        let program = self.home.join("puppet-run");
        let _ = std::os::unix::fs::symlink("/bin/sh", &program);
        let child = Command::new(program)
            .args(["-c", "read line"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        std::fs::write(self.home.join("run.lock"), child.id().to_string()).unwrap();
        child
    }
}

/// Shell text that prints Puppet's message about a run in progress once, and then makes a run.
pub(super) fn gives_way_then(status: &str) -> String {
    format!(
        "if pid=$(cat $home/run.lock 2>/dev/null) && kill -0 $pid 2>/dev/null; then\n\
         echo \"Notice: Run of Puppet configuration client already in progress; skipping  ($home/run.lock exists)\"\n\
         exit 1; fi\n{}exit 2\n",
        reports(status, "")
    )
}

/// Shell text of a run that has Puppet's lock until the file `go` exists, or gives way to another run.
pub(super) fn locks_until_go() -> String {
    format!(
        "if pid=$(cat $lock 2>/dev/null) && kill -0 $pid 2>/dev/null; then\n\
         echo \"Notice: Run of Puppet configuration client already in progress; skipping  ($lock exists)\"\n\
         exit 1; fi\n\
         echo $$ >$lock; while [ ! -e $home/go ]; do sleep 0.02; done\n\
         {}rm $lock; exit 2\n",
        reports("changed", "")
    )
}

pub(super) fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}
