use super::PARITY;

/// Checks that builds without the guests have a message for each of their names.
#[test]
fn all_names_of_the_guests_are_known() {
    let guests = super::guests();
    let mut names: Vec<&str> = guests.guests.iter().map(|guest| guest.profile.name).collect();
    names.extend(guests.measures.iter().map(|set| set.name));
    names.extend(guests.tables.iter().map(|table| table.name));
    assert_eq!(names, PARITY);
}
