//! Agents are told where the files of tasks are, each in the form that it knows.

use jobs::{FileServer, JobsConfig};

use crate::sim::Manner;
use crate::world::{World, patient, request};

const PATH: &str = "/puppet/v3/file_content/tasks/test/";

/// The servers and the path that an agent was told.
async fn told(file_server: Option<FileServer>, stock: bool) -> (Vec<String>, String) {
    let config = JobsConfig {
        file_server,
        ..patient()
    };
    let world = World::with(config).await;
    let manner = Manner {
        stock,
        ..Manner::default()
    };
    let nodes = world.agents(2, &manner);
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    let sent = world.sim.seen_params();
    assert_eq!(sent.len(), 2);
    let paths: Vec<_> = sent
        .iter()
        .map(|params| params.files[0].uri.path.clone())
        .collect();
    assert_eq!(paths[0], paths[1]);
    (world.sim.seen_file_servers(), paths[0].clone())
}

#[tokio::test]
async fn an_agent_is_told_the_server_of_the_files() {
    let server = FileServer::new("https://tutti:8141").unwrap();
    let (servers, path) = told(Some(server), false).await;
    assert_eq!(servers, ["https://tutti:8141"; 2]);
    assert!(path.starts_with(PATH), "{path}");
    let (servers, _) = told(None, false).await;
    assert_eq!(servers, [""; 0]);
}

#[tokio::test]
async fn a_stock_agent_is_told_it_by_the_path_where_its_configuration_cannot_name_it() {
    let server = FileServer::new("https://tutti:8141").unwrap();
    let (servers, path) = told(Some(server.clone()), true).await;
    assert_eq!(servers, [""; 0]);
    assert!(path.starts_with(PATH), "{path}");
    let (servers, path) = told(Some(server.with_stock_agents()), true).await;
    assert_eq!(servers, [""; 0], "it refuses members that it does not know");
    assert!(path.starts_with(&format!("@tutti:8141{PATH}")), "{path}");
}
