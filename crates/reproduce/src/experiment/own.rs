//! Measures that an experiment defines by questions in SQL.

use std::sync::Arc;

use paceline_kernel::sorted::{SortedMap, SortedSet};
use paceline_lab::measures::Measure;
use paceline_query::Run;
use paceline_scenario::Problem;
use paceline_scenario::diagnostics::{Source, among_many};

use super::names::Own;
use super::schema::{Common, File, Meaning, OwnMeasure, OwnQuestion, Text};
use crate::need::{Form, Question};

/// Measures of an experiment, including those it shares with others.
#[derive(Default)]
pub(super) struct OwnMeasures {
    /// Single measures by name, which runs of every grid have.
    pub(super) everywhere: SortedMap<String, Own>,
    /// Measures by the name of their question, for grids that name it.
    pub(super) questions: SortedMap<String, Vec<Own>>,
}

impl OwnMeasures {
    pub(super) fn read(file: &File, common: &Common, source: &Source) -> Result<Self, Problem> {
        let mut found = Self::default();
        // Even an empty run has all tables, so the columns of an answer are known before anything runs.
        let run = Run::empty();
        let named = |what, name, sql, is_own: bool| Named {
            what,
            name,
            sql,
            source: is_own.then_some(source),
            end: source,
        };
        // The experiment's measures come last and thereby replace shared ones of the same name.
        for (name, measure) in common.measure.iter().chain(&file.measure) {
            let at = named("measure", name, &measure.sql, file.measure.contains_key(name));
            let own = single(&run, measure, &at)?;
            found.everywhere.insert(name.clone(), own);
        }
        for (name, question) in common.question.iter().chain(&file.question) {
            let at = named("question", name, &question.sql, file.question.contains_key(name));
            found
                .questions
                .insert(name.clone(), several(&run, question, &at)?);
        }
        Ok(found)
    }
}

/// Definition that is read, for error messages.
struct Named<'a> {
    what: &'static str,
    name: &'a str,
    sql: &'a Text,
    /// File of the definition; `None` for one that experiments share.
    source: Option<&'a Source>,
    end: &'a Source,
}

impl Named<'_> {
    fn wrong(&self, text: impl std::fmt::Display) -> Problem {
        let location = self
            .source
            .map_or_else(|| self.end.end(), |source| source.at(self.sql.span()));
        Problem::new(format!("{} `{}`: {text}", self.what, self.name)).at(&location)
    }

    /// Returns the columns of the answer.
    fn columns(&self, run: &Run) -> Result<Vec<String>, Problem> {
        run.check(self.sql.get_ref()).map_err(|error| self.wrong(error))
    }
}

fn described(name: &str, meaning: &Meaning) -> Measure {
    Measure {
        name: name.to_string().into(),
        what: meaning.what.clone().into(),
        unit: meaning.unit.clone().into(),
        digits: meaning.digits,
    }
}

fn single(run: &Run, measure: &OwnMeasure, at: &Named<'_>) -> Result<Own, Problem> {
    let columns = at.columns(run)?.len();
    let expected = 1 + usize::from(measure.curve);
    if columns != expected {
        let text = format!("its rows have {columns} columns, expected {expected}");
        return Err(at
            .wrong(text)
            .help("a curve has two, place and value, and curve = true"));
    }
    let meaning = Meaning {
        what: measure.what.clone(),
        unit: measure.unit.clone(),
        digits: measure.digits,
    };
    Ok(Own {
        measure: described(at.name, &meaning),
        question: Arc::new(Question {
            name: at.name.to_string(),
            sql: measure.sql.get_ref().clone(),
            form: if measure.curve { Form::Curves } else { Form::Row },
            measures: vec![at.name.to_string()],
        }),
    })
}

fn several(run: &Run, written: &OwnQuestion, at: &Named<'_>) -> Result<Vec<Own>, Problem> {
    let columns = at.columns(run)?;
    let mut known: SortedMap<&str, &Meaning> = SortedMap::new();
    for (names, meaning) in &written.values {
        for name in names.split_whitespace() {
            if known.insert(name, meaning).is_some() {
                return Err(at.wrong(format!("`{name}` stands twice in `values`")));
            }
        }
    }
    let (form, measures): (Form, Vec<String>) = match &columns[..] {
        [_, curves @ ..] if written.curves => (Form::Curves, curves.to_vec()),
        [name, value] if name == "name" && value == "value" => (
            Form::Named,
            known.keys().map(|name| (*name).to_string()).collect(),
        ),
        all => (Form::Row, all.to_vec()),
    };
    // Values are stored by name, so a second column would overwrite the first.
    let distinct: SortedSet<&str> = measures.iter().map(String::as_str).collect();
    if distinct.len() < measures.len() {
        return Err(at.wrong("two columns have one name"));
    }
    let names: Vec<&str> = known.keys().copied().collect();
    if let Some(column) = measures
        .iter()
        .find(|column| !known.contains_key(column.as_str()))
    {
        let text = format!("the column `{column}` is not in `values`");
        return Err(at.wrong(text).help(among_many(column, names)));
    }
    if let Some(name) = names.iter().find(|name| !distinct.contains(*name)) {
        let text = format!("`{name}` stands in `values`, and is no column of the answer");
        return Err(at
            .wrong(text)
            .help("SELECT .. AS NAME, or columns `name` and `value`"));
    }
    let question = Arc::new(Question {
        name: at.name.to_string(),
        sql: written.sql.get_ref().clone(),
        form,
        measures,
    });
    let own = |name: &String| Own {
        measure: described(name, known[name.as_str()]),
        question: Arc::clone(&question),
    };
    Ok(question.measures.iter().map(own).collect())
}
