//! Selection among SONiC's tables: the pool and the profile of lossless traffic, and the combined meaning of a
//! profile's numbers.
//!
//! A configuration has pools and profiles for ingress and egress, and also for lossy traffic. A switch here has one
//! pool, accounted at ingress, and one profile: those of the lossless priority groups.

use paceline_kernel::sorted::SortedSet;

use super::item::{Fate, Item};
use super::whole;

const POOL: &str = "BUFFER_POOL";
const PROFILE: &str = "BUFFER_PROFILE";
const WRED: &str = "WRED_PROFILE";
/// Offset above any pause threshold.
const WHOLE_POOL: &str = "\"1GB\"";

/// Selects entries of tables, and computes values that depend on others. `rate` is that of the topology's links, in
/// Mbit/s.
pub(crate) fn settle(items: &mut [Item], rate: Option<u64>) {
    // Profiles come first, since the pool is that of the remaining profiles.
    choose_profiles(items, rate);
    choose_pool(items);
    choose_wred(items);
    for profile in entries(items, PROFILE) {
        if is_live(items, PROFILE, &profile) {
            settle_profile(items, &profile);
        }
    }
}

fn entries(items: &[Item], table: &str) -> SortedSet<String> {
    let of_table = items.iter().filter(|item| item.table == table);
    of_table.map(|item| item.entry.clone()).collect()
}

/// Returns the value of a key in an entry.
fn value<'i>(items: &'i [Item], table: &str, entry: &str, key: &str) -> Option<&'i str> {
    let is_it = |item: &&Item| item.entry == entry && item.is(table, key);
    items.iter().find(is_it).map(|item| item.value.trim())
}

fn number(items: &[Item], table: &str, entry: &str, key: &str) -> Option<i64> {
    value(items, table, entry, key).and_then(whole)
}

/// Returns true if some setting of the entry is still in use.
fn is_live(items: &[Item], table: &str, entry: &str) -> bool {
    let of_entry = |item: &&Item| item.table == table && item.entry == entry;
    items.iter().filter(of_entry).any(|item| item.fate == Fate::Own)
}

/// Drops an entry, for a reason that is reported once for all its settings.
fn drop_entry(items: &mut [Item], table: &str, entry: &str, why: &str) {
    for item in items
        .iter_mut()
        .filter(|item| item.table == table && item.entry == entry)
    {
        item.fate = Fate::Idle {
            what: format!("{table}.{entry}"),
            why: why.to_string(),
        };
    }
}

/// Returns the name from `[BUFFER_POOL|name]`, or the text itself.
fn plain(reference: &str) -> &str {
    let inner = reference.trim_start_matches('[').trim_end_matches(']');
    inner.rsplit('|').next().unwrap_or(inner)
}

fn pool_of<'i>(items: &'i [Item], profile: &str) -> Option<&'i str> {
    value(items, PROFILE, profile, "pool").map(plain)
}

fn is_egress(items: &[Item], pool: &str) -> bool {
    match value(items, POOL, pool, "type") {
        Some(kind) => kind == "egress",
        None => pool.starts_with("egress"),
    }
}

/// Keeps the profiles that lossless priority groups use.
fn choose_profiles(items: &mut [Item], rate: Option<u64>) {
    let mut left: Vec<String> = entries(items, PROFILE).into_iter().collect();
    let any_headroom = left
        .iter()
        .any(|profile| value(items, PROFILE, profile, "xoff").is_some());
    left.retain(|profile| {
        let pool = pool_of(items, profile).unwrap_or(profile);
        // Where some profiles have headroom, those without it are for lossy traffic.
        let lossy = any_headroom || profile.contains("lossy") || pool.contains("lossy");
        let why = if is_egress(items, pool) || profile.starts_with("egress") {
            "for egress, and buffers are accounted at ingress"
        } else if value(items, PROFILE, profile, "xoff").is_none() && lossy && !profile.is_empty() {
            "without headroom: lossy traffic is bounded by network.drop"
        } else {
            return true;
        };
        drop_entry(items, PROFILE, profile, why);
        false
    });
    let used: SortedSet<String> = items
        .iter()
        .filter(|item| item.is("BUFFER_PG", "profile"))
        .map(|item| plain(item.value.trim()).to_string())
        .collect();
    keep(
        items,
        PROFILE,
        &mut left,
        "no priority group uses it",
        |profile| used.contains(profile),
    );
    // Such as `pg_lossless_100000_5m_profile`: the rate in Mbit/s, and the cable.
    let of_rate = |profile: &str| {
        let mut parts = profile.strip_prefix("pg_lossless_")?.split('_');
        parts.next()?.parse::<u64>().ok()
    };
    if let Some(rate) = rate {
        let why = format!("not for links of {rate} Mbit/s, which the topology has");
        keep(items, PROFILE, &mut left, &why, |profile| {
            of_rate(profile) == Some(rate)
        });
    }
}

/// Keeps those of several entries for which `is_wanted` returns true, if there are any.
fn keep(
    items: &mut [Item],
    table: &str,
    left: &mut Vec<String>,
    why: &str,
    is_wanted: impl Fn(&str) -> bool,
) {
    let is_kept = |entry: &str| entry.is_empty() || is_wanted(entry);
    if left.len() < 2 || !left.iter().any(|entry| is_wanted(entry)) {
        return;
    }
    left.retain(|entry| {
        let kept = is_kept(entry);
        if !kept {
            drop_entry(items, table, entry, why);
        }
        kept
    });
}

/// Keeps the ingress pool of those profiles.
fn choose_pool(items: &mut [Item]) {
    let mut left: Vec<String> = entries(items, POOL).into_iter().collect();
    left.retain(|pool| {
        let kept = pool.is_empty() || !is_egress(items, pool);
        if !kept {
            drop_entry(
                items,
                POOL,
                pool,
                "for egress, and buffers are accounted at ingress",
            );
        }
        kept
    });
    let profiles = entries(items, PROFILE);
    let live = profiles.iter().filter(|profile| is_live(items, PROFILE, profile));
    let wanted: SortedSet<String> = live
        .filter_map(|profile| pool_of(items, profile))
        .map(str::to_string)
        .collect();
    let why = "not the pool of lossless traffic";
    keep(items, POOL, &mut left, why, |pool| wanted.contains(pool));
    // The name decides only among pools that are still left.
    keep(items, POOL, &mut left, why, |pool| pool.contains("lossless"));
}

/// Keeps the WRED profiles of queues, only of lossless priorities if there are any.
fn choose_wred(items: &mut [Item]) {
    let mut left: Vec<String> = entries(items, WRED).into_iter().collect();
    let lossless: SortedSet<i64> = items
        .iter()
        .filter(|item| item.is("PORT_QOS_MAP", "pfc_enable"))
        .flat_map(|item| item.value.split(',').filter_map(whole))
        .collect();
    let of_queues: Vec<(String, bool)> = items
        .iter()
        .filter(|item| item.is("QUEUE", "wred_profile"))
        .map(|item| {
            let queues = item.entry.rsplit('|').next().unwrap_or_default();
            let (first, last) = queues.split_once('-').unwrap_or((queues, queues));
            let range = whole(first).zip(whole(last));
            let is_lossless =
                range.is_some_and(|(first, last)| lossless.range(first..=last).next().is_some());
            (plain(item.value.trim()).to_string(), is_lossless)
        })
        .collect();
    let has = |profile: &str, lossless: bool| {
        let mut of_profile = of_queues.iter().filter(|(name, _)| name == profile);
        of_profile.any(|(_, of_lossless)| !lossless || *of_lossless)
    };
    keep(items, WRED, &mut left, "no lossless queue uses it", |profile| {
        has(profile, true)
    });
    // This has an effect only if no lossless queue has a profile.
    keep(items, WRED, &mut left, "no queue uses it", |profile| {
        has(profile, false)
    });
}

/// Translates the numbers of a profile, whose meanings depend on each other.
fn settle_profile(items: &mut [Item], profile: &str) {
    let own = |items: &[Item], key: &str| number(items, PROFILE, profile, key);
    let (size, xoff) = (own(items, "size"), own(items, "xoff").unwrap_or(0));
    let (xon, offset) = (own(items, "xon"), own(items, "xon_offset"));
    // With a shared headroom pool, sizes never include headroom.
    let pools = entries(items, POOL);
    let shares_headroom = pools
        .iter()
        .filter(|pool| is_live(items, POOL, pool))
        .any(|pool| number(items, POOL, pool, "xoff").is_some_and(|xoff| xoff > 0));
    let contains =
        |size: &i64| xoff > 0 && !shares_headroom && *size >= xoff.saturating_add(xon.unwrap_or(0));
    let reserve = size.map(|size| if contains(&size) { size - xoff } else { size });
    let static_th = own(items, "static_th");
    for item in items
        .iter_mut()
        .filter(|item| item.table == PROFILE && item.entry == profile && item.fate == Fate::Own)
    {
        let Some(key) = item.key else { continue };
        match key.key.as_str() {
            "size" => {
                if let (Some(reserve), true) = (reserve, reserve != size) {
                    item.fate = Fate::Becomes(vec![("network.port-reserve", bytes(reserve))]);
                }
            }
            "xon_offset" | "xon" if static_th.is_some() => item.fate = Fate::Covered,
            // With an offset, a pause can end before the queue is down to its reserve, so `xon` has no effect.
            "xon" if offset.is_some() => {
                item.fate = Fate::Idle {
                    what: key.path(),
                    why: "xon_offset ends pauses earlier".to_string(),
                };
            }
            "xon" if xon.is_some() && xon == reserve => {
                item.fate = Fate::Becomes(vec![("network.pfc.resume-offset", WHOLE_POOL.to_string())]);
            }
            "static_th" => {
                if let Some(threshold) = static_th {
                    let xoff = threshold.saturating_add(reserve.unwrap_or(0));
                    let xon = match (offset, xon) {
                        (Some(offset), _) => xoff.saturating_sub(offset).max(0),
                        (None, Some(xon)) => xon.min(xoff),
                        (None, None) => xoff,
                    };
                    item.fate = Fate::Becomes(vec![
                        ("network.pfc.static.xoff", bytes(xoff)),
                        ("network.pfc.static.xon", bytes(xon)),
                    ]);
                }
            }
            _ => {}
        }
    }
}

fn bytes(number: i64) -> String {
    format!("\"{number}B\"")
}
