//! Functions of flow size distributions in expressions.

use paceline_kernel::Bytes;
use paceline_scenario::Problem;
use paceline_scenario::diagnostics::{Location, nearest};
use paceline_scenario::traffic::{DISTRIBUTIONS, SizeDistribution};

use super::expr::Function;
use super::value::Value;

/// Evaluates a function of the size distribution `name`.
pub(super) fn of_sizes(
    function: Function,
    name: Option<&str>,
    bytes: Option<f64>,
    at: &Location,
) -> Result<Value, Problem> {
    let Some(name) = name else {
        let text = format!(
            "`{}` begins with the name of a distribution in single quotes",
            function.name()
        );
        return Err(Problem::new(text).at(at));
    };
    let unknown = || {
        let names = DISTRIBUTIONS.map(|(name, ..)| name);
        let problem = Problem::new(format!("unknown distribution of sizes `{name}`")).at(at);
        match nearest(name, names.iter().copied()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help(format!("distributions: {}", names.join(", "))),
        }
    };
    let sizes = SizeDistribution::builtin(name).ok_or_else(unknown)?;
    match (function, bytes) {
        (Function::SizeMean, _) => Ok(Value::Number(sizes.mean())),
        (Function::SizeDeciles, _) => {
            let decile = |k: u32| sizes.quantile(f64::from(k) / 10.0).get() as f64;
            Ok(Value::List((0..=10).map(decile).collect()))
        }
        (_, Some(bytes)) => Ok(Value::Number(sizes.share_up_to(Bytes::new(bytes as u64)))),
        _ => Err(Problem::new("expected a number of bytes").at(at)),
    }
}

#[cfg(test)]
mod tests {
    use paceline_scenario::diagnostics::Source;

    use super::*;

    fn value(function: Function, name: &str, bytes: Option<f64>) -> Result<Value, Problem> {
        of_sizes(function, Some(name), bytes, &Source::new("here", "").end())
    }

    fn reads(function: Function, bytes: Option<f64>) -> f64 {
        match value(function, "google-rpc-read", bytes).unwrap() {
            Value::Number(number) => number,
            other => panic!("{other:?}"),
        }
    }

    /// 60 % of Google's reads are up to 46 KB and 70 % up to 102 KB, so the share up to 62.5 KB is between.
    #[test]
    fn shares_and_deciles() {
        let share = |bytes| 100.0 * reads(Function::SizeShare, Some(bytes));
        assert!((share(46e3) - 60.0).abs() < 1e-9 && (share(102e3) - 70.0).abs() < 1e-9);
        assert!((share(62_500.0) - 63.8).abs() < 0.1, "{}", share(62_500.0));
        assert_eq!((share(10.0), share(1e9)), (0.0, 100.0));
        // Ten deciles: 512, 4000, 10 000, .. 1 MB, 16 MB.
        let Value::List(deciles) = value(Function::SizeDeciles, "google-rpc-read", None).unwrap() else {
            panic!("a list")
        };
        let means = [&deciles[..10], &deciles[1..]].map(|ten| ten.iter().sum::<f64>() / 10.0);
        assert!((means[0] - 147_957.6).abs() < 1.0, "{}", means[0]);
        assert!((means[1] - 1_747_951.2).abs() < 1.0, "{}", means[1]);
        let mean = reads(Function::SizeMean, None);
        assert!(means[0] < mean && mean < means[1]);
    }

    #[test]
    fn an_unknown_distribution_has_a_near_one() {
        let problem = value(Function::SizeMean, "websaerch", None).unwrap_err();
        assert!(problem.to_string().contains("websaerch"), "{problem}");
    }
}
