//! The plan: tasks by number, over whatever keeps values by key.

use crate::task::{self, Status, Task};

/// More is no plan that anybody reads.
const MAX_TASKS: usize = 500;

/// What keeps values by key.
pub trait Keep {
    /// The value of a key.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, String>;
    /// Sets the value of a key.
    fn set(&self, key: &str, value: &[u8]) -> Result<(), String>;
    /// Every key.
    fn keys(&self) -> Result<Vec<String>, String>;
    /// Adds one to a number, from 0, and returns it; no other call gets the same.
    fn next(&self, key: &str) -> Result<u64, String>;
}

/// What is to be changed of a task.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// How far it has come.
    pub status: Option<Status>,
    /// Another title.
    pub title: Option<String>,
    /// Other details; empty for none.
    pub details: Option<String>,
}

/// The tasks that `keep` has.
pub struct Plan<K> {
    keep: K,
}

/// The key of the last number that was given.
const LAST: &str = "last";

fn key(id: u32) -> String {
    format!("task {id}")
}

fn id_of(key: &str) -> Option<u32> {
    key.strip_prefix("task ")?.parse().ok()
}

impl<K: Keep> Plan<K> {
    /// A plan that is kept there.
    pub fn new(keep: K) -> Self {
        Self { keep }
    }

    /// Adds a task.
    pub fn create(&self, title: &str, details: Option<&str>) -> Result<Task, String> {
        let (title, details) = (task::title(title)?, task::details(details.unwrap_or_default())?);
        if self.ids()?.len() >= MAX_TASKS {
            return Err(format!(
                "the plan has {MAX_TASKS} tasks, which is the most it holds; change one that is done instead"
            ));
        }
        let id = self.keep.next(LAST)?;
        let id = u32::try_from(id).map_err(|_| "the plan has no more numbers".to_owned())?;
        self.set(Task { id, title, status: Status::Pending, details })
    }

    /// The task of that number.
    pub fn get(&self, id: u32) -> Result<Task, String> {
        let Some(bytes) = self.keep.get(&key(id))? else { return Err(self.missing(id)?) };
        Task::from_bytes(id, &bytes).ok_or_else(|| format!("task {id} is kept in a form that cannot be read"))
    }

    /// The tasks in the order of their numbers, without their details.
    pub fn list(&self, status: Option<Status>) -> Result<Vec<Task>, String> {
        let mut tasks = Vec::new();
        for id in self.ids()? {
            let task = self.get(id)?;
            if status.is_none_or(|status| status == task.status) {
                tasks.push(Task { details: None, ..task });
            }
        }
        Ok(tasks)
    }

    /// Changes a task.
    pub fn update(&self, id: u32, change: &Change) -> Result<Task, String> {
        let mut task = self.get(id)?;
        if let Some(status) = change.status {
            task.status = status;
        }
        if let Some(title) = &change.title {
            task.title = task::title(title)?;
        }
        if let Some(details) = &change.details {
            task.details = task::details(details)?;
        }
        self.set(task)
    }

    fn set(&self, task: Task) -> Result<Task, String> {
        self.keep.set(&key(task.id), &task.to_bytes())?;
        Ok(task)
    }

    fn ids(&self) -> Result<Vec<u32>, String> {
        let mut ids: Vec<u32> = self.keep.keys()?.iter().filter_map(|key| id_of(key)).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn missing(&self, id: u32) -> Result<String, String> {
        let ids = self.ids()?;
        Ok(match (ids.first(), ids.last()) {
            (Some(first), Some(last)) => {
                format!("there is no task {id}; list_tasks shows those from {first} to {last}")
            }
            _ => format!("there is no task {id}: the plan is empty; create_task adds one"),
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]

    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Default)]
    struct Memory(RefCell<BTreeMap<String, Vec<u8>>>);

    impl Keep for Memory {
        fn get(&self, key: &str) -> Result<Option<Vec<u8>>, String> {
            Ok(self.0.borrow().get(key).cloned())
        }

        fn set(&self, key: &str, value: &[u8]) -> Result<(), String> {
            self.0.borrow_mut().insert(key.to_owned(), value.to_owned());
            Ok(())
        }

        fn keys(&self) -> Result<Vec<String>, String> {
            Ok(self.0.borrow().keys().cloned().collect())
        }

        fn next(&self, key: &str) -> Result<u64, String> {
            let last = self.get(key)?.map_or(0, |value| String::from_utf8(value).unwrap().parse().unwrap());
            self.set(key, (last + 1).to_string().as_bytes())?;
            Ok(last + 1)
        }
    }

    #[test]
    fn tasks_are_listed_in_their_order_and_changed_in_part() {
        let plan = Plan::new(Memory::default());
        assert_eq!(plan.list(None).unwrap(), []);
        assert!(plan.get(1).unwrap_err().contains("the plan is empty"));
        for number in 1..=11 {
            let task = plan.create(&format!("step {number}"), Some("how")).unwrap();
            assert_eq!((task.id, task.status), (number, Status::Pending));
        }
        let ids: Vec<u32> = plan.list(None).unwrap().iter().map(|task| task.id).collect();
        assert_eq!(ids, (1..=11).collect::<Vec<_>>());
        let change = Change { status: Some(Status::Done), ..Change::default() };
        assert_eq!(plan.update(2, &change).unwrap().details.as_deref(), Some("how"));
        let change = Change { details: Some(String::new()), title: Some("new".into()), ..Change::default() };
        let changed = plan.update(2, &change).unwrap();
        assert_eq!((changed.title.as_str(), changed.status, changed.details), ("new", Status::Done, None));
        assert_eq!(plan.list(Some(Status::Done)).unwrap().len(), 1);
        assert_eq!(plan.list(Some(Status::Pending)).unwrap().len(), 10);
        assert!(plan.list(None).unwrap().iter().all(|task| task.details.is_none()));
        assert!(plan.update(99, &change).unwrap_err().contains("from 1 to 11"));
    }

    #[test]
    fn a_plan_has_an_end() {
        let plan = Plan::new(Memory::default());
        for _ in 0..MAX_TASKS {
            plan.create("x", None).unwrap();
        }
        assert!(plan.create("x", None).unwrap_err().contains("500 tasks"));
    }
}
