//! A real puppetserver that compiles the installation's code. Main type: [`Puppetserver`].
//!
//! It has no CA of its own: its certificate comes from the installation's CA, as on a compiler.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::process::Pid;

use super::debian_root::DebianRoot;
use super::jvm;
use crate::client::http_client;
use crate::installation::{Installation, free_port};
use crate::service::Service;

/// Path of the program in Debian's package.
const JAR: &str = "/usr/share/puppetserver/puppetserver.jar";
const SHIPPED: &str = "/etc/puppet/puppetserver";
const HEAP_MIB: u32 = 768;
/// Heap for a measurement, the default of Puppet's packages.
const TUNED_HEAP_MIB: u32 = 2048;

/// Path of the Java runtime among the packages of Debian 13.
const JAVA_OF_DEBIAN13: &str = "/usr/lib/jvm/default-java/bin/java";

/// The Debian release of a puppetserver's packages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PuppetserverRelease {
    /// The package that is installed on this machine: puppetserver 7.9.5 on Debian 12.
    #[default]
    Installed,
    /// puppetserver 8.7 of Debian 13 with its own Java, which is unpacked and not installed.
    /// Its packages include no shell for the commands of [`Versioned`] and of a classifier.
    Debian13,
}

/// Settings of a puppetserver.
#[derive(Clone, Debug, Default)]
pub struct PuppetserverOptions {
    /// The program to run.
    pub release: PuppetserverRelease,
    /// `https://…` of a PuppetDB for facts, catalogs and reports.
    pub puppetdb: Option<String>,
    /// An external node classifier, which is run for each node's classes and environment.
    pub external_nodes: Option<PathBuf>,
    /// The commands for versioned code; `None` if the code has no versions.
    pub versioned: Option<Versioned>,
    /// True to run it as in production, for a measurement: with environments in memory, two JRuby instances, and
    /// both compilers of the JVM. Otherwise it is as light as tests need.
    pub is_tuned: bool,
    /// Certnames that may ask for the catalogs of all nodes, and for the classes of environments.
    pub catalog_certnames: Vec<String>,
    /// True if it learns its clients from the headers `X-Client-*`, as behind a proxy.
    pub trusts_headers: bool,
}

/// Commands for versioned code, and the clients that switch versions.
#[derive(Clone, Debug)]
pub struct Versioned {
    /// The command that prints code ids.
    pub code_id: PathBuf,
    /// The command that prints the content of files.
    pub code_content: PathBuf,
    /// Certnames that may flush the environment cache.
    pub certnames: Vec<String>,
}

/// Number of JRuby instances: two, so that one compilation continues while another begins, and for a measurement one
/// for each core.
const INSTANCES_VERSIONED: u8 = 2;
const TUNED_INSTANCES: u8 = 2;

/// A puppetserver, which may be stopped.
#[derive(Debug)]
pub struct Puppetserver {
    service: Option<Service>,
    home: PathBuf,
    port: u16,
    /// The command that starts its Java runtime.
    java: Vec<OsString>,
    /// The directory of its package's configuration.
    shipped: PathBuf,
    is_tuned: bool,
}

// === impl PuppetserverRelease ===

impl PuppetserverRelease {
    /// The reason for which this machine cannot run it; `None` if it can.
    pub fn obstacle(self) -> Option<String> {
        match self {
            Self::Installed => None,
            Self::Debian13 => DebianRoot::obstacle(),
        }
    }

    /// True if the packages of the release are on this machine.
    pub fn is_unpacked(self) -> bool {
        match self {
            Self::Installed => Path::new(JAR).exists(),
            Self::Debian13 => DebianRoot::puppetserver8().is_ok(),
        }
    }

    /// The command that starts the Java runtime with access to `directory`, and the directory of
    /// the package's configuration.
    fn program(self, directory: &Path) -> Result<(Vec<OsString>, PathBuf)> {
        match self {
            Self::Installed => Ok((vec![jvm::INSTALLED.into()], SHIPPED.into())),
            Self::Debian13 => {
                let root = DebianRoot::puppetserver8()?;
                let java = root.command(directory, JAVA_OF_DEBIAN13);
                Ok((java, root.host_path(SHIPPED)))
            }
        }
    }
}

// === impl Puppetserver ===

impl Puppetserver {
    /// Starts a puppetserver with the certificate `puppet.test`.
    pub async fn start(installation: &Installation, options: &PuppetserverOptions) -> Result<Self> {
        let mut server = Self::new(installation, options)?;
        server.resume().await?;
        Ok(server)
    }

    /// Creates a puppetserver without starting it.
    pub fn new(installation: &Installation, options: &PuppetserverOptions) -> Result<Self> {
        let home = installation.root().join("puppetserver");
        let (java, shipped) = options.release.program(installation.root())?;
        let server = Self {
            service: None,
            home,
            port: free_port()?,
            java,
            shipped,
            is_tuned: options.is_tuned,
        };
        server.lay_out(installation, options)?;
        Ok(server)
    }

    /// Its process id; `None` while it is stopped.
    pub fn pid(&self) -> Option<Pid> {
        self.service.as_ref().map(Service::pid)
    }

    /// The port on localhost.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The version that it reports, such as `8.7.0`.
    pub async fn version(&self) -> Result<String> {
        let url = format!("https://localhost:{}/status/v1/services", self.port);
        let response = http_client(&self.home.join("ssl/certs/ca.pem"))?
            .get(url)
            .send()
            .await?;
        let services: serde_json::Value = response.error_for_status()?.json().await?;
        let version = services["server"]["service_version"].as_str();
        version.map(str::to_owned).context("no version")
    }

    /// The content of its log.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(self.home.join("log")).unwrap_or_default()
    }

    /// Kills it and waits for its end.
    pub async fn stop(&mut self) -> Result<()> {
        match self.service.take() {
            Some(service) => service.kill().await,
            None => Ok(()),
        }
    }

    /// Starts it, also after [`Self::stop`].
    pub async fn resume(&mut self) -> Result<()> {
        let restart = self.home.join("restart");
        let mut arguments = match self.is_tuned {
            true => jvm::tuned_options(TUNED_HEAP_MIB),
            false => jvm::options(HEAP_MIB),
        };
        arguments.extend(
            [
                "-Djruby.logger.class=com.puppetlabs.jruby_utils.jruby.Slf4jLogger",
                "-Djruby.lib=/usr/share/jruby/lib",
                "-jar",
                JAR,
                "--config",
            ]
            .map(Into::into),
        );
        arguments.push(self.home.join("conf.d").into_os_string());
        arguments.push("--bootstrap-config".into());
        arguments.push(self.home.join("services.d").into_os_string());
        arguments.push("--restart-file".into());
        arguments.push(restart.clone().into_os_string());
        let log = self.home.join("log");
        self.service =
            Some(jvm::start("puppetserver", &self.java, arguments, &restart, &log).await?);
        Ok(())
    }

    fn lay_out(&self, installation: &Installation, options: &PuppetserverOptions) -> Result<()> {
        for directory in ["conf.d", "services.d", "puppet", "var", "run", "logs"] {
            std::fs::create_dir_all(self.home.join(directory))?;
        }
        installation.ssl_dir("puppet.test", &self.home.join("ssl"))?;
        self.services(options)?;
        self.settings(installation, options)?;
        self.puppet_conf(installation, options)
    }

    /// Configures the services of the package without the CA.
    fn services(&self, options: &PuppetserverOptions) -> Result<()> {
        let shipped = &self.shipped;
        let (conf, services) = (self.home.join("conf.d"), self.home.join("services.d"));
        let mut rules = std::fs::read_to_string(shipped.join("conf.d/auth.conf"))
            .context("puppetserver is not installed")?;
        if let Some(versioned) = &options.versioned {
            let rule = format!(
                "rules: [\n{{ match-request: {{ path: \"/puppet-admin-api/v1/environment-cache\", type: \
                 path, method: delete }}, allow: {:?}, sort-order: 500, name: \"flush\" }},",
                versioned.certnames
            );
            rules = rules.replacen("rules: [", &rule, 1);
        }
        if !options.catalog_certnames.is_empty() {
            let rule = format!(
                "rules: [\n{{ match-request: {{ path: \"^/puppet/v3/(catalog/|environment_)\", type: regex, method: \
                 [get, post] }}, allow: {:?}, sort-order: 400, name: \"catalogs of all nodes\" }},",
                options.catalog_certnames
            );
            rules = rules.replacen("rules: [", &rule, 1);
        }
        if options.trusts_headers {
            let version = "version: 1\n    allow-header-cert-info: true";
            rules = rules.replacen("version: 1", version, 1);
        }
        std::fs::write(conf.join("auth.conf"), rules)?;
        std::fs::copy(
            shipped.join("services.d/bootstrap.cfg"),
            services.join("bootstrap.cfg"),
        )?;
        let ca = "puppetlabs.services.ca.certificate-authority-disabled-service/\
                  certificate-authority-disabled-service\n";
        std::fs::write(services.join("ca.cfg"), ca)?;
        let routes = std::fs::read_to_string(shipped.join("conf.d/web-routes.conf"))?;
        let without_ca: Vec<_> = routes
            .lines()
            .filter(|line| !line.contains("certificate-authority"))
            .collect();
        std::fs::write(conf.join("web-routes.conf"), without_ca.join("\n"))?;
        Ok(())
    }

    fn settings(&self, installation: &Installation, options: &PuppetserverOptions) -> Result<()> {
        let (instances, commands) = match &options.versioned {
            Some(versioned) => (
                INSTANCES_VERSIONED,
                format!(
                    "versioned-code: {{ code-id-command: {:?}, code-content-command: {:?} }}\n",
                    versioned.code_id, versioned.code_content
                ),
            ),
            None if options.is_tuned => (TUNED_INSTANCES, String::new()),
            None => (1, String::new()),
        };
        let home = self.home.display();
        let ssl = format!("{home}/ssl");
        let settings = format!(
            "global: {{ logging-config: {logging:?} }}\n\
             product: {{ check-for-updates: false }}\n\
             jruby-puppet: {{\n  ruby-load-path: [/usr/lib/puppetserver/ruby/vendor_ruby]\n  \
             gem-home: \"{home}/var/jruby-gems\"\n  gem-path: [\"{home}/var/jruby-gems\", \
             \"/usr/lib/puppetserver/vendored-jruby-gems\"]\n  server-conf-dir: \
             \"{home}/puppet\"\n  server-code-dir: {code:?}\n  server-var-dir: \"{home}/var\"\n  \
             server-run-dir: \"{home}/run\"\n  server-log-dir: \"{home}/logs\"\n  \
             max-active-instances: {instances}\n}}\nhttp-client: {{}}\nprofiler: {{}}\n\
             metrics: {{ server-id: localhost }}\n\
             webserver: {{ client-auth: want, ssl-host: 127.0.0.1, ssl-port: {port}, ssl-cert: \
             \"{ssl}/certs/puppet.test.pem\", ssl-key: \"{ssl}/private_keys/puppet.test.pem\", \
             ssl-ca-cert: \"{ssl}/certs/ca.pem\", ssl-crl-path: \"{ssl}/crl.pem\" }}\n{commands}",
            logging = jvm::logging(&self.home)?,
            code = installation.code_dir(),
            port = self.port,
        );
        std::fs::write(self.home.join("conf.d/settings.conf"), settings)?;
        Ok(())
    }

    fn puppet_conf(
        &self,
        installation: &Installation,
        options: &PuppetserverOptions,
    ) -> Result<()> {
        let puppet = self.home.join("puppet");
        let timeout = match options.versioned {
            Some(_) => "unlimited\nversioned_environment_dirs = true",
            None if options.is_tuned => "unlimited",
            None => "0",
        };
        // Without the machine's own modules, whose facts every agent would fetch and run; those of
        // `apt` take seconds.
        let mut text = format!(
            "[main]\ncertname = puppet.test\nssldir = {home}/ssl\nvardir = {home}/var\ncodedir = \
             {code}\nbasemodulepath = {code}/modules\n\n[server]\nenvironment_timeout = {timeout}\n",
            home = self.home.display(),
            code = installation.code_dir().display(),
        );
        if let Some(url) = &options.puppetdb {
            text.push_str(
                "storeconfigs = true\nstoreconfigs_backend = puppetdb\nreports = puppetdb\n",
            );
            // The setting with which runs continue while PuppetDB is down.
            let settings = format!("[main]\nserver_urls = {url}\nsoft_write_failure = true\n");
            std::fs::write(puppet.join("puppetdb.conf"), settings)?;
            let routes = "server:\n  facts:\n    terminus: puppetdb\n    cache: yaml\n";
            std::fs::write(puppet.join("routes.yaml"), routes)?;
        }
        if let Some(program) = &options.external_nodes {
            let program = program.display();
            text += "node_terminus = exec\nexternal_nodes = ";
            text += &program.to_string();
            text.push('\n');
        }
        std::fs::write(puppet.join("puppet.conf"), text)?;
        Ok(())
    }
}
