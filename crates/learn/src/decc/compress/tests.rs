use paceline_congestion::learned::kind::DECC;
use paceline_congestion::learned::layers::Layer;
use paceline_kernel::rng::Rng;

use super::super::stream;
use super::*;

/// Draws a number from Laplace's distribution.
fn draw(rng: &mut Rng, tau: f64) -> f32 {
    let u = rng.next_f64() - 0.5;
    (-tau * u.signum() * libm::log(1.0 - 2.0 * u.abs() + 1e-300)) as f32
}

fn many(count: usize, tau: f64) -> Vec<f32> {
    let mut rng = stream(1, 1, 1);
    (0..count).map(|_| draw(&mut rng, tau)).collect()
}

#[test]
fn a_fit_finds_the_scale_that_numbers_were_drawn_with() {
    for tau in [0.01, 0.3, 5.0] {
        let found = laplace(&many(20_000, tau));
        assert!((found / tau - 1.0).abs() < 0.02, "{tau} {found}");
    }
    assert_eq!((laplace(&[]), laplace(&[0.0; 5])), (0.0, 0.0));
}

/// A few outliers move the mean absolute value, where the fit starts, more than the fit.
#[test]
fn a_fit_goes_from_the_likeliest_scale_to_the_closest() {
    let mut values = many(10_000, 0.3);
    values.extend([20.0; 100]);
    let likeliest = values.iter().map(|value| f64::from(value.abs())).sum::<f64>() / values.len() as f64;
    let found = laplace(&values);
    assert!(
        likeliest > 0.45 && (found / 0.3 - 1.0).abs() < 0.05,
        "{likeliest} {found}"
    );
}

#[test]
fn thresholds_are_roots() {
    let one = threshold(&[(1000, 0.3)], 0.65);
    assert!((one + 0.3 * libm::log(0.35)).abs() < 1e-9, "{one}");
    let layers = [(4000, 0.1), (1000, 0.5), (500, 0.0)];
    for share in [0.1, 0.65, 0.85] {
        let at = threshold(&layers, share);
        let gone = 4000.0 * (1.0 - libm::exp(-at / 0.1)) + 1000.0 * (1.0 - libm::exp(-at / 0.5));
        assert!((gone / 5500.0 - share).abs() < 1e-9, "{share} {at}");
    }
}

/// Two layers by hand: A = 2 * 1 + 1 * 4 = 6 and 3 * 2 = 6, so that both have the step 2^-3 / 6 * 12 = 1/4.
#[test]
fn steps_by_hand_and_least_among_those_with_as_many_levels() {
    let columns = vec![vec![(2, 1.0), (1, 4.0)], vec![(3, 2.0), (0, 0.0)]];
    let found = steps(&columns, 4.0);
    assert!(found.iter().all(|step| (step - 0.25).abs() < 1e-12), "{found:?}");
    let columns = vec![vec![(20, 1.0), (10, 4.0)], vec![(30, 0.2)], vec![(7, 0.9)]];
    let found = steps(&columns, 4.0);
    let levels = |steps: &[f64]| {
        let each = columns.iter().zip(steps);
        let sum: f64 = each
            .flat_map(|(layer, step)| {
                layer
                    .iter()
                    .map(move |(left, most)| *left as f64 * 2.0 * most / step)
            })
            .sum();
        sum / 67.0
    };
    assert!((levels(&found) - 16.0).abs() < 1e-9, "{}", levels(&found));
    let squares = |steps: &[f64]| steps.iter().map(|step| step * step).sum::<f64>();
    for (more, less) in [(0, 1), (1, 2), (2, 0)] {
        let mut other = found.clone();
        (other[more], other[less]) = (other[more] * 1.05, other[less] * 0.95);
        let scale = levels(&other) / 16.0;
        other.iter_mut().for_each(|step| *step *= scale);
        assert!(squares(&other) > squares(&found), "{other:?} {found:?}");
    }
}

/// The requested share is removed and the rest is on the grid; the last layer and the biases are complete.
#[test]
fn a_network_is_compressed_as_asked() {
    let mut rng = stream(2, 1, 1);
    let mut values = Vec::new();
    for (index, layer) in DECC.iter().enumerate() {
        values.extend(std::iter::repeat_n(0.125f32, layer.columns()));
        let tau = 0.05 * (1 + index) as f64;
        values.extend((0..layer.inputs * layer.columns()).map(|_| draw(&mut rng, tau)));
    }
    let network = Network::new(&DECC, values);
    let (compressed, grid) = compress(&network, &Asked::default());
    assert!((compressed.taken - 0.65).abs() < 0.03, "{}", compressed.taken);
    assert!((3.0..=4.0).contains(&compressed.bits), "{}", compressed.bits);
    assert_eq!(compressed.most, grid.most(&compressed.network));
    let parts = network
        .parts()
        .zip(compressed.network.parts())
        .zip(&compressed.steps);
    for (index, (((_, bias, weights), (_, bias_now, now)), step)) in parts.enumerate() {
        assert_eq!(bias, bias_now);
        for (weight, now) in weights.iter().zip(now) {
            let multiple = f64::from(*now) / step;
            assert!((multiple - multiple.round()).abs() < 1e-3, "{multiple}");
            let small = f64::from(weight.abs()) <= compressed.threshold && index < 2;
            assert!(
                small || f64::from((weight - now).abs()) <= step * 0.5001,
                "{weight} {now}"
            );
            assert!(!small || *now == 0.0, "{weight} {now}");
        }
    }
    // Removed weights learn nothing.
    let mut slope = vec![1.0f32; network.values().len()];
    grid.cut(&mut slope);
    let gone = slope.iter().filter(|by| **by == 0.0).count();
    let inner: usize = DECC[..2]
        .iter()
        .map(|layer: &Layer| layer.inputs * layer.columns())
        .sum();
    assert!((gone as f64 / inner as f64 - compressed.taken).abs() < 1e-12);
}
