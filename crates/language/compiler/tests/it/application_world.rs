//! Environments with applications: a site manifest, and modules in memory. Main type: [`World`].

use std::sync::Arc;

use compiler::{
    ApplicationGraph, ApplicationGraphRequest, CompileRequest, CompilerEnvironment, DocumentForm,
};
use pcore::{Hash, Value};
use serde_json::Value as Json;

use crate::memory_capabilities::MemoryCapabilities;
use crate::world;

/// The Ruby type `Sql`, with parameters only, as Puppet 4 to 6 had it.
pub(crate) const SQL: (&str, &str) = (
    "lamp/lib/puppet/type/sql.rb",
    "Puppet::Type.newtype :sql, :is_capability => true do
  newparam :name, :namevar => true
  newparam :host
  newparam :port
  newparam :user
  newparam :password
end
",
);

/// A type with a provider, whose resources an agent can test.
pub(crate) const HTTP: [(&str, &str); 2] = [
    (
        "lamp/lib/puppet/type/http.rb",
        "Puppet::Type.newtype(:http, is_capability: true) do
  ensurable
  newparam(:name, namevar: true)
  newparam(:ip)
  newparam(:port)
end
",
    ),
    (
        "lamp/lib/puppet/provider/http/tcp.rb",
        "Puppet::Type.type(:http).provide(:tcp) do
  def exists?; true; end
end
",
    ),
];

/// The seed's application: a database and its web servers.
pub(crate) const LAMP: [(&str, &str); 3] = [
    (
        "lamp/manifests/init.pp",
        "application lamp(String $db_password, Integer $web_count = 1) {
  lamp::mysql { $name: db_password => $db_password, export => Sql[$name] }
  Integer[1, $web_count].each |$n| {
    lamp::webapp { \"${name}-${n}\": consume => Sql[$name] }
  }
}
",
    ),
    (
        "lamp/manifests/mysql.pp",
        "define lamp::mysql(String $db_password, String $db_user = 'lamp', Integer $port = 3306) {
  notify { \"mysql ${name}\": }
}
Lamp::Mysql produces Sql {
  host     => $trusted['certname'],
  user     => $db_user,
  password => $db_password,
}
",
    ),
    (
        "lamp/manifests/webapp.pp",
        "define lamp::webapp(String $db_host, String $db_user, String $db_password, Integer $port = 80) {
  notify { \"web ${name}\": message => \"${db_user}@${db_host}:${port}\" }
}
Lamp::Webapp consumes Sql {
  db_host     => $host,
  db_user     => $user,
  db_password => $password,
  port        => undef,
}
",
    ),
];

/// The seed's site: two applications over four nodes.
pub(crate) const SITE: &str = "site {
  ['app2', 'app1'].each |$app| {
    lamp { $app:
      db_password => 'secret',
      web_count   => 3,
      nodes       => {
        Node['dev1.example.net'] => Lamp::Mysql[$app],
        Node['dev2.example.net'] => Lamp::Webapp[\"${app}-1\"],
        Node['dev3.example.net'] => Lamp::Webapp[\"${app}-2\"],
        Node['dev4.example.net'] => [Lamp::Webapp[\"${app}-3\"]],
      },
    }
  }
}
";

/// An environment with applications, and the capabilities that its nodes produced.
pub(crate) struct World {
    pub(crate) environment: CompilerEnvironment,
    pub(crate) capabilities: Arc<MemoryCapabilities>,
}

impl World {
    /// An environment with this site manifest, and files of modules by `MODULE/PATH`.
    pub(crate) fn new(manifest: &str, files: &[(&str, &str)]) -> Self {
        Self {
            environment: world::with_applications(manifest, files),
            capabilities: Arc::default(),
        }
    }

    /// The seed's environment.
    pub(crate) fn lamp() -> Self {
        let mut files = LAMP.to_vec();
        files.push(SQL);
        Self::new(SITE, &files)
    }

    pub(crate) fn graph(&self) -> Result<ApplicationGraph, String> {
        let request = ApplicationGraphRequest::default();
        let graph = compiler::application_graph(&self.environment, &request);
        graph.map_err(|error| error.to_string())
    }

    /// The request for the catalog of a node, as an agent of Puppet 8 makes it.
    pub(crate) fn request(&self, certname: &str) -> CompileRequest {
        let facts = [("puppetversion", "8.10.0"), ("fqdn", certname)];
        let facts: Hash = facts.into_iter().collect();
        CompileRequest {
            certname: certname.to_owned(),
            facts,
            trusted: [("certname", certname)].into_iter().collect(),
            capabilities: Some(Arc::clone(&self.capabilities) as _),
            ..CompileRequest::default()
        }
    }

    /// Compiles the catalog of a node, and keeps what it produces.
    pub(crate) fn catalog(&self, certname: &str) -> Result<Json, String> {
        self.compile(&self.request(certname))
    }

    pub(crate) fn compile(&self, request: &CompileRequest) -> Result<Json, String> {
        let compiled = compiler::compile(&self.environment, request);
        let compiled = compiled.map_err(|error| error.to_string())?;
        let code_id = request.code_id.as_deref();
        let place = (self.environment.name(), request.certname.as_str());
        self.capabilities
            .replace(place, code_id, compiled.capabilities);
        let document = compiled.document.to_json(DocumentForm::Rich);
        document.map_err(|error| error.to_string())
    }
}

/// The resource of a catalog with this reference.
pub(crate) fn resource<'c>(catalog: &'c Json, reference: &str) -> Option<&'c Json> {
    let resources = catalog["resources"].as_array().expect("resources");
    resources.iter().find(|it| {
        let text = |key: &str| it[key].as_str().unwrap_or_default().to_owned();
        format!("{}[{}]", text("type"), text("title")) == reference
    })
}

/// References of the resources besides those that every catalog has.
pub(crate) fn references(catalog: &Json) -> Vec<String> {
    let resources = catalog["resources"].as_array().expect("resources");
    resources
        .iter()
        .map(|it| {
            let text = |key: &str| it[key].as_str().unwrap_or_default().to_owned();
            format!("{}[{}]", text("type"), text("title"))
        })
        .filter(|it| {
            !matches!(
                it.as_str(),
                "Stage[main]" | "Class[Settings]" | "Class[main]"
            )
        })
        .collect()
}

/// A hash of attributes for a capability.
pub(crate) fn attributes(pairs: &[(&str, Value)]) -> Hash {
    pairs
        .iter()
        .map(|(name, value)| (*name, value.clone()))
        .collect()
}
