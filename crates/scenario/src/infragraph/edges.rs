//! Edges between instances, with Python's slices, as cables.

use paceline_kernel::sorted::SortedSet;
use paceline_kernel::{BitRate, Span};

use crate::diagnostics::{Location, Problem, suggestion};

use super::parts::{Device, Instance, Link, LinkDefaults, MOST_CABLES};
use super::yaml::View;

/// Connection between two instances.
#[derive(Clone)]
pub(super) struct Cable {
    /// Numbers of the two instances.
    pub(super) ends: [u32; 2],
    pub(super) rate: BitRate,
    pub(super) delay: Span,
    pub(super) place: Location,
}

/// Component of an instance: the instance's number, and the indices on the path to the component.
type Vertex = (u32, Vec<u32>);

/// Adds the cables of an edge. Of edges between the same components, the first counts.
pub(super) fn cables(
    edge: &View<'_>,
    devices: &[Device],
    instances: &[Instance],
    links: &[Link<'_>],
    defaults: LinkDefaults,
    all: &mut Cables,
) -> Result<(), Problem> {
    let scheme = edge.need("scheme")?;
    let one = vertices(&edge.need("ep1")?, devices, instances)?;
    let two = vertices(&edge.need("ep2")?, devices, instances)?;
    let link = edge.need("link")?;
    let name = link.text()?;
    let found = links.iter().find(|known| known.name == name).ok_or_else(|| {
        Problem::new(format!("there is no link `{name}`"))
            .at(&link.place())
            .help(suggestion(name, links.iter().map(|link| link.name)))
    })?;
    let missing = |what: &str, key: &str| {
        Problem::new(format!("the link `{name}` has no {what}"))
            .at(&found.place)
            .help(format!(
                "give it here under `physical`, or set `topology.infragraph.{key}`"
            ))
    };
    let rate = found.rate.or(defaults.rate);
    let rate = rate.ok_or_else(|| missing("bandwidth in bits or bytes", "rate"))?;
    let delay = found.delay.or(defaults.delay);
    let delay = delay.ok_or_else(|| missing("latency", "delay"))?;
    let pairs: Box<dyn Iterator<Item = (usize, usize)>> = match scheme.text()? {
        // As in Python, the longer of the two is cut off.
        "one2one" => Box::new((0..one.len().min(two.len())).map(|i| (i, i))),
        "many2many" => {
            let (rows, columns) = (one.len(), two.len());
            Box::new((0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column))))
        }
        "ring" => {
            let count = one.len().min(two.len());
            Box::new((0..count).map(move |i| (i, (i + 1) % count)))
        }
        other => {
            let known = ["one2one", "many2many", "ring"];
            return Err(Problem::new(format!("there is no scheme `{other}`"))
                .at(&scheme.place())
                .help(suggestion(other, known)));
        }
    };
    let place = edge.place();
    for (a, b) in pairs {
        let (a, b) = (&one[a], &two[b]);
        // A component has no edge to itself, nor a second one to another.
        let ends = (a.min(b).clone(), a.max(b).clone());
        if a == b || !all.known.insert(ends) {
            continue;
        }
        if all.list.len() >= MOST_CABLES {
            return Err(Problem::new(format!("more than {MOST_CABLES} links")).at(&place));
        }
        all.list.push(Cable {
            ends: [a.0, b.0],
            rate,
            delay,
            place: place.clone(),
        });
    }
    Ok(())
}

/// Cables so far, and the components that they join.
#[derive(Default)]
pub(super) struct Cables {
    pub(super) list: Vec<Cable>,
    known: SortedSet<(Vertex, Vertex)>,
}

/// Returns the components that an end of an edge names: of each instance in turn.
fn vertices(end: &View<'_>, devices: &[Device], instances: &[Instance]) -> Result<Vec<Vertex>, Problem> {
    let view = end.need("instance")?;
    let (name, slice) = split(&view, view.text()?)?;
    let instance = instances.iter().find(|known| known.name == name).ok_or_else(|| {
        Problem::new(format!("there is no instance `{name}`"))
            .at(&view.place())
            .help(suggestion(name, instances.iter().map(|one| one.name.as_str())))
    })?;
    let own = indices(&view, slice, instance.count)?;
    let view = end.need("component")?;
    let mut paths: Vec<Vec<u32>> = vec![Vec::new()];
    let mut device = Some(instance.device);
    for step in view.text()?.split('.') {
        let (name, slice) = split(&view, step)?;
        let Some(here) = device.map(|index| &devices[index]) else {
            return Err(
                Problem::new(format!("`{name}` is in a component that is no device")).at(&view.place()),
            );
        };
        let position = here.parts.iter().position(|part| part.name == name);
        let Some(position) = position else {
            let names = here.parts.iter().map(|part| part.name.as_str());
            return Err(
                Problem::new(format!("the device `{}` has no component `{name}`", here.name))
                    .at(&view.place())
                    .help(suggestion(name, names)),
            );
        };
        let part = &here.parts[position];
        let steps = indices(&view, slice, part.count)?;
        if paths.len().saturating_mul(steps.len()) > MOST_CABLES {
            return Err(Problem::new(format!("more than {MOST_CABLES} components")).at(&view.place()));
        }
        let extended = |path: &Vec<u32>, step: u32| {
            let mut path = path.clone();
            path.extend([position as u32, step]);
            path
        };
        paths = paths
            .iter()
            .flat_map(|path| steps.iter().map(move |&step| extended(path, step)))
            .collect();
        device = part.device;
    }
    if paths.len().saturating_mul(own.len()) > MOST_CABLES {
        return Err(Problem::new(format!("more than {MOST_CABLES} components")).at(&view.place()));
    }
    let all = own.iter().flat_map(|index| {
        let unit = instance.first + index;
        paths.iter().map(move |path| (unit, path.clone()))
    });
    Ok(all.collect())
}

/// Splits `name[slice]`; a name alone means all.
fn split<'a>(view: &View<'_>, text: &'a str) -> Result<(&'a str, &'a str), Problem> {
    let Some((name, rest)) = text.split_once('[') else {
        return Ok((text, ":"));
    };
    let slice = rest.strip_suffix(']');
    let slice =
        slice.ok_or_else(|| Problem::new(format!("`{text}` has no `]` at its end")).at(&view.place()))?;
    Ok((name, if slice.is_empty() { ":" } else { slice }))
}

/// Returns the indices of a slice of `count` things, as Python has it: `start:stop:step`, from the end if negative.
fn indices(view: &View<'_>, slice: &str, count: u32) -> Result<Vec<u32>, Problem> {
    let wrong = |message: String| Problem::new(message).at(&view.place());
    let parts: Vec<&str> = slice.split(':').collect();
    let number = |text: &str| match text.trim() {
        "" => Ok(None),
        text => match text.parse::<i32>() {
            Ok(number) => Ok(Some(i64::from(number))),
            Err(_) => Err(wrong(format!(
                "`{slice}` is no index or slice: expected for example 3 or 0:4"
            ))),
        },
    };
    let all = i64::from(count);
    let from_end = |index: i64| if index < 0 { index + all } else { index };
    if let [one] = parts[..] {
        let index = number(one)?.map(from_end);
        let index = index.filter(|index| (0..all).contains(index));
        let index = index.ok_or_else(|| wrong(format!("`{slice}` is not one of {count}")))?;
        return Ok(vec![index as u32]);
    }
    if parts.len() > 3 {
        return Err(wrong(format!("`{slice}` has more than start, stop and step")));
    }
    let step = parts.get(2).map_or(Ok(None), |step| number(step))?.unwrap_or(1);
    if step == 0 {
        return Err(wrong(format!("the step of `{slice}` is zero")));
    }
    let (low, high) = if step > 0 { (0, all) } else { (-1, all - 1) };
    let bound = |given: Option<i64>, default: i64| given.map_or(default, |at| from_end(at).clamp(low, high));
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let (start, stop) = (bound(number(parts[0])?, first), bound(number(parts[1])?, last));
    let inside = |at: &i64| if step > 0 { *at < stop } else { *at > stop };
    let steps = std::iter::successors(Some(start), |at| Some(at + step)).take_while(inside);
    Ok(steps.map(|at| at as u32).collect())
}
