//! Many environments side by side.

use crate::batch::Batch;
use crate::environment::Environment;
use crate::error::Error;

/// Many environments, which go on at the same time on as many threads as there are to be. What comes out does not hang
/// on the threads.
#[derive(Clone)]
pub struct Vector {
    environments: Vec<Environment>,
    threads: usize,
    /// For each environment how many rows it had in the last poll.
    rows: Vec<usize>,
    /// What the last poll told. An environment whose episode is over rests until its reset.
    batch: Batch,
}

impl Vector {
    /// Of environments that see alike.
    ///
    /// # Errors
    /// There is none, or their rows have different widths.
    pub fn new(environments: Vec<Environment>, threads: usize) -> Result<Self, Error> {
        let Some(first) = environments.first() else {
            return Err(Error::Config {
                key: "environments",
                message: "there is none; expected at least one".to_string(),
            });
        };
        let width = first.config().width();
        if let Some(other) = environments.iter().find(|other| other.config().width() != width) {
            return Err(Error::Config {
                key: "observation",
                message: format!(
                    "rows of {} and of {width} numbers; expected environments that see alike",
                    other.config().width()
                ),
            });
        }
        let rows = vec![0; environments.len()];
        Ok(Self {
            environments,
            threads: threads.max(1),
            rows,
            batch: Batch::default(),
        })
    }

    /// The environments.
    pub fn environments(&self) -> &[Environment] {
        &self.environments
    }

    /// One of them.
    ///
    /// # Errors
    /// There is none of that number.
    pub fn environment(&mut self, number: usize) -> Result<&mut Environment, Error> {
        let last = self.environments.len() - 1;
        let found = self.environments.get_mut(number);
        found.ok_or(Error::NoEnvironment { found: number, last })
    }

    /// Lets all go on until answers are needed in each; the rows of the first come first.
    ///
    /// # Errors
    /// One is closed.
    pub fn poll(&mut self) -> Result<&Batch, Error> {
        let work: Vec<&mut Environment> = self.environments.iter_mut().collect();
        let rows = side_by_side(work, self.threads, &|environment| environment.advance());
        let width = self.environments[0].config().width();
        self.batch.clear(width);
        for (number, rows) in rows.into_iter().enumerate() {
            self.rows[number] = rows?;
        }
        for (number, environment) in self.environments.iter_mut().enumerate() {
            environment.append(number as u32, &mut self.batch);
        }
        Ok(&self.batch)
    }

    /// An action for each row of the last poll.
    ///
    /// # Errors
    /// As [`Environment::submit`]: then nothing has happened in any of them.
    pub fn submit(&mut self, actions: &[f32]) -> Result<(), Error> {
        let expected: usize = self.rows.iter().sum();
        if expected == 0 && !actions.is_empty() {
            // Says what there was to do instead.
            self.environments[0].check_actions(actions)?;
        }
        if actions.len() != expected {
            return Err(Error::Shape {
                found: actions.len(),
                expected,
            });
        }
        let mut rest = actions;
        let mut parts = Vec::with_capacity(self.rows.len());
        for (environment, &rows) in self.environments.iter().zip(&self.rows) {
            let (mine, others) = rest.split_at(rows);
            if rows > 0 {
                environment.check_actions(mine)?;
            }
            parts.push(mine);
            rest = others;
        }
        for (environment, mine) in self.environments.iter_mut().zip(parts) {
            if !mine.is_empty() {
                environment.act(mine);
            }
        }
        self.rows.fill(0);
        Ok(())
    }

    /// The last poll's batch, handed over.
    pub fn take(&mut self) -> Batch {
        std::mem::take(&mut self.batch)
    }

    /// Actions for agents of one environment that are named, in any order.
    ///
    /// # Errors
    /// As [`Environment::submit_for`].
    pub fn submit_for(&mut self, number: usize, agents: &[u32], actions: &[f32]) -> Result<(), Error> {
        self.environment(number)?.submit_for(agents, actions)?;
        self.rows[number] = 0;
        Ok(())
    }

    /// Begins an episode in one of them.
    ///
    /// # Errors
    /// As [`Environment::reset`].
    pub fn reset(&mut self, number: usize, seed: Option<u64>) -> Result<(), Error> {
        self.environment(number)?.reset(seed)?;
        self.rows[number] = 0;
        Ok(())
    }

    /// Closes all.
    pub fn close(&mut self) {
        for environment in &mut self.environments {
            environment.close();
        }
    }
}

/// `work` of each, on at most so many threads; in the order of the items.
fn side_by_side<I: Send, T: Send>(items: Vec<I>, threads: usize, work: &(dyn Fn(I) -> T + Sync)) -> Vec<T> {
    let each = items.len().div_ceil(threads.max(1)).max(1);
    if items.len() <= each {
        return items.into_iter().map(work).collect();
    }
    let mut shares: Vec<Vec<I>> = Vec::new();
    for (number, item) in items.into_iter().enumerate() {
        if number % each == 0 {
            shares.push(Vec::with_capacity(each));
        }
        shares[number / each].push(item);
    }
    std::thread::scope(|scope| {
        let begin = |share: Vec<I>| scope.spawn(move || share.into_iter().map(work).collect::<Vec<T>>());
        let threads: Vec<_> = shares.into_iter().map(begin).collect();
        let mut results = Vec::new();
        for thread in threads {
            match thread.join() {
                Ok(share) => results.extend(share),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}
