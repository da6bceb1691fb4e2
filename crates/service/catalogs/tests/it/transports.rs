//! Transports whose schemas are run, compared with those that Puppet itself loads.

use std::path::Path;
use std::process::Command;

use catalogs::{CatalogSettings, EnvironmentListing};
use ruby_workers::{RubyWorkerSettings, RubyWorkers};
use serde_json::Value as Json;

use crate::world::World;

/// Prints the transports as a puppetserver collects them, and then the files that cannot be loaded.
const PUPPET: &str = r"
require 'puppet'
require 'json'
require 'puppet/resource_api/transport'
Puppet.initialize_settings(['--confdir', ARGV[1], '--vardir', ARGV[1]])
environment = Puppet::Node::Environment.create(:production, [ARGV[0]])
Puppet.override(current_environment: environment, environments: Puppet::Environments::Static.new(environment)) do
  transports = Puppet::ResourceApi::Transport.list_all_transports('production').values.map do |transport|
    definition = transport.definition
    definition[:connection_info_order] = definition[:connection_info_order].map(&:to_s)
    definition
  end
  puts JSON.generate(transports)
end
";

const LITERAL: &str = "require 'puppet/resource_api'
Puppet::ResourceApi.register_transport(
  name: 'literal', desc: 'Literals', features: [], connection_info: { host: { type: 'String', desc: 'The host' } },
)
";

const COMPUTED: &str = "require 'puppet/resource_api'
COMMON = { user: { type: 'Optional[String]', desc: 'The user' } }.freeze
schema = {
  name: 'computed', desc: 'Computes ' + 'its parameters',
  connection_info: COMMON.merge(password: { type: 'Sensitive[String]', sensitive: true }, timeout: { type: 'Integer', default: 2 * 30 }),
}
schema[:connection_info_order] = schema[:connection_info].keys.sort
Puppet::ResourceApi.register_transport(schema)
";

fn settings() -> Option<CatalogSettings> {
    let has_library = Path::new("/usr/lib/ruby/vendor_ruby/puppet/resource_api.rb").exists();
    has_library.then(|| CatalogSettings {
        ruby: Some(RubyWorkers::new(RubyWorkerSettings::default())),
        ..CatalogSettings::default()
    })
}

async fn list(world: &World) -> std::sync::Arc<EnvironmentListing> {
    let production = "production".parse().unwrap();
    world.catalogs.transports(&production).await.unwrap()
}

/// The names of the transports in their order.
fn names(listing: &EnvironmentListing) -> Vec<String> {
    let listed: Json = serde_json::from_str(&listing.body).unwrap();
    let transports = listed["transports"].as_array().unwrap().iter();
    transports
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn computed_schemas_are_those_that_puppet_loads() {
    let Some(settings) = settings() else {
        return;
    };
    let world = World::new(settings).await;
    let modules = world.root.path().join("environments/production/modules");
    let write = |path: &str, text: &str| {
        let path = modules.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("b/lib/puppet/transport/schema/computed.rb", COMPUTED);
    write("a/lib/puppet/transport/schema/literal.rb", LITERAL);
    write(
        "c/lib/puppet/transport/schema/also_literal.rb",
        &LITERAL.replace("'literal'", "'also_literal'"),
    );
    let listing = list(&world).await;
    let listed: Json = serde_json::from_str(&listing.body).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let asked = Command::new("/usr/bin/ruby")
        .args(["-e", PUPPET])
        .args([&modules, scratch.path()])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&asked.stderr);
    assert!(asked.status.success(), "{errors}");
    let loaded: Json = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(listed["transports"], loaded);
    assert_eq!(names(&listing), ["literal", "computed", "also_literal"]);
    // the tag is that of the content, which another process of Ruby gives again
    assert_eq!(list(&world).await.etag, listing.etag);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_cannot_be_loaded_is_left_out_and_the_others_are_listed() {
    let Some(settings) = settings() else {
        return;
    };
    let world = World::new(settings).await;
    let schemas = world
        .root
        .path()
        .join("environments/production/modules/m/lib/puppet/transport/schema");
    std::fs::create_dir_all(&schemas).unwrap();
    for (file, text) in [
        ("computed.rb", COMPUTED),
        ("broken.rb", "raise 'no such device'\n"),
        ("ends.rb", "exit! 0\n"),
        ("same.rb", &format!("1 + 1\n{COMPUTED}")),
        ("literal.rb", LITERAL),
    ] {
        std::fs::write(schemas.join(file), text).unwrap();
    }
    let listing = list(&world).await;
    assert_eq!(names(&listing), ["computed", "literal"]);
}
