//! Variables, their attributes and their scopes.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// What a variable holds.
#[derive(Debug, Clone)]
pub enum Kind {
    Text(String),
    List(BTreeMap<usize, String>),
    Map(BTreeMap<String, String>),
}

#[derive(Debug, Clone, Default)]
pub struct Var {
    pub kind: Option<Kind>,
    pub exported: bool,
    pub readonly: bool,
    pub integer: bool,
    pub lower: bool,
    pub upper: bool,
    /// The name of a variable that this one stands for.
    pub reference: Option<String>,
}

type Scope = HashMap<String, Var>;

/// All variables: those of the script, and those of each function that runs.
#[derive(Clone)]
pub struct Vars {
    scopes: Vec<Rc<Scope>>,
}

impl Default for Vars {
    fn default() -> Self {
        Self { scopes: vec![Rc::default()] }
    }
}

/// References that stand for references; more are a circle.
const REFERENCES: usize = 8;

impl Vars {
    pub fn enter(&mut self) {
        self.scopes.push(Rc::default());
    }

    pub fn leave(&mut self) {
        if self.scopes.len() > 1 {
            self.scopes.pop();
        }
    }

    pub fn is_in_function(&self) -> bool {
        self.scopes.len() > 1
    }

    fn resolve(&self, name: &str) -> String {
        let mut name = name.to_owned();
        for _ in 0..REFERENCES {
            match self
                .scopes
                .iter()
                .rev()
                .find_map(|scope| scope.get(&name))
                .and_then(|var| var.reference.clone())
            {
                Some(target) if target != name => name = target,
                _ => break,
            }
        }
        name
    }

    pub fn find(&self, name: &str) -> Option<&Var> {
        let name = self.resolve(name);
        self.scopes.iter().rev().find_map(|scope| scope.get(&name))
    }

    /// The variable of that name where it is, or a new one of the script.
    pub fn entry(&mut self, name: &str) -> &mut Var {
        let name = self.resolve(name);
        let holder = self.scopes.iter().rposition(|scope| scope.contains_key(&name)).unwrap_or(0);
        Self::slot(&mut self.scopes, holder, name)
    }

    fn slot(scopes: &mut Vec<Rc<Scope>>, holder: usize, name: String) -> &mut Var {
        if scopes.is_empty() {
            scopes.push(Rc::default());
        }
        let index = holder.min(scopes.len() - 1);
        Rc::make_mut(&mut scopes[index]).entry(name).or_default()
    }

    /// The variable of that name of the function that runs.
    pub fn local(&mut self, name: &str) -> &mut Var {
        let innermost = self.scopes.len().saturating_sub(1);
        Self::slot(&mut self.scopes, innermost, name.to_owned())
    }

    /// Takes out what the innermost scope has under that name, to be put back.
    pub fn save(&self, name: &str) -> (usize, Option<Var>) {
        let holder = self.scopes.iter().rposition(|scope| scope.contains_key(name)).unwrap_or(0);
        (holder, self.scopes.get(holder).and_then(|scope| scope.get(name)).cloned())
    }

    pub fn restore(&mut self, name: &str, (holder, saved): (usize, Option<Var>)) {
        let Some(scope) = self.scopes.get_mut(holder) else { return };
        match saved {
            Some(var) => Rc::make_mut(scope).insert(name.to_owned(), var),
            None => Rc::make_mut(scope).remove(name),
        };
    }

    /// The text of a variable, or of the first element of an array.
    pub fn get(&self, name: &str) -> Option<String> {
        match self.find(name)?.kind.as_ref()? {
            Kind::Text(text) => Some(text.clone()),
            Kind::List(list) => list.get(&0).cloned(),
            Kind::Map(map) => map.get("0").cloned(),
        }
    }

    pub fn is_map(&self, name: &str) -> bool {
        matches!(self.find(name).and_then(|var| var.kind.as_ref()), Some(Kind::Map(_)))
    }

    pub fn is_array(&self, name: &str) -> bool {
        matches!(self.find(name).and_then(|var| var.kind.as_ref()), Some(Kind::Map(_) | Kind::List(_)))
    }

    pub fn element(&self, name: &str, key: &str) -> Option<String> {
        match self.find(name)?.kind.as_ref()? {
            Kind::Text(text) => matches!(key, "0" | "-1").then(|| text.clone()),
            Kind::List(list) => list.get(&position(list, key)?).cloned(),
            Kind::Map(map) => map.get(key).cloned(),
        }
    }

    /// Keys and values, in their order.
    pub fn elements(&self, name: &str) -> Vec<(String, String)> {
        match self.find(name).and_then(|var| var.kind.as_ref()) {
            None => Vec::new(),
            Some(Kind::Text(text)) => vec![("0".to_owned(), text.clone())],
            Some(Kind::List(list)) => {
                list.iter().map(|(index, text)| (index.to_string(), text.clone())).collect()
            }
            Some(Kind::Map(map)) => map.iter().map(|(key, text)| (key.clone(), text.clone())).collect(),
        }
    }

    fn writable(&mut self, name: &str) -> Result<&mut Var, String> {
        let var = self.entry(name);
        if var.readonly { Err(format!("{name}: readonly variable")) } else { Ok(var) }
    }

    pub fn set(&mut self, name: &str, text: String) -> Result<(), String> {
        let var = self.writable(name)?;
        let text = cased(var, text);
        match &mut var.kind {
            Some(Kind::List(list)) => {
                list.insert(0, text);
            }
            Some(Kind::Map(map)) => {
                map.insert("0".to_owned(), text);
            }
            kind => *kind = Some(Kind::Text(text)),
        }
        Ok(())
    }

    pub fn set_exported(&mut self, name: &str, text: &str) {
        let var = self.entry(name);
        var.kind = Some(Kind::Text(text.to_owned()));
        var.exported = true;
    }

    pub fn set_kind(&mut self, name: &str, kind: Kind) -> Result<(), String> {
        self.writable(name)?.kind = Some(kind);
        Ok(())
    }

    pub fn set_element(&mut self, name: &str, key: &str, text: String) -> Result<(), String> {
        let var = self.writable(name)?;
        let text = cased(var, text);
        if let Some(Kind::Map(map)) = &mut var.kind {
            map.insert(key.to_owned(), text);
            return Ok(());
        }
        if !matches!(var.kind, Some(Kind::List(_))) {
            let first = match var.kind.take() {
                Some(Kind::Text(text)) => BTreeMap::from([(0, text)]),
                _ => BTreeMap::new(),
            };
            var.kind = Some(Kind::List(first));
        }
        let Some(Kind::List(list)) = &mut var.kind else { return Ok(()) };
        let index = position(list, key).ok_or_else(|| format!("{name}[{key}]: bad array subscript"))?;
        list.insert(index, text);
        Ok(())
    }

    pub fn set_list(&mut self, name: &str, items: impl IntoIterator<Item = String>) -> Result<(), String> {
        self.set_kind(name, Kind::List(items.into_iter().enumerate().collect()))
    }

    pub fn unset(&mut self, name: &str) -> Result<(), String> {
        let name = self.resolve(name);
        if self.find(&name).is_some_and(|var| var.readonly) {
            return Err(format!("{name}: cannot unset: readonly variable"));
        }
        if let Some(scope) = self.scopes.iter_mut().rev().find(|scope| scope.contains_key(&name)) {
            Rc::make_mut(scope).remove(&name);
        }
        Ok(())
    }

    pub fn unset_element(&mut self, name: &str, key: &str) -> Result<(), String> {
        match &mut self.writable(name)?.kind {
            Some(Kind::Map(map)) => {
                map.remove(key);
            }
            Some(Kind::List(list)) => {
                if let Some(index) = position(list, key) {
                    list.remove(&index);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The names that are set, in order.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .scopes
            .iter()
            .flat_map(|scope| {
                scope.iter().filter(|(_, var)| var.kind.is_some()).map(|(name, _)| name.clone())
            })
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// What commands get as their environment.
    pub fn exported(&self) -> Vec<(String, String)> {
        let names = self.names().into_iter();
        names
            .filter(|name| self.find(name).is_some_and(|var| var.exported))
            .filter_map(|name| Some((name.clone(), self.get(&name)?)))
            .collect()
    }
}

fn cased(var: &Var, text: String) -> String {
    if var.lower {
        text.to_lowercase()
    } else if var.upper {
        text.to_uppercase()
    } else {
        text
    }
}

/// The index that a key names; a negative one counts from the end.
fn position(list: &BTreeMap<usize, String>, key: &str) -> Option<usize> {
    let index: i64 = key.parse().ok()?;
    if index >= 0 {
        return usize::try_from(index).ok();
    }
    let end = list.keys().next_back().map_or(0, |last| last + 1);
    end.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
}
