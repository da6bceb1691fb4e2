//! Figures of a real agent that is idle.

use anyhow::Result;
use serde_json::json;
use testkit::client::Client;
use testkit::installation::Installation;
use testkit::machine;

use crate::measurement::figure;

pub(crate) async fn run(installation: &Installation) -> Result<()> {
    let metadata = json!({"input_method": "environment"});
    installation.add_task("noop", "init.sh", &metadata, "#!/bin/sh\n")?;
    let server = installation.server().start().await?;
    let agent = installation
        .agent("node.test", installation.broker_port(), "")?
        .start()
        .await?;
    let client = Client::login(installation).await?;
    client.connected(1).await?;
    let fresh = machine::resident_kib(agent.pid())?;
    let job = client.run_task("noop", &["node.test"], json!({})).await?;
    client.wait(job).await?;
    let after = machine::resident_kib(agent.pid())?;
    figure(
        "agent, resident KiB",
        &json!({"connected": fresh, "after_one_task": after}),
    );
    agent.stop().await?;
    server.stop().await?;
    Ok(())
}
