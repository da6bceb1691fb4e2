//! New catalogs reach the queue of PuppetDB, also if that fails at first.

use serde_json::json;

use crate::site::{NodeState, Site};

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_that_could_not_be_queued_is_queued_with_its_next_use() {
    for ahead in [false, true] {
        let site = Site::start_forwarding().await;
        // files that have just changed outside of the version are read again each time
        tokio::time::sleep(2 * catalogs::defaults::OUTSIDE_FILE_SETTLED).await;
        site.deploy('a', &[("manifests/site.pp", "notify { 'a': }")]);
        let node = NodeState::with_facts(json!({"role": "web"}));
        if ahead {
            node.catalog(&site.agents).await.unwrap();
            site.deploy('b', &[("manifests/site.pp", "notify { 'b': }")]);
            assert_eq!(site.compile_ahead().await.compiled, 1);
        }
        let database = rusqlite::Connection::open(site.path("tutti.db")).unwrap();
        let wait = std::time::Duration::from_secs(30);
        database.busy_timeout(wait).unwrap();
        // The queue itself empties, since there is no PuppetDB.
        let count = "CREATE TABLE queued (command TEXT); \
            CREATE TRIGGER count AFTER INSERT ON puppetdb_commands \
            WHEN NEW.command LIKE '%catalog%' BEGIN INSERT INTO queued VALUES (NEW.command); END";
        database.execute_batch(count).unwrap();
        let queued = || -> i64 {
            let all = "SELECT COUNT(*) FROM queued";
            database.query_row(all, [], |row| row.get(0)).unwrap()
        };
        let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON puppetdb_commands \
            WHEN NEW.command LIKE '%catalog%' BEGIN SELECT RAISE(ABORT, 'no'); END";
        database.execute_batch(refuse).unwrap();
        let first = node.catalog(&site.agents).await.unwrap();
        assert_eq!(first.compile_time.is_some(), !ahead);
        assert_eq!(queued(), 0);
        database.execute_batch("DROP TRIGGER refuse").unwrap();
        let again = node.catalog(&site.agents).await.unwrap();
        assert!(again.compile_time.is_none());
        assert_eq!(queued(), 1);
        node.catalog(&site.agents).await.unwrap();
        assert_eq!(queued(), 1, "once is enough");
        site.close().await;
    }
}
