//! Dependencies between the files of a crate, determined from its sources. A name is followed through re-exports to
//! the file that defines it, so a module that only re-exports is never a dependency.
//!
//! Items and files under `#[cfg(test)]` are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::source::Source;

/// Largest number of re-exports that are followed, since macros are re-exported under their own names.
const DEPTH: usize = 16;

/// Modules of a crate that have their own files, by path: `a::b`, and the empty path for the root.
#[derive(Default)]
pub struct Modules {
    modules: BTreeMap<String, Source>,
    /// Module of each macro.
    macros: BTreeMap<String, String>,
}

/// Modules that one uses, with the names that it uses.
pub type Named = BTreeMap<String, BTreeSet<String>>;

/// Target of a path.
enum Target {
    Module(String),
    /// Name defined in this module.
    Item(String, String),
    Elsewhere,
}

fn join(module: &str, child: &str) -> String {
    match module {
        "" => child.to_owned(),
        _ => format!("{module}::{child}"),
    }
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

impl Modules {
    /// Reads the crate whose root is this file.
    pub fn read(root: &Path) -> Self {
        let mut read = Self::default();
        let folder = root.parent().expect("a file lies in a folder");
        read.read_file("", root, folder);
        read
    }

    /// Reads the file of a module, and those of its submodules, which are in `folder`.
    fn read_file(&mut self, module: &str, file: &Path, folder: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for (child, path) in self.add(module, &text) {
            let own = folder.join(&child);
            let files = match path {
                Some(path) => vec![file.with_file_name(path)],
                None => vec![own.with_extension("rs"), own.join("mod.rs")],
            };
            let Some(found) = files.iter().find(|file| file.exists()) else {
                panic!("{}: `mod {child}` has no file", file.display());
            };
            self.read_file(&join(module, &child), found, &own);
        }
    }

    /// Adds the text of a module. Returns the modules that it declares, with the paths of their files if given.
    fn add(&mut self, module: &str, text: &str) -> Vec<(String, Option<String>)> {
        let mut source = Source::of(text);
        for name in source.macros.drain(..) {
            self.macros.insert(name, module.to_owned());
        }
        let declared = source.children.clone();
        self.modules.insert(module.to_owned(), source);
        declared
    }

    /// Returns the modules that each module uses, with the names used.
    pub fn names(&self) -> BTreeMap<String, Named> {
        let named = |module: &String| (module.clone(), self.named_by(module));
        self.modules.keys().map(named).collect()
    }

    fn named_by(&self, module: &str) -> Named {
        let source = &self.modules[module];
        let mut named = Named::new();
        let mut add = |target| {
            // The import of a module uses no name yet: each use of it is another path.
            if let Some(Target::Item(of, name)) = target
                && of != module
            {
                named.entry(of).or_default().insert(name);
            }
        };
        for path in source.imports.values().flatten() {
            add(self.resolve(module, path, DEPTH));
        }
        for path in &source.globs {
            add(match self.resolve(module, path, DEPTH) {
                Some(Target::Module(of)) => Some(Target::Item(of, "*".to_owned())),
                item => item,
            });
        }
        for (path, is_macro) in &source.paths {
            let name = path.last().expect("a path has a word");
            add(match self.macros.get(name).filter(|_| *is_macro) {
                Some(of) => Some(Target::Item(of.clone(), name.clone())),
                None => self.resolve(module, path, DEPTH),
            });
        }
        named
    }

    /// Returns the target of a path in `module`; `None` if that is outside of the crate.
    fn resolve(&self, module: &str, path: &[String], depth: usize) -> Option<Target> {
        match path[0].as_str() {
            "crate" => self.walk("", &path[1..], depth),
            "self" | "super" => self.walk(module, path, depth),
            _ => self.find(module, path, depth),
        }
    }

    /// Returns the target of a path that starts inside `module`; a name that is not found there may be defined by a
    /// macro.
    fn walk(&self, module: &str, path: &[String], depth: usize) -> Option<Target> {
        match path.first().map(String::as_str) {
            None => Some(Target::Module(module.to_owned())),
            Some("self") => self.walk(module, &path[1..], depth),
            Some("super") => self.walk(parent(module), &path[1..], depth),
            Some(name) => {
                let unknown = || {
                    let of = self.macros.get(name).map_or(module, String::as_str);
                    Target::Item(of.to_owned(), name.to_owned())
                };
                Some(self.find(module, path, depth).unwrap_or_else(unknown))
            }
        }
    }

    /// Returns the target of a path in a module, if the module has its first name.
    fn find(&self, module: &str, path: &[String], depth: usize) -> Option<Target> {
        let depth = depth.checked_sub(1)?;
        let source = &self.modules[module];
        let (name, rest) = path.split_first().expect("a path has a word");
        let is_child = source.children.iter().any(|(child, _)| child == name);
        if is_child && !rest.is_empty() {
            return self.walk(&join(module, name), rest, depth);
        }
        let mut is_foreign = false;
        for import in source.imports.get(name).into_iter().flatten() {
            match self.resolve(module, import, depth) {
                Some(Target::Module(found)) => return self.walk(&found, rest, depth),
                item @ Some(Target::Item(..)) => return item,
                Some(Target::Elsewhere) | None => is_foreign = true,
            }
        }
        if is_child {
            return Some(Target::Module(join(module, name)));
        }
        if source.defined.contains(name) {
            return Some(Target::Item(module.to_owned(), name.clone()));
        }
        if is_foreign {
            return Some(Target::Elsewhere);
        }
        // Names of other crates are not in this one, so further globs are not searched for them.
        let is_own = |glob: &&Vec<String>| {
            let first = glob[0].as_str();
            ["crate", "self", "super"].contains(&first)
                || source.imports.contains_key(first)
                || source.children.iter().any(|(child, _)| child == first)
        };
        source.globs.iter().filter(is_own).find_map(|glob| {
            match self.resolve(module, glob, depth)? {
                Target::Module(found) if found != module => self.find(&found, path, depth),
                // A glob import of an enum's variants.
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circles::circles;

    fn modules(sources: &[(&str, &str)]) -> Modules {
        let mut modules = Modules::default();
        for (module, text) in sources {
            modules.add(module, text);
        }
        modules
    }

    fn named(modules: &Modules, module: &str) -> Vec<String> {
        modules.named_by(module).into_keys().collect()
    }

    #[test]
    fn names_are_followed_through_re_exports() {
        let modules = modules(&[
            (
                "",
                "mod a; mod b; pub use a::deep::*; pub use b::{One as Two, f};",
            ),
            ("a", "pub mod deep; pub use deep::Model;"),
            (
                "a::deep",
                "pub struct Model; pub enum Kind { X } macro_rules! make { () => {} }",
            ),
            (
                "b",
                "use crate::a::{self, Model}; use crate::Kind; pub struct One; pub fn f() { a::Model::new(); make!() }",
            ),
        ]);
        assert_eq!(named(&modules, ""), ["a::deep", "b"]);
        assert_eq!(named(&modules, "a"), ["a::deep"]);
        assert_eq!(named(&modules, "b"), ["a::deep"], "neither the root nor `a`");
    }

    #[test]
    fn circles_go_through_re_exports_and_files_that_only_call() {
        let modules = modules(&[
            ("", "mod a; mod b; mod c; pub use c::Last;"),
            (
                "a",
                "use super::b; use std::fmt; fn first() { b::second(); fmt::format(); }",
            ),
            ("b", "pub fn second() -> crate::Last { todo!() }"),
            (
                "c",
                "pub struct Last; #[cfg(test)] mod tests { use crate::b::second; } impl Last { fn x() { super::a::first() } }",
            ),
        ]);
        assert_eq!(circles(&modules.names()), [vec!["a", "b", "c"]]);
    }

    #[test]
    fn what_only_tests_name_is_left_out() {
        let text = "#[cfg(test)]\nuse crate::b::X;\n#[cfg(test)] #[path = \"c.rs\"] mod c;\n#[cfg(test)]\nmod tests { use crate::b::X; }\nfn f() {}";
        let mut read = modules(&[("", "mod a; mod b;"), ("b", "pub struct X;")]);
        assert!(read.add("a", text).is_empty());
        assert!(named(&read, "a").is_empty());
    }
}
