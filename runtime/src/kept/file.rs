//! Values that outlive their call: one SQLite file for each component, opened by each call that needs it.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior, params,
};

use super::{ENTRY_BYTES, KeepError, Kept, PAGE, size, sum};
use crate::policy::ensure_private;

/// How long the values of a session stay that is not used any more.
const SESSION_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How much later a use is noted again that changes nothing.
const NOTED: Duration = Duration::from_secs(24 * 60 * 60);

/// Sessions of one component that stay, and what they may keep together: beyond either, those go first that were not used for
/// longest. Each session has a bound of its own, but nobody bounds how many there are.
const SESSIONS: Bounds = Bounds { sessions: 4096, bytes: 1 << 30 };

/// How long whoever waits for the file sleeps before it looks again, and up to as much again. The file itself has no queue, and one
/// who changes it without end leaves it only for a moment between two changes, which has to be met: who looks often does. What
/// the database would do by itself, a tenth of a second between two looks in the end, starves.
const LOOK: Duration = Duration::from_micros(500);

/// The version of the tables, in the file's own number for that.
const VERSION: i64 = 1;

/// `id` is the order in which keys came, and what a cursor is; it is never given twice.
const TABLES: &str = "
CREATE TABLE entry (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  scope TEXT NOT NULL, bucket TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
  UNIQUE (scope, bucket, key));
CREATE TABLE scope (name TEXT PRIMARY KEY, bytes INTEGER NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;";

/// What all sessions of a component may keep together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub sessions: i64,
    pub bytes: i64,
}

/// One scope of a component's file.
pub(crate) struct File {
    connection: Connection,
    scope: String,
    bounds: Bounds,
    /// Milliseconds for which others may be waited for.
    patience: Arc<AtomicU64>,
}

impl File {
    pub fn open(path: &Path, scope: &str, patience: Duration) -> Kept<Self> {
        if let Some(folder) = path.parent() {
            // The paths of our own folders are none of the guest's business.
            ensure_private(folder).map_err(|_| failed("its folder is not there for us alone"))?;
        }
        // Made before it is opened, so that it and what is put beside it are for their owner alone. One that is there is never
        // opened here: to close it would end the locks of every other connection that this process has to it.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => drop(made.map_err(|error| KeepError::Failed(error.kind().to_string()))?),
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut connection = Connection::open_with_flags(path, flags).map_err(told)?;
        let patience = Arc::new(AtomicU64::new(millis(patience)));
        connection.busy_handler(Some(waiting(Arc::clone(&patience)))).map_err(told)?;
        // A log beside the file: readers wait for nobody, and what was written when its call returned is on the disk.
        connection.pragma_update(None, "journal_mode", "WAL").map_err(told)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(told)?;
        let mut file = Self { connection, scope: scope.to_owned(), bounds: SESSIONS, patience };
        file.prepare()?;
        file.touch()?;
        Ok(file)
    }

    /// Makes the tables in a new file, and refuses one of another version.
    fn prepare(&mut self) -> Kept<()> {
        let version = |connection: &Connection| {
            connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).map_err(told)
        };
        if version(&self.connection)? == 0 {
            let transaction = self.write()?;
            if version(&transaction)? == 0 {
                transaction.execute_batch(TABLES).map_err(told)?;
            }
            transaction.commit().map_err(told)?;
        }
        match version(&self.connection)? {
            VERSION => Ok(()),
            _ => Err(failed("it was written by another version")),
        }
    }

    /// Notes that the scope is in use, if that was last noted a while ago: whoever only reads uses it too.
    fn touch(&mut self) -> Kept<()> {
        let now = since_1970();
        let sql = "SELECT 1 FROM scope WHERE name = ?1 AND used < ?2";
        let is_old = self
            .connection
            .prepare(sql)
            .and_then(|mut found| found.exists(params![self.scope, seconds(now.saturating_sub(NOTED))]))
            .map_err(told)?;
        if !is_old {
            return Ok(());
        }
        let noted = "UPDATE scope SET used = ?2 WHERE name = ?1";
        match self.connection.execute(noted, params![self.scope, seconds(now)]).map_err(told) {
            // Whoever has the file now is waited for where something is changed; the next call may note it.
            Err(KeepError::Busy) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub fn patience(&self, patience: Duration) {
        self.patience.store(millis(patience), Ordering::Relaxed);
    }

    /// Holds all sessions together to less.
    #[cfg(test)]
    pub fn bounded(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    pub fn get(&self, bucket: &str, key: &str) -> Kept<Option<Vec<u8>>> {
        let sql = "SELECT value FROM entry WHERE scope = ?1 AND bucket = ?2 AND key = ?3";
        let mut value = self.connection.prepare(sql).map_err(told)?;
        value.query_row(params![self.scope, bucket, key], |row| row.get(0)).optional().map_err(told)
    }

    pub fn exists(&self, bucket: &str, key: &str) -> Kept<bool> {
        let sql = "SELECT 1 FROM entry WHERE scope = ?1 AND bucket = ?2 AND key = ?3";
        let mut found = self.connection.prepare(sql).map_err(told)?;
        found.exists(params![self.scope, bucket, key]).map_err(told)
    }

    pub fn keys(&self, bucket: &str, cursor: Option<u64>) -> Kept<(Vec<String>, Option<u64>)> {
        let sql =
            "SELECT id, key FROM entry WHERE scope = ?1 AND bucket = ?2 AND id > ?3 ORDER BY id LIMIT ?4";
        let after = i64::try_from(cursor.unwrap_or(0)).unwrap_or(i64::MAX);
        let most = i64::try_from(PAGE).unwrap_or(i64::MAX).saturating_add(1);
        let mut page = self.connection.prepare(sql).map_err(told)?;
        let rows =
            page.query_map(params![self.scope, bucket, after, most], |row| Ok((row.get(0)?, row.get(1)?)));
        let mut keys: Vec<(i64, String)> = rows.and_then(Iterator::collect).map_err(told)?;
        let more = keys.len() > PAGE;
        keys.truncate(PAGE);
        let last = keys.last().and_then(|(id, _)| u64::try_from(*id).ok()).filter(|_| more);
        Ok((keys.into_iter().map(|(_, key)| key).collect(), last))
    }

    pub fn set(&mut self, bucket: &str, entries: &[(String, Vec<u8>)], room: u64) -> Kept<()> {
        let (scope, bounds) = (self.scope.clone(), self.bounds);
        let transaction = self.write()?;
        Writing { transaction: &transaction, scope: &scope, bounds, bucket }.set(entries, room)?;
        transaction.commit().map_err(told)
    }

    pub fn delete(&mut self, bucket: &str, keys: &[String]) -> Kept<()> {
        let (scope, bounds) = (self.scope.clone(), self.bounds);
        let transaction = self.write()?;
        Writing { transaction: &transaction, scope: &scope, bounds, bucket }.delete(keys)?;
        transaction.commit().map_err(told)
    }

    pub fn increment(&mut self, bucket: &str, key: &str, delta: u64, room: u64) -> Kept<u64> {
        let (scope, bounds) = (self.scope.clone(), self.bounds);
        let transaction = self.write()?;
        let writing = Writing { transaction: &transaction, scope: &scope, bounds, bucket };
        let sum = sum(writing.value(key)?.as_deref(), delta)?;
        writing.set(&[(key.to_owned(), sum.to_string().into_bytes())], room)?;
        transaction.commit().map_err(told)?;
        Ok(sum)
    }

    /// All scopes of the file, by name: values, bytes, and when one was last used, to a day, in seconds since 1970.
    pub fn scopes(&self) -> Kept<Vec<(String, u64, u64, u64)>> {
        let sql = "SELECT name, (SELECT count(*) FROM entry WHERE entry.scope = scope.name), bytes, used FROM scope \
                   ORDER BY name";
        let number = |row: &rusqlite::Row<'_>, index| {
            row.get::<_, i64>(index).map(|number| u64::try_from(number).unwrap_or(0))
        };
        let mut scopes = self.connection.prepare(sql).map_err(told)?;
        let rows = scopes
            .query_map([], |row| Ok((row.get(0)?, number(row, 1)?, number(row, 2)?, number(row, 3)?)))
            .and_then(Iterator::collect);
        rows.map_err(told)
    }

    /// Removes a scope with all of its values.
    pub fn forget(&mut self, scope: &str) -> Kept<()> {
        let transaction = self.write()?;
        forget(&transaction, scope)?;
        transaction.commit().map_err(told)
    }

    /// Removes a scope that may not be there, and waits for nobody then.
    pub fn forget_if_there(&mut self, scope: &str) -> Kept<()> {
        let sql = "SELECT 1 FROM scope WHERE name = ?1";
        let is_there =
            self.connection.prepare(sql).and_then(|mut found| found.exists([scope])).map_err(told)?;
        if is_there { self.forget(scope) } else { Ok(()) }
    }

    /// Gives the disk back what was removed, unless others use the file: then it is used again.
    pub fn shrink(&self) {
        let _ = self.connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);");
    }

    /// Whether all pages of the file can be read and are what they should be.
    pub fn check(&self) -> Kept<()> {
        let sql = "PRAGMA quick_check(1)";
        let checked: String = self.connection.query_row(sql, [], |row| row.get(0)).map_err(told)?;
        if checked == "ok" { Ok(()) } else { Err(failed(DAMAGED)) }
    }

    /// What the database finds out about its own file.
    #[cfg(test)]
    pub fn integrity(&self) -> String {
        let checked = self.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
        checked.unwrap_or_else(|error| error.to_string())
    }

    /// A transaction that is the only writing one from its start: it never has to be begun anew.
    fn write(&mut self) -> Kept<Transaction<'_>> {
        self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)
    }
}

/// Waits a moment, and says whether to look again whether the file is free.
fn waiting(patience: Arc<AtomicU64>) -> impl FnMut(i32) -> bool + Send + 'static {
    let mut began = Instant::now();
    move |looked| {
        if looked == 0 {
            began = Instant::now();
        }
        if millis(began.elapsed()) >= patience.load(Ordering::Relaxed) {
            return false;
        }
        // Not in step with others that wait, or with whoever has it.
        let part = u32::from(began.elapsed().subsec_nanos().to_le_bytes()[0]);
        std::thread::sleep(LOOK.saturating_add(LOOK.saturating_mul(part) / 256));
        true
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Changes that are made together. What is not committed is undone when the transaction is dropped.
struct Writing<'a> {
    transaction: &'a Transaction<'a>,
    scope: &'a str,
    bounds: Bounds,
    bucket: &'a str,
}

impl Writing<'_> {
    fn set(&self, entries: &[(String, Vec<u8>)], room: u64) -> Kept<()> {
        let sql = "INSERT INTO entry (scope, bucket, key, value) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT (scope, bucket, key) DO UPDATE SET value = excluded.value";
        let before = self.bytes()?;
        let mut bytes = before;
        for (key, value) in entries {
            bytes = bytes.saturating_sub(self.size_of(key)?).saturating_add(size(key, value));
            let mut insert = self.transaction.prepare(sql).map_err(told)?;
            insert.execute(params![self.scope, self.bucket, key, value]).map_err(told)?;
        }
        if bytes > room && bytes > before {
            return Err(KeepError::Full { wanted: bytes });
        }
        self.keep_bytes(bytes)
    }

    fn delete(&self, keys: &[String]) -> Kept<()> {
        let sql = "DELETE FROM entry WHERE scope = ?1 AND bucket = ?2 AND key = ?3";
        let mut bytes = self.bytes()?;
        for key in keys {
            bytes = bytes.saturating_sub(self.size_of(key)?);
            let mut delete = self.transaction.prepare(sql).map_err(told)?;
            delete.execute(params![self.scope, self.bucket, key]).map_err(told)?;
        }
        self.keep_bytes(bytes)
    }

    fn value(&self, key: &str) -> Kept<Option<Vec<u8>>> {
        let sql = "SELECT value FROM entry WHERE scope = ?1 AND bucket = ?2 AND key = ?3";
        let mut value = self.transaction.prepare(sql).map_err(told)?;
        value.query_row(params![self.scope, self.bucket, key], |row| row.get(0)).optional().map_err(told)
    }

    /// What the entry of `key` counts now.
    fn size_of(&self, key: &str) -> Kept<u64> {
        let sql = "SELECT length(value) FROM entry WHERE scope = ?1 AND bucket = ?2 AND key = ?3";
        let mut length = self.transaction.prepare(sql).map_err(told)?;
        let length: Option<i64> = length
            .query_row(params![self.scope, self.bucket, key], |row| row.get(0))
            .optional()
            .map_err(told)?;
        let Some(length) = length.and_then(|length| u64::try_from(length).ok()) else { return Ok(0) };
        let key = u64::try_from(key.len()).unwrap_or(u64::MAX);
        Ok(length.saturating_add(key).saturating_add(ENTRY_BYTES))
    }

    fn bytes(&self) -> Kept<u64> {
        let sql = "SELECT bytes FROM scope WHERE name = ?1";
        let mut bytes = self.transaction.prepare(sql).map_err(told)?;
        let bytes: Option<i64> = bytes.query_row([self.scope], |row| row.get(0)).optional().map_err(told)?;
        Ok(bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0))
    }

    /// Notes what the scope counts and that it is in use, and forgets sessions that are not.
    fn keep_bytes(&self, bytes: u64) -> Kept<()> {
        let now = since_1970();
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let sql = "INSERT INTO scope (name, bytes, used) VALUES (?1, ?2, ?3) \
                   ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes, used = excluded.used";
        let mut keep = self.transaction.prepare(sql).map_err(told)?;
        keep.execute(params![self.scope, bytes, seconds(now)]).map_err(told)?;
        let old = seconds(now.saturating_sub(SESSION_AGE));
        let sql = "SELECT name FROM scope WHERE name LIKE 'session %' AND used < ?1 LIMIT 1";
        let mut unused = self.transaction.prepare(sql).map_err(told)?;
        let unused: Option<String> = unused.query_row([old], |row| row.get(0)).optional().map_err(told)?;
        if let Some(name) = unused {
            forget(self.transaction, &name)?;
        }
        self.keep_within_bounds()
    }

    /// Forgets sessions until all that are left are within their bounds, but never the one that is in use.
    fn keep_within_bounds(&self) -> Kept<()> {
        loop {
            let sql = "SELECT count(*), coalesce(sum(bytes), 0) FROM scope WHERE name LIKE 'session %'";
            let mut all = self.transaction.prepare(sql).map_err(told)?;
            let (sessions, bytes): (i64, i64) =
                all.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(told)?;
            if sessions <= self.bounds.sessions && bytes <= self.bounds.bytes {
                return Ok(());
            }
            let sql =
                "SELECT name FROM scope WHERE name LIKE 'session %' AND name <> ?1 ORDER BY used LIMIT 1";
            let mut oldest = self.transaction.prepare(sql).map_err(told)?;
            let oldest: Option<String> =
                oldest.query_row([self.scope], |row| row.get(0)).optional().map_err(told)?;
            let Some(oldest) = oldest else { return Ok(()) };
            forget(self.transaction, &oldest)?;
        }
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn seconds(time: Duration) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}

fn forget(transaction: &Transaction<'_>, scope: &str) -> Kept<()> {
    for sql in ["DELETE FROM entry WHERE scope = ?1", "DELETE FROM scope WHERE name = ?1"] {
        transaction.execute(sql, [scope]).map_err(told)?;
    }
    Ok(())
}

const DAMAGED: &str = "its file is damaged";

/// What the database says, in words without paths or statements.
#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn told(error: rusqlite::Error) -> KeepError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => KeepError::Busy,
        Some(ErrorCode::DiskFull) => failed("the disk is full"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => failed(DAMAGED),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            failed("its file cannot be opened for writing")
        }
        _ => failed("its file cannot be read or written"),
    }
}

fn failed(words: &str) -> KeepError {
    KeepError::Failed(words.to_owned())
}
