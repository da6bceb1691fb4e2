//! By what jobs and plan jobs are ordered: [`JobOrder`], and the statement of each order.

/// By what jobs are ordered; ties are broken by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobOrder {
    /// By number, as numbers.
    #[default]
    Number,
    /// By the owner's login.
    Owner,
    /// By the last change of state.
    Changed,
    /// By the environment.
    Environment,
    /// By the state's name.
    State,
}

/// For each order the statement of a page, upward and downward. `$page` makes one from the text
/// behind `ORDER BY`.
macro_rules! pages {
    ($page:ident) => {{
        use $crate::job_order::JobOrder;
        [
            (JobOrder::Number, $page!("number"), $page!("number DESC")),
            (
                JobOrder::Owner,
                $page!("owner, number"),
                $page!("owner DESC, number DESC"),
            ),
            (
                JobOrder::Changed,
                $page!("changed_ms, number"),
                $page!("changed_ms DESC, number DESC"),
            ),
            (
                JobOrder::Environment,
                $page!("environment, number"),
                $page!("environment DESC, number DESC"),
            ),
            (
                JobOrder::State,
                $page!("state, number"),
                $page!("state DESC, number DESC"),
            ),
        ]
    }};
}
pub(crate) use pages;
