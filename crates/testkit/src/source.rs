//! Declarations, imports, definitions and paths in one source file.

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens::tokens;

/// Keywords that precede the name of a definition.
const DEFINES: [&str; 8] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "union",
];

#[derive(Default)]
pub(crate) struct Source {
    /// Modules that have their own files, with the paths of these if given.
    pub(crate) children: Vec<(String, Option<String>)>,
    /// Paths imported by `use`, by their local names.
    pub(crate) imports: BTreeMap<String, Vec<Vec<String>>>,
    pub(crate) globs: Vec<Vec<String>>,
    pub(crate) defined: BTreeSet<String>,
    pub(crate) macros: Vec<String>,
    /// Paths in the code, each with true if it is a macro's.
    pub(crate) paths: BTreeSet<(Vec<String>, bool)>,
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Reader of a source's tokens.
struct Reader<'a> {
    tokens: Vec<&'a str>,
    at: usize,
}

impl Reader<'_> {
    fn ahead(&self, by: usize) -> &str {
        self.tokens.get(self.at + by).copied().unwrap_or_default()
    }

    /// Skips a bracketed group, whose opening bracket is the next token.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.ahead(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips an item, a field, a variant or a statement, with its attributes.
    fn skip_item(&mut self) {
        while self.ahead(0) == "#" {
            self.at += 1;
            self.skip_group();
        }
        let is_item =
            ["pub", "mod", "use", "impl"].contains(&self.ahead(0)) || DEFINES.contains(&self.ahead(0));
        loop {
            match self.ahead(0) {
                "{" => return self.skip_group(),
                "(" | "[" => self.skip_group(),
                "" | "}" => return,
                "," if !is_item => return self.at += 1,
                ";" => return self.at += 1,
                _ => self.at += 1,
            }
        }
    }
}

impl Source {
    pub(crate) fn of(text: &str) -> Self {
        let mut source = Self::default();
        let mut reader = Reader {
            tokens: tokens(text),
            at: 0,
        };
        let mut file = None;
        while reader.at < reader.tokens.len() {
            source.read(&mut reader, &mut file);
        }
        source
    }

    fn read(&mut self, reader: &mut Reader<'_>, file: &mut Option<String>) {
        match reader.ahead(0) {
            "#" => {
                let start = reader.at;
                reader.at += 1 + usize::from(reader.ahead(1) == "!");
                reader.skip_group();
                match &reader.tokens[start..reader.at] {
                    ["#", "[", "cfg", "(", "test", ")", "]"] => reader.skip_item(),
                    ["#", "[", "path", "=", path, "]"] => *file = Some(path.trim_matches('"').to_owned()),
                    _ => {}
                }
            }
            "mod" if reader.ahead(2) == ";" => {
                self.children.push((reader.ahead(1).to_owned(), file.take()));
                reader.at += 3;
            }
            // A restricted visibility names no dependency.
            "pub" if reader.ahead(1) == "(" => {
                reader.at += 1;
                reader.skip_group();
            }
            "use" if reader.ahead(1) != "<" => {
                reader.at += 1;
                self.import(reader, Vec::new());
            }
            "macro_rules" => {
                self.macros.push(reader.ahead(2).to_owned());
                reader.at += 3;
            }
            // A field, a method, or the path after a generic argument.
            "." | "::" => reader.at += 2,
            word if is_name(word) => self.read_path(reader),
            _ => reader.at += 1,
        }
    }

    fn read_path(&mut self, reader: &mut Reader<'_>) {
        let defines = DEFINES.contains(&reader.ahead(0));
        let next = reader.ahead(1);
        if defines && is_name(next) && !DEFINES.contains(&next) && !["unsafe", "mut", "async"].contains(&next)
        {
            self.defined.insert(next.to_owned());
            reader.at += 2;
            return;
        }
        let mut path = vec![reader.ahead(0).to_owned()];
        reader.at += 1;
        while reader.ahead(0) == "::" && is_name(reader.ahead(1)) {
            path.push(reader.ahead(1).to_owned());
            reader.at += 2;
        }
        let is_macro = reader.ahead(0) == "!" && reader.ahead(1) != "=";
        // A single word is often a variable's name; imports are counted separately.
        let is_type = path[0].starts_with(char::is_uppercase);
        if path.len() > 1 || is_macro || is_type || reader.ahead(0) == "(" {
            self.paths.insert((path, is_macro));
        }
    }

    /// Parses the tree after `use`, or after an opening brace inside of it.
    fn import(&mut self, reader: &mut Reader<'_>, mut path: Vec<String>) {
        loop {
            match reader.ahead(0) {
                "::" => reader.at += 1,
                "*" => {
                    self.globs.push(path);
                    return reader.at += 1;
                }
                "{" => {
                    reader.at += 1;
                    while !["}", ""].contains(&reader.ahead(0)) {
                        self.import(reader, path.clone());
                        reader.at += usize::from(reader.ahead(0) == ",");
                    }
                    return reader.at += 1;
                }
                word if is_name(word) => {
                    if word != "self" || path.is_empty() {
                        path.push(word.to_owned());
                    }
                    reader.at += 1;
                    if reader.ahead(0) == "::" {
                        continue;
                    }
                    let mut name = path.last().cloned().unwrap_or_default();
                    if reader.ahead(0) == "as" {
                        name = reader.ahead(1).to_owned();
                        reader.at += 2;
                    }
                    return self.imports.entry(name).or_default().push(path);
                }
                _ => return,
            }
        }
    }
}
