//! Nodes with Tutti's agent and a real Puppet, and the server that configures them.

use conformance::cli::{self, Said};
use testkit::client::Client;
use testkit::peers::PuppetAgent;
use testkit::service::Service;

use crate::site::AgentSite;

/// A server and its connected nodes.
pub(crate) struct FleetSite {
    pub(crate) site: AgentSite,
    pub(crate) client: Client,
    agents: Vec<Service>,
    /// They own the homes of Puppet.
    pub(crate) puppets: Vec<PuppetAgent>,
}

impl FleetSite {
    /// Starts a server with this code in `production`, and these nodes.
    pub(crate) async fn start(nodes: &[&str], code: &[(&str, &str)]) -> Self {
        let site = AgentSite::start("").await;
        site.deploy("production", 'a', code);
        std::fs::create_dir_all(site.target()).unwrap();
        let installation = &site.installation;
        let client = Client::login(installation).await.unwrap();
        cli::keep_token(installation, &client).unwrap();
        let (mut agents, mut puppets) = (Vec::new(), Vec::new());
        for node in nodes {
            let puppet = site.agent(node);
            installation
                .puppet_program(node, &puppet.program())
                .unwrap();
            let agent = installation.agent(node, installation.broker_port(), "");
            agents.push(agent.unwrap().start().await.unwrap());
            puppets.push(puppet);
        }
        client.connected(nodes.len()).await.unwrap();
        Self {
            site,
            client,
            agents,
            puppets,
        }
    }

    /// Runs `tutti` in the environment `production`.
    pub(crate) async fn tutti(&self, arguments: &[&str]) -> Said {
        let environment = ["-e", "production"];
        let arguments = [arguments, &environment].concat();
        cli::run(&self.site.installation, &arguments).await.unwrap()
    }

    pub(crate) async fn stop(self) {
        for agent in self.agents {
            agent.stop().await.unwrap();
        }
        self.site.stop().await;
    }
}
