//! Catalogs of a server that deploys code: of the live version, and of one before it goes live.

use serde_json::{Value, json};

use crate::code::{Control, start_with};
use crate::world::{self, World};

const NODES: [&str; 2] = ["node0.test", "node1.test"];

fn commit(control: &Control, manifest: &str) {
    control.write("manifests/site.pp", manifest);
    control.git(&["add", "--all"]);
    control.git(&["commit", "--quiet", "--message=change"]);
}

/// Runs the client; returns the exit code, the output and the errors.
async fn tutti(world: &World, arguments: &[&str]) -> (i32, String, String) {
    let mut command = world.tutti().await;
    let output = command.args(arguments).output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().unwrap();
    (code, text(&output.stdout), text(&output.stderr))
}

async fn wait_for_facts_of(world: &World, number: usize) {
    world::until("the agents reported facts", || async {
        let nodes = world.client.get("/pdb/query/v4/inventory").await;
        let nodes = nodes.unwrap_or_default();
        nodes.as_array().is_some_and(|it| it.len() == number)
    })
    .await;
}

#[tokio::test]
async fn the_impact_of_a_version_is_known_before_it_goes_live() {
    let (world, control) = start_with(&NODES, "").await;
    commit(&control, "notify { 'old': message => $facts['kernel'] }");
    let live = world.deploy().await["version"].as_str().unwrap().to_owned();
    wait_for_facts_of(&world, NODES.len()).await;
    let manifest = "
        if $trusted['certname'] == 'node1.test' { fail('not here') }
        notify { 'new': message => $facts['kernel'] }";
    commit(&control, manifest);
    let body = json!({"environments": ["production"], "wait": true, "dry-run": true});
    let built = world.client.post("/code-manager/v1/deploys", &body).await;
    let built = built.unwrap()[0]["deployment"]["version"].clone();
    let built = built.as_str().unwrap();

    let version = format!("production@{}", &built[..8]);
    let (code, output, errors) = tutti(&world, &["code", "impact", &version]).await;
    assert_eq!(code, 1, "{errors}");
    let expected = "1 node: node1.test\n  fails: Evaluation Error: Error while evaluating a Function Call, \
                    not here (file: ";
    assert!(output.starts_with(expected), "{output}");
    let expected =
        "1 node: node0.test\n  - Notify[old]\n  + Notify[new]\n0 of 2 nodes have equal catalogs\n";
    assert!(output.ends_with(expected), "{output}");

    // the version that is live is still compiled, and its catalog has its code id
    let compile = ["catalog", "compile", "node0", "--on-server"];
    let (code, _, errors) = tutti(&world, &compile).await;
    assert_eq!(code, 2, "a node without facts");
    assert!(errors.contains("no facts of node0 are known"), "{errors}");
    let compile = ["catalog", "compile", "node0.test", "--on-server"];
    let (code, output, errors) = tutti(&world, &compile).await;
    assert_eq!(code, 0, "{errors}");
    assert!(
        output.contains("notify { 'old':\n  message => 'Linux',"),
        "{output}"
    );
    assert!(
        output.contains(&format!("urn:puppet:code-id:1:{live};production")),
        "{output}"
    );
    let compile = [
        &compile[..],
        &["--version", &built[..8], "--format", "json"],
    ]
    .concat();
    let (code, output, errors) = tutti(&world, &compile).await;
    assert_eq!(code, 0, "{errors}");
    let catalog: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(
        catalog["code_id"],
        format!("urn:puppet:code-id:1:{built};production")
    );
    let compile = [
        "catalog",
        "compile",
        "node1.test",
        "--on-server",
        "--version",
        &built[..8],
    ];
    let (code, output, errors) = tutti(&world, &compile).await;
    assert_eq!((code, output.as_str()), (1, ""));
    assert!(errors.starts_with("error: Evaluation Error: "), "{errors}");
    world.stop().await;
}

/// A function in Ruby runs as another user than root. Neither it nor a manifest can read the keys of the
/// server.
#[tokio::test]
async fn code_cannot_read_the_keys_of_the_server() {
    if !std::path::Path::new("/usr/bin/puppet").exists() {
        println!("skipped: there is no Puppet on this machine");
        return;
    }
    let (world, control) = start_with(&NODES[..1], "").await;
    // the other user must be able to read the code
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(world.root(), mode).unwrap();
    let key = world.installation.data_dir().join("seal.key");
    assert!(key.exists());
    let function = format!(
        "Puppet::Functions.create_function(:'site::look') do\n  def look\n    [Process.uid, begin; \
         File.read('{}'); rescue SystemCallError => e; e.class.name; end].inspect\n  end\nend\n",
        key.display()
    );
    let path = "modules/site/lib/puppet/functions/site/look.rb";
    control.write(path, &function);
    commit(&control, "notify { site::look(): }");
    world.deploy().await;
    wait_for_facts_of(&world, 1).await;
    let compile = ["catalog", "compile", NODES[0], "--on-server", "--why"];
    let (code, output, errors) = tutti(&world, &compile).await;
    assert_eq!(code, 0, "{errors}");
    assert!(
        output.contains("notify { '[65534, \"Errno::EACCES\"]': }"),
        "{output}"
    );
    assert!(errors.contains("site::look: 1 calls"), "{errors}");
    // nor does a manifest, though the modulepath names the directory above
    let root = world.root().display();
    control.write(
        "environment.conf",
        &format!("modulepath = modules:{root}\n"),
    );
    let of_ca = world.installation.data_dir().join("ca/ca_key.pem");
    // only r10k's settings name this one
    let of_repository = world.root().join("keys/ssh/deploy.pem");
    for key in [of_ca, of_repository] {
        assert!(key.exists());
        let manifest = format!("notify {{ file('{}'): }}", key.display());
        commit(&control, &manifest);
        world.deploy().await;
        let (code, output, errors) = tutti(&world, &compile).await;
        assert_eq!((code, output.as_str()), (1, ""));
        assert!(errors.contains("belongs to this server"), "{errors}");
    }
    world.stop().await;
}
