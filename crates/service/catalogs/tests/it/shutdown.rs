//! The engine stops while compilations wait for others.

use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalogs::{CatalogSettings, InventoryQueries, PuppetdbExports};
use inventory::{Inventory, PuppetDbConfig};
use ruby_workers::{RubyWorkerSettings, RubyWorkers};
use tokio::runtime::Handle;

use crate::fake_puppetdb::{Behaviour, FakePuppetdb};
use crate::world::World;

/// Far below the time that PuppetDB and Ruby have, and far above that of an interruption.
const PROMPT: Duration = Duration::from_secs(10);

/// Compiles `n1`, stops the engine when the compilation waits, and checks that it ends at once.
async fn stop_while_it_waits(world: &World, waits: impl FnOnce() + Send + 'static) {
    let stop = async {
        tokio::task::spawn_blocking(waits).await.unwrap();
        let since = Instant::now();
        world.catalogs.shutdown().await;
        assert!(since.elapsed() < PROMPT, "{:?}", since.elapsed());
    };
    let (compiled, ()) = tokio::join!(world.compile("n1"), stop);
    let error = compiled.unwrap_err().to_string();
    assert_eq!(error, "the server is shutting down");
}

fn settings_with(puppetdb: &FakePuppetdb) -> CatalogSettings {
    let config = PuppetDbConfig::new([puppetdb.url().as_str()], None).unwrap();
    let inventory = Inventory::puppetdb(config);
    let exports = PuppetdbExports::new(inventory.clone(), Handle::current());
    let queries = InventoryQueries::new(inventory, Handle::current());
    CatalogSettings {
        exports: Some(Arc::new(exports)),
        puppetdb_queries: Some(Arc::new(queries)),
        ..CatalogSettings::default()
    }
}

#[tokio::test]
async fn a_silent_puppetdb_does_not_delay_the_end() {
    for manifest in ["puppetdb_query('nodes { }')", "Notify <<| |>>"] {
        let puppetdb = FakePuppetdb::start(Behaviour::Silence);
        let world = World::new(settings_with(&puppetdb)).await;
        world.deploy('1', manifest);
        stop_while_it_waits(&world, move || puppetdb.wait_for_request()).await;
    }
}

/// A request that takes too long is interrupted in the same way, and the reason is told.
#[tokio::test]
async fn a_silent_puppetdb_does_not_outlast_the_time_of_a_compilation() {
    let puppetdb = FakePuppetdb::start(Behaviour::Silence);
    let settings = CatalogSettings {
        time_max: Duration::from_millis(300),
        ..settings_with(&puppetdb)
    };
    let world = World::new(settings).await;
    world.deploy('1', "Notify <<| |>>");
    let since = Instant::now();
    let error = world.compile("n1").await.unwrap_err().to_string();
    assert!(error.contains("took longer than 0.3 s"), "{error}");
    assert!(since.elapsed() < PROMPT);
}

/// Workers, if Ruby and Puppet are installed.
fn ruby() -> Option<RubyWorkers> {
    let settings = RubyWorkerSettings::default();
    if !settings.ruby.exists() || !Path::new("/usr/bin/puppet").exists() {
        eprintln!("skipped: needs the packages ruby and puppet");
        return None;
    }
    Some(RubyWorkers::new(settings))
}

#[tokio::test]
async fn endless_ruby_code_does_not_delay_the_end() {
    let Some(ruby) = ruby() else { return };
    let settings = CatalogSettings {
        ruby: Some(ruby),
        ..CatalogSettings::default()
    };
    let world = World::new(settings).await;
    let version = world.deploy('1', "site::endless()");
    let functions = version.join("modules/site/lib/puppet/functions/site");
    std::fs::create_dir_all(&functions).unwrap();
    let socket = world.root.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let function = format!(
        "Puppet::Functions.create_function(:'site::endless') do
           def endless
             require 'socket'
             UNIXSocket.new('{}').write('runs')
             loop {{}}
           end
         end",
        socket.display()
    );
    std::fs::write(functions.join("endless.rb"), function).unwrap();
    let runs = move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.read_exact(&mut [0; 4]).unwrap();
    };
    stop_while_it_waits(&world, runs).await;
}
