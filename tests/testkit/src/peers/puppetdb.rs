//! A real PuppetDB over a private PostgreSQL. Main type: [`PuppetDb`].

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::jvm;
use crate::installation::{Installation, free_port};
use crate::postgres::Postgres;
use crate::service::Service;

/// Path of the program in Debian's package.
const JAR: &str = "/usr/share/puppetdb/puppetdb.jar";
const BOOTSTRAP: &str = "/etc/puppetdb/bootstrap.cfg";
const AUTH: &str = "/etc/puppetdb/conf.d/auth.conf";
const HEAP_MIB: u32 = 256;

/// A PuppetDB with its database; it may be stopped.
#[derive(Debug)]
pub struct PuppetDb {
    service: Option<Service>,
    home: PathBuf,
    port: u16,
    database: Postgres,
}

// === impl PuppetDb ===

impl PuppetDb {
    /// Creates a PuppetDB and starts it.
    pub async fn start(installation: &Installation) -> Result<Self> {
        let mut puppetdb = Self::new(installation)?;
        puppetdb.resume().await?;
        Ok(puppetdb)
    }

    /// Creates a PuppetDB with the certificate `puppetdb.test` of the installation's CA, and an
    /// empty database; [`Self::resume`] starts it.
    pub fn new(installation: &Installation) -> Result<Self> {
        let home = installation.root().join("puppetdb");
        for directory in ["conf.d", "var"] {
            std::fs::create_dir_all(home.join(directory))?;
        }
        let database = Postgres::start_on_tcp()?;
        let port = free_port()?;
        let puppetdb = Self {
            service: None,
            home,
            port,
            database,
        };
        puppetdb.lay_out(installation)?;
        Ok(puppetdb)
    }

    /// The address of the PuppetDB, `https://localhost:PORT`.
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The port on localhost.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops it; the database and its content remain.
    pub async fn stop(&mut self) -> Result<()> {
        match self.service.take() {
            Some(service) => service.kill().await,
            None => Ok(()),
        }
    }

    /// Starts it, also after [`Self::stop`].
    pub async fn resume(&mut self) -> Result<()> {
        let restart = self.home.join("restart");
        let mut arguments = jvm::options(HEAP_MIB);
        let rest = ["-cp", JAR, "clojure.main", "-m", "puppetlabs.puppetdb.core"];
        arguments.extend(rest.map(Into::into));
        arguments.extend(["services".into(), "--config".into()]);
        arguments.push(self.home.join("conf.d").into_os_string());
        arguments.extend(["--bootstrap-config".into(), BOOTSTRAP.into()]);
        arguments.extend(["--restart-file".into(), restart.clone().into_os_string()]);
        let log = self.home.join("log");
        let java = [jvm::INSTALLED.into()];
        self.service = Some(jvm::start("puppetdb", &java, arguments, &restart, &log).await?);
        Ok(())
    }

    fn lay_out(&self, installation: &Installation) -> Result<()> {
        let (cert, key) = installation.certificate("puppetdb.test")?;
        let url = self.database.create_database()?;
        let database = url
            .rsplit('/')
            .next()
            .context("a URL ends in its database")?;
        self.database
            .psql(database, "CREATE EXTENSION IF NOT EXISTS pg_trgm")?;
        let place = self.database.tcp_place().context("it listens on TCP")?;
        let conf = self.home.join("conf.d");
        let text = format!(
            "[global]\nvardir = {home}/var\nlogging-config = {logging}\n\n[puppetdb]\n\
             disable-update-checking = true\n\n[database]\nsubname = //{place}/{database}\n\
             username = tutti\npassword = none\ngc-interval = 0\nmaximum-pool-size = 5\n\n[jetty]\n\
             ssl-host = 127.0.0.1\nssl-port = {port}\nssl-key = {key}\nssl-cert = {cert}\n\
             ssl-ca-cert = {ca}\n\n[nrepl]\nenabled = false\n",
            home = self.home.display(),
            logging = jvm::logging(&self.home)?.display(),
            port = self.port,
            key = key.display(),
            cert = cert.display(),
            ca = installation.ca_dir().join("ca_crt.pem").display(),
        );
        std::fs::write(conf.join("config.ini"), text)?;
        std::fs::copy(AUTH, conf.join("auth.conf")).context("puppetdb is not installed")?;
        Ok(())
    }
}
