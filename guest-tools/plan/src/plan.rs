//! The plan: tasks by number, over whatever keeps values by key.

use crate::task::{self, PARTS, Part, Status, Task};

/// More is no plan that anybody reads.
const MAX_TASKS: usize = 500;

/// What keeps values by key.
pub trait Keep {
    /// The values of several keys in their order.
    fn get(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, String>;
    /// Sets all of these or, on an error, none.
    fn set(&self, values: Vec<(String, Vec<u8>)>) -> Result<(), String>;
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

/// The key of one part of a task. Each part has its own, so that two calls at the same time that change two parts of one task
/// both count.
fn key(id: u32, part: Part) -> String {
    format!("task {id} {}", part.word())
}

/// The number of the task whose title that key has. A task is there if it has a title.
fn id_of(key: &str) -> Option<u32> {
    key.strip_prefix("task ")?.strip_suffix(Part::Title.word())?.trim_end().parse().ok()
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
        let task = Task { id, title, status: Status::Pending, details };
        self.keep.set(PARTS.map(|part| (key(id, part), task.part(part).into_bytes())).to_vec())?;
        Ok(task)
    }

    /// The task of that number.
    pub fn get(&self, id: u32) -> Result<Task, String> {
        match self.tasks(&[id])?.pop() {
            Some(task) => Ok(task),
            None => Err(self.missing(id)?),
        }
    }

    /// The tasks in the order of their numbers, without their details.
    pub fn list(&self, status: Option<Status>) -> Result<Vec<Task>, String> {
        let mut tasks = self.tasks(&self.ids()?)?;
        tasks.retain(|task| status.is_none_or(|status| status == task.status));
        Ok(tasks.into_iter().map(|task| Task { details: None, ..task }).collect())
    }

    /// Changes a task, and of it only what `change` has.
    pub fn update(&self, id: u32, change: &Change) -> Result<Task, String> {
        self.get(id)?;
        let mut changed = Vec::new();
        if let Some(status) = change.status {
            changed.push((Part::Status, status.word().to_owned()));
        }
        if let Some(title) = &change.title {
            changed.push((Part::Title, task::title(title)?));
        }
        if let Some(details) = &change.details {
            changed.push((Part::Details, task::details(details)?.unwrap_or_default()));
        }
        if !changed.is_empty() {
            let values = changed.into_iter().map(|(part, text)| (key(id, part), text.into_bytes()));
            self.keep.set(values.collect())?;
        }
        self.get(id)
    }

    /// Those of the tasks that are there.
    fn tasks(&self, ids: &[u32]) -> Result<Vec<Task>, String> {
        let keys = ids.iter().flat_map(|id| PARTS.map(|part| key(*id, part))).collect();
        let values = self.keep.get(keys)?;
        let read = |(id, parts): (&u32, &[Option<Vec<u8>>])| {
            let unreadable = || format!("task {id} is kept in a form that cannot be read");
            let [title, status, details] = parts else { return Some(Err(unreadable())) };
            let title = title.as_ref()?;
            Some(Task::of(*id, title, status.as_deref(), details.as_deref()).ok_or_else(unreadable))
        };
        ids.iter().zip(values.chunks(PARTS.len())).filter_map(read).collect()
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
        fn get(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, String> {
            Ok(keys.iter().map(|key| self.0.borrow().get(key).cloned()).collect())
        }

        fn set(&self, values: Vec<(String, Vec<u8>)>) -> Result<(), String> {
            self.0.borrow_mut().extend(values);
            Ok(())
        }

        fn keys(&self) -> Result<Vec<String>, String> {
            Ok(self.0.borrow().keys().cloned().collect())
        }

        fn next(&self, key: &str) -> Result<u64, String> {
            let last = self.0.borrow().get(key).map_or(0, |value| value.len() as u64);
            self.0.borrow_mut().entry(key.to_owned()).or_default().push(b'|');
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
    fn two_changes_of_one_task_at_the_same_time_both_count() {
        /// Changes the status where another call reads, as one that runs at the same time.
        struct Meddling(Memory);

        impl Keep for Meddling {
            fn get(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, String> {
                let read = self.0.get(keys);
                self.0.set(vec![(key(1, Part::Status), b"done".to_vec())])?;
                read
            }

            fn set(&self, values: Vec<(String, Vec<u8>)>) -> Result<(), String> {
                self.0.set(values)
            }

            fn keys(&self) -> Result<Vec<String>, String> {
                self.0.keys()
            }

            fn next(&self, key: &str) -> Result<u64, String> {
                self.0.next(key)
            }
        }

        let plan = Plan::new(Meddling(Memory::default()));
        plan.create("a", None).unwrap();
        let change = Change { details: Some("see a.rs".to_owned()), ..Change::default() };
        let changed = plan.update(1, &change).unwrap();
        assert_eq!((changed.status, changed.details.as_deref()), (Status::Done, Some("see a.rs")));
    }

    #[test]
    fn a_task_that_another_program_left_half_is_told() {
        let keep = Memory::default();
        keep.set(vec![(key(3, Part::Title), b"a".to_vec())]).unwrap();
        assert_eq!(Plan::new(keep).get(3).unwrap_err(), "task 3 is kept in a form that cannot be read");
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
