//! Survey of a PostgreSQL database that a server may be using.

use tokio_postgres::Client;
use tokio_util::task::AbortOnDropHandle;

use super::connect::engine_error;
use super::connector::PostgresConnector;
use super::session::await_answer_within;
use super::{PostgresReader, holder};
use crate::OpenStoreError;
use crate::database_survey::{ConnectionEncryption, DatabaseSurvey, SchemaState};
use crate::defaults::POSTGRES_OPEN;
use crate::migrations;

/// Version, encryption of this session, address of its peer, and the time in milliseconds.
const SESSION: &str = "SELECT current_setting('server_version'), s.ssl, s.version, \
     inet_server_addr() IS NOT NULL, (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
     FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()";
const HAS_SCHEMA: &str = "SELECT to_regclass('schema_migrations') IS NOT NULL";

impl PostgresReader {
    /// Surveys the database of a URL in one session, which ends before this returns.
    pub(crate) async fn survey(url: &str) -> Result<DatabaseSurvey, OpenStoreError> {
        let connector = PostgresConnector::from_url(url)?;
        let place = connector.describe_database();
        let connecting = Box::pin(connector.config.connect(connector.tls.clone()));
        let (client, connection) = await_answer_within(POSTGRES_OPEN, connecting)
            .await
            .map_err(|error| engine_error(&place, error))?;
        let _connection = AbortOnDropHandle::new(tokio::spawn(async move {
            // The session ends here.
            drop(connection.await);
        }));
        let facts = await_answer_within(POSTGRES_OPEN, Box::pin(read_facts(&client, &place)));
        facts.await.map_err(|error| engine_error(&place, error))
    }
}

async fn read_facts(client: &Client, place: &str) -> Result<DatabaseSurvey, tokio_postgres::Error> {
    let row = client.query_one(SESSION, &[]).await?;
    let (version, is_encrypted): (String, bool) = (row.try_get(0)?, row.try_get(1)?);
    let tls: Option<String> = row.try_get(2)?;
    let is_over_network: bool = row.try_get(3)?;
    let encryption = match (is_encrypted, is_over_network) {
        (true, _) => Some(ConnectionEncryption::Encrypted(tls.unwrap_or_default())),
        (false, true) => Some(ConnectionEncryption::Clear),
        (false, false) => None,
    };
    let has_schema: bool = client.query_one(HAS_SCHEMA, &[]).await?.try_get(0)?;
    let schema = match has_schema {
        false => SchemaState::Empty,
        true => {
            let rows = client.query(migrations::APPLIED, &[]).await?;
            let applied: Result<Vec<_>, _> = rows
                .iter()
                .map(|row| Ok::<_, tokio_postgres::Error>((row.try_get(0)?, row.try_get(1)?)))
                .collect();
            SchemaState::of(migrations::POSTGRES, &applied?)
        }
    };
    Ok(DatabaseSurvey {
        database: place.to_owned(),
        engine: format!("PostgreSQL {version}"),
        schema,
        encryption,
        holder: holder::describe_holder(client).await?,
        integrity: None,
        clock_ms: Some(row.try_get(4)?),
    })
}
