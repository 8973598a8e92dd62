//! Command lines of trainings, for the records of their results.

use std::fmt::Display;

use clap::ValueEnum;

use crate::commands::sweep::shell;

/// A command line of `paceline train`, quoted for a shell.
pub(super) struct CommandLine(Vec<String>);

impl CommandLine {
    /// Creates the command that selects a training.
    pub(super) fn new(path: &[&str]) -> Self {
        Self(
            ["paceline", "train"]
                .iter()
                .chain(path)
                .map(|word| (*word).to_string())
                .collect(),
        )
    }

    /// Adds a positional argument.
    pub(super) fn value(&mut self, value: &str) {
        self.0.push(value.to_string());
    }

    /// Adds `--name=value`, unless there is no value.
    pub(super) fn option<T: Display>(&mut self, name: &str, value: Option<T>) {
        self.0.extend(value.map(|value| format!("{name}={value}")));
    }

    /// Adds `--name=a,b`, unless the list is empty.
    pub(super) fn list<T: ToString>(&mut self, name: &str, values: &[T]) {
        let values: Vec<String> = values.iter().map(T::to_string).collect();
        self.option(name, (!values.is_empty()).then(|| values.join(",")));
    }

    /// Adds `--name=value` with the value's name on the command line.
    pub(super) fn choice<T: ValueEnum>(&mut self, name: &str, value: Option<T>) {
        let value = value.and_then(|value| value.to_possible_value());
        self.option(name, value.as_ref().map(clap::builder::PossibleValue::get_name));
    }

    /// Adds a flag that takes no value.
    pub(super) fn flag(&mut self, name: &str, is_set: bool) {
        self.0.extend(is_set.then(|| name.to_string()));
    }

    /// Returns the words, quoted and separated by spaces.
    pub(super) fn text(&self) -> String {
        shell(&self.0)
    }
}
