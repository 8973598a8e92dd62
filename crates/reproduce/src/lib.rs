//! Comparison of our results with published tables and figures.
//!
//! A [`Reproduction`] holds published values, the runs that produce ours, and the allowed differences. A [`Plan`]
//! lists the runs that several reproductions need, each once; [`Done`] holds their outcomes; [`Reproduction::panels`]
//! compares and judges both. [`text()`] renders them for a terminal, [`records`] for programs, and [`write()`] as a
//! page with the runs' folders.

mod beside;
mod catalog;
mod choice;
mod citation;
mod count;
mod criterion;
mod experiment;
mod identity;
mod kept;
mod markdown;
mod mutations;
mod need;
mod outcomes;
mod page;
mod panel;
mod reference;
mod reproduction;
mod resume;
mod step;
mod steps;
mod text;
mod write;

pub use beside::{beside_thesis_table6, in_thesis_table6};
pub use catalog::{find, names, registry, shipped};
pub use choice::Choice;
pub use citation::Citation;
pub use count::{Count, Counts};
pub use criterion::{Cell, Criterion, Evidence, Quotation, Source, Tolerance};
pub use experiment::figures::{FigurePlan, Recipe};
pub use experiment::folder::{Checked, begin, check, read_folder, record, template};
pub use experiment::save::{Base, save as save_experiment};
pub use identity::version;
pub use kept::StoredValues;
pub use markdown::{markdown, markdown_tables};
pub use mutations::{Mutation, faults, is_of, ticks_of_unfinished, undetected};
pub use need::{Done, DoneRun, Input, Metrics, NotRun, Plan, RunRequest, overruled, run_each};
pub use outcomes::Outcomes;
pub use panel::{Column, Curve, Drawing, Ordering, Panel, Record, Row};
pub use reference::Reference;
pub use reproduction::{Reproduction, entries, records};
pub use resume::{ResumeError, Unfinished, is_unfinished, run_folder};
pub use step::{Keeps, Step, StepError, Work, run_steps};
pub use text::text;
pub use write::{Drawn, write};
