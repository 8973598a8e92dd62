//! Several environments in parallel.

use crate::batch::Batch;
use crate::environment::Environment;
use crate::error::Error;

/// Several environments that advance in parallel. Results do not depend on the number of threads.
#[derive(Clone)]
pub struct Vector {
    environments: Vec<Environment>,
    threads: usize,
    /// Number of rows of each environment in the last poll.
    rows: Vec<usize>,
    /// Result of the last poll. An environment whose episode is over has no rows until its reset.
    batch: Batch,
}

impl Vector {
    /// Combines environments whose observations have the same width.
    ///
    /// # Errors
    /// There is no environment, or their observations have different widths.
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

    /// Returns all environments in order.
    pub fn environments(&self) -> &[Environment] {
        &self.environments
    }

    /// Returns the environment with this index.
    ///
    /// # Errors
    /// There is no such environment.
    pub fn environment(&mut self, number: usize) -> Result<&mut Environment, Error> {
        let last = self.environments.len() - 1;
        let found = self.environments.get_mut(number);
        found.ok_or(Error::NoEnvironment { found: number, last })
    }

    /// Advances all environments until actions are needed in each. Rows are in the order of environments.
    ///
    /// # Errors
    /// An environment is closed.
    pub fn poll(&mut self) -> Result<&Batch, Error> {
        let work: Vec<&mut Environment> = self.environments.iter_mut().collect();
        let rows = side_by_side(work, self.threads, &|environment| environment.advance());
        let width = self.environments[0].config().width();
        self.batch.clear(width);
        for (number, rows) in rows.into_iter().enumerate() {
            self.rows[number] = rows?;
        }
        // Rows are in the order of environments, not in that in which threads finish.
        for (number, environment) in self.environments.iter_mut().enumerate() {
            environment.append(number as u32, &mut self.batch);
        }
        Ok(&self.batch)
    }

    /// Applies an action for each row of the last poll.
    ///
    /// # Errors
    /// As [`Environment::submit`]; then all environments are unchanged.
    pub fn submit(&mut self, actions: &[f32]) -> Result<(), Error> {
        let expected: usize = self.rows.iter().sum();
        if expected == 0 && !actions.is_empty() {
            // Its error tells which call is expected instead.
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
                // All actions are checked before any is applied, so an error changes nothing.
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

    /// Takes the batch of the last poll.
    pub fn take(&mut self) -> Batch {
        std::mem::take(&mut self.batch)
    }

    /// Applies actions for named agents of one environment, in any order.
    ///
    /// # Errors
    /// As [`Environment::submit_for`].
    pub fn submit_for(&mut self, number: usize, agents: &[u32], actions: &[f32]) -> Result<(), Error> {
        self.environment(number)?.submit_for(agents, actions)?;
        self.rows[number] = 0;
        Ok(())
    }

    /// Starts a new episode in one environment.
    ///
    /// # Errors
    /// As [`Environment::reset`].
    pub fn reset(&mut self, number: usize, seed: Option<u64>) -> Result<(), Error> {
        self.environment(number)?.reset(seed)?;
        self.rows[number] = 0;
        Ok(())
    }

    /// Closes all of the environments.
    pub fn close(&mut self) {
        for environment in &mut self.environments {
            environment.close();
        }
    }
}

/// Applies `work` to each item on up to `threads` threads and returns the results in the order of the items.
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
