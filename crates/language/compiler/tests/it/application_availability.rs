//! The shipped types that check services, in the catalogs of the nodes of applications.

use serde_json::{Value as Json, json};

use crate::application_world::{World, references, resource};

/// A file of the shipped module `availability`.
macro_rules! shipped {
    ($path:literal) => {
        (
            concat!("availability/lib/puppet/", $path),
            include_str!(concat!(
                "../../../../../modules/availability/lib/puppet/",
                $path
            )),
        )
    };
}

const AVAILABILITY: [(&str, &str); 6] = [
    shipped!("type/tcp_service.rb"),
    shipped!("type/http_service.rb"),
    shipped!("type/postgres_service.rb"),
    shipped!("provider/tcp_service/tcp.rb"),
    shipped!("provider/http_service/http.rb"),
    shipped!("provider/postgres_service/postgres.rb"),
];

/// A data capability, a database, two web services and a balancer.
const SHOP: &str = "
capability release(String $version) { }
define db(Sensitive[String] $password, $database = 'shop') { notify { \"db ${name}\": } }
Db produces Postgres_service { host => $trusted['certname'], user => 'app', timeout => 5 }
Db produces Release { version => '1' }
define web(Sensitive[String] $password, $db_host, $version) { notify { \"${db_host} ${version}\": } }
Web consumes Postgres_service { db_host => $host }
Web consumes Release { }
Web produces Http_service { host => $trusted['certname'], ssl => true, status_codes => [200, 401] }
define lb() { notify { \"lb ${name}\": } }
Lb produces Tcp_service { host => $trusted['certname'], port => 80 }
application shop(Sensitive[String] $password) {
  db { $name: password => $password, export => [Postgres_service[$name], Release[$name]] }
  web { $name: consume => [Postgres_service[$name], Release[$name]], export => Http_service[$name] }
  lb { $name: require => Http_service[$name], export => Tcp_service[$name] }
}
site {
  shop { 's': password => Sensitive('secret'), nodes => { NODES } }
}
";

const ONE_EACH: &str = "Node['db'] => Db['s'], Node['web'] => Web['s'], Node['lb'] => Lb['s']";

fn shop(nodes: &str) -> World {
    World::new(&SHOP.replace("NODES", nodes), &AVAILABILITY)
}

fn tags(resource: &Json) -> Vec<&str> {
    let tags = resource["tags"].as_array().expect("tags");
    tags.iter().filter_map(Json::as_str).collect()
}

#[test]
fn services_are_checked_before_their_consumers_and_data_are_left_out() {
    let world = shop(ONE_EACH);
    world.graph().expect("a graph");
    world.catalog("db").expect("a catalog");
    let web = world.catalog("web").expect("a catalog");
    let check = resource(&web, "Postgres_service[s]").expect("the capability");
    let parameters = &check["parameters"];
    assert_eq!(parameters["host"], "db");
    assert_eq!(parameters["user"], "app");
    assert_eq!(parameters["database"], "shop");
    assert_eq!(parameters["timeout"], 5);
    assert_eq!(parameters.get("require"), None, "{check}");
    assert!(!tags(check).iter().any(|it| it.starts_with("producer:")));
    let component = resource(&web, "Web[s]").expect("the component");
    assert_eq!(
        component["parameters"]["require"],
        json!("Postgres_service[s]")
    );
    assert_eq!(component["parameters"].get("consume"), None);
    assert_eq!(resource(&web, "Release[s]"), None);
    assert!(resource(&web, "Notify[db 1]").is_some(), "{web}");

    let lb = world.catalog("lb").expect("a catalog");
    let check = resource(&lb, "Http_service[s]").expect("the capability");
    assert_eq!(
        check["parameters"],
        json!({ "host": "web", "ssl": true, "status_codes": [200, 401] })
    );
    let component = resource(&lb, "Lb[s]").expect("the component");
    assert_eq!(component["parameters"]["require"], json!("Http_service[s]"));
}

#[test]
fn producers_have_the_tag_that_ends_the_check() {
    let world = shop(ONE_EACH);
    let db = world.catalog("db").expect("a catalog");
    let check = resource(&db, "Postgres_service[s]").expect("the capability");
    assert!(tags(check).contains(&"producer:production"), "{check}");
    assert_eq!(check["parameters"]["require"], json!(["Db[s]"]));
    assert_eq!(resource(&db, "Release[s]"), None);
    assert_eq!(resource(&db, "Http_service[s]"), None);
}

#[test]
fn passwords_of_databases_stay_sensitive() {
    let world = shop(ONE_EACH);
    world.catalog("db").expect("a catalog");
    let web = world.catalog("web").expect("a catalog");
    let check = resource(&web, "Postgres_service[s]").expect("the capability");
    assert_eq!(check["parameters"]["password"], "secret");
    assert_eq!(check["sensitive_parameters"], json!(["password"]));
}

#[test]
fn one_node_with_all_components_has_them_in_order() {
    let world = shop("Node['a'] => [Db['s'], Web['s'], Lb['s']]");
    let catalog = world.catalog("a").expect("a catalog");
    let require = |reference: &str| {
        let found = resource(&catalog, reference).expect("a resource");
        found["parameters"]["require"].clone()
    };
    assert_eq!(require("Postgres_service[s]"), json!(["Db[s]"]));
    // the producer stands for the capability without a provider
    assert_eq!(require("Web[s]"), json!(["Postgres_service[s]", "Db[s]"]));
    assert_eq!(require("Http_service[s]"), json!(["Web[s]"]));
    assert_eq!(require("Lb[s]"), json!("Http_service[s]"));
    assert!(references(&catalog).contains(&"Tcp_service[s]".to_owned()));
}
