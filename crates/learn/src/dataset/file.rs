//! Dataset files: Parquet with a row per pair, and the origins in the file's metadata.

use std::collections::HashMap;
use std::path::Path;

use paceline_kernel::Time;
use paceline_lab::files::columns::{Column, Values, read_parquet, write_parquet};
use paceline_lab::files::write_file;
use paceline_lab::release;
use sha2::{Digest, Sha256};

use super::{Dataset, FORMAT, Pair, SMOOTHING, stratum};
use crate::Error;

const EXPECTED: &str = "a dataset";

/// Names of the columns, in order.
const COLUMNS: [&str; 10] = [
    "k2", "k1", "k0", "l", "s_us", "r_us", "stratum", "source", "flow", "at_ps",
];

impl Dataset {
    /// Returns the SHA-256 of the pairs and their origins: equal for equal data, whichever version recorded
    /// it.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("paceline dataset {FORMAT}, smoothing {SMOOTHING}\n"));
        hash.update(self.seed.to_le_bytes());
        hash.update((self.origins.len() as u64).to_le_bytes());
        for origin in &self.origins {
            let settings = origin.settings.iter().map(String::as_str);
            let own = [
                &*origin.scenario,
                &*origin.scheme,
                origin.fidelity.name(),
                &*origin.sha256,
            ];
            for text in own.into_iter().chain(settings) {
                // With lengths, or text could move from one field to the next unnoticed.
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text);
            }
            hash.update(origin.seed.to_le_bytes());
            hash.update(origin.order.map_or([0xff; 8], u64::to_le_bytes));
            hash.update(origin.model_sha256.as_deref().unwrap_or("-"));
        }
        hash.update((self.pairs.len() as u64).to_le_bytes());
        for pair in &self.pairs {
            for feature in pair.k.iter().chain([&pair.l]) {
                hash.update(feature.to_le_bytes());
            }
            hash.update(pair.s.to_le_bytes());
            hash.update(pair.r.to_le_bytes());
            hash.update(pair.source.to_le_bytes());
            hash.update(pair.flow.to_le_bytes());
            hash.update(pair.at.as_ps().to_le_bytes());
        }
        hex(&hash.finalize())
    }

    /// Returns the version that recorded an origin, if it is another than this one.
    pub fn of_other_code(&self) -> Option<&str> {
        let mut versions = self.origins.iter().map(|origin| origin.version.as_str());
        versions.find(|&version| version != paceline_lab::version())
    }

    /// Writes the dataset to `path` atomically.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let real = |value: &dyn Fn(&Pair) -> f64| {
            Values::Real(self.pairs.iter().map(|pair| Some(value(pair))).collect())
        };
        let int = |value: &dyn Fn(&Pair) -> i64| {
            Values::Int(self.pairs.iter().map(|pair| Some(value(pair))).collect())
        };
        let values = [
            real(&|pair| f64::from(pair.k[0])),
            real(&|pair| f64::from(pair.k[1])),
            real(&|pair| f64::from(pair.k[2])),
            real(&|pair| f64::from(pair.l)),
            real(&|pair| pair.s),
            real(&|pair| pair.r),
            int(&|pair| i64::from(pair.stratum)),
            int(&|pair| i64::from(pair.source)),
            int(&|pair| i64::from(pair.flow)),
            int(&|pair| pair.at.as_ps() as i64),
        ];
        let columns = COLUMNS.into_iter().zip(values);
        let columns: Vec<Column> = columns.map(|(name, values)| Column::new(name, values)).collect();
        let metadata = [
            ("kind", "paceline dataset".to_string()),
            ("format", FORMAT.to_string()),
            ("version", crate::identity::version().to_string()),
            ("smoothing", SMOOTHING.to_string()),
            ("seed", self.seed.to_string()),
            ("origins", json(&self.origins)),
            ("scenarios", json(&self.scenarios)),
            ("sha256", self.hash()),
        ];
        write_file(path, |out| write_parquet(out, &columns, &metadata))?;
        Ok(())
    }

    /// Reads a file from [`Dataset::write`].
    ///
    /// # Errors
    /// The file cannot be read, is damaged, is no dataset, or is from another version.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let said = metadata(path)?;
        let content = |message: String| content(path, message);
        let get = |key: &str| {
            said.get(key)
                .map(String::as_str)
                .ok_or_else(|| content(format!("it says no `{key}`")))
        };
        if said.get("kind").map(String::as_str) != Some("paceline dataset") {
            return Err(content(
                "a Parquet file that `paceline train` did not write".into(),
            ));
        }
        let origins = get("origins")?;
        check_version(path, get("format")?, get("version")?, origins)?;
        if get("smoothing")? != SMOOTHING.to_string() {
            let found = get("smoothing")?;
            return Err(content(format!(
                "its features are smoothed with {found}, not {SMOOTHING}"
            )));
        }
        let damaged = |error: serde_json::Error| content(format!("its metadata are damaged: {error}"));
        let dataset = Self {
            pairs: pairs_of(path)?,
            origins: serde_json::from_str(origins).map_err(damaged)?,
            scenarios: serde_json::from_str(get("scenarios")?).map_err(damaged)?,
            seed: get("seed")?
                .parse()
                .map_err(|_| content("its seed is no number".into()))?,
        };
        // Checked here, since sources index the origins later.
        let sources = dataset.origins.len();
        if dataset
            .pairs
            .iter()
            .any(|pair| usize::from(pair.source) >= sources)
        {
            return Err(content(format!("a pair is from a source beyond its {sources}")));
        }
        if dataset.hash() != get("sha256")? {
            return Err(content(
                "its pairs are not those that were written (the hash differs)".into(),
            ));
        }
        Ok(dataset)
    }
}

fn content(path: &Path, message: String) -> Error {
    Error::Content {
        path: path.to_path_buf(),
        expected: EXPECTED,
        message,
    }
}

pub(super) fn metadata(path: &Path) -> Result<HashMap<String, String>, Error> {
    let file = paceline_scenario::open_file(path).map_err(|error| Error::io("read", path, error))?;
    let pairs = paceline_columns::read_metadata(file).map_err(|error| content(path, error.to_string()))?;
    Ok(pairs.into_iter().collect())
}

fn check_version(path: &Path, format: &str, version: &str, origins: &str) -> Result<(), Error> {
    if format == FORMAT.to_string() && release(version) == release(crate::identity::version()) {
        return Ok(());
    }
    // Another version may describe origins differently: read as much as possible.
    let origins: Vec<serde_json::Value> = serde_json::from_str(origins).unwrap_or_default();
    let name = |origin: &serde_json::Value| {
        let text = |key: &str| origin[key].as_str().unwrap_or("?").to_string();
        format!("{} under {}", text("scenario"), text("scheme"))
    };
    let sources: Vec<String> = origins.iter().map(name).collect();
    Err(Error::OtherVersion {
        path: path.to_path_buf(),
        found: match format == FORMAT.to_string() {
            true => version.to_string(),
            false => format!("{version} (form {format}, expected {FORMAT})"),
        },
        sources: sources.join(", "),
    })
}

fn pairs_of(path: &Path) -> Result<Vec<Pair>, Error> {
    let columns = read_parquet(path).map_err(|error| content(path, error.to_string()))?;
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    if names != COLUMNS {
        let message = format!(
            "its columns are {}, expected {}",
            names.join(", "),
            COLUMNS.join(", ")
        );
        return Err(content(path, message));
    }
    let rows = columns[0].values.len();
    let cell = |column: usize, row: usize| -> Result<f64, Error> {
        let value = match &columns[column].values {
            Values::Real(all) => all[row].filter(|value| value.is_finite()),
            _ => None,
        };
        value.ok_or_else(|| content(path, format!("row {row} has no number in `{}`", COLUMNS[column])))
    };
    let whole = |column: usize, row: usize| -> Result<u64, Error> {
        let value = match &columns[column].values {
            Values::Int(all) => all[row].and_then(|value| u64::try_from(value).ok()),
            _ => None,
        };
        value.ok_or_else(|| content(path, format!("row {row} has no count in `{}`", COLUMNS[column])))
    };
    let pair = |row: usize| -> Result<Pair, Error> {
        let k = [cell(0, row)? as f32, cell(1, row)? as f32, cell(2, row)? as f32];
        let narrow = |name| content(path, format!("row {row}: `{name}` is too large"));
        let pair = Pair {
            k,
            l: cell(3, row)? as f32,
            s: cell(4, row)?,
            r: cell(5, row)?,
            stratum: u8::try_from(whole(6, row)?).map_err(|_| narrow("stratum"))?,
            source: u16::try_from(whole(7, row)?).map_err(|_| narrow("source"))?,
            flow: u32::try_from(whole(8, row)?).map_err(|_| narrow("flow"))?,
            at: Time::from_ps(whole(9, row)?),
        };
        if pair.stratum != stratum(k[2]) {
            return Err(content(
                path,
                format!("row {row} is in another stratum than its K"),
            ));
        }
        Ok(pair)
    };
    (0..rows).map(pair).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Serialises origins, which are texts and numbers, so that it cannot fail.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers")
}
