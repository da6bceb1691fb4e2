//! The order of jobs and plan jobs: [`JobOrder`], and the statement of each order.

/// Order of jobs; ties are broken by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobOrder {
    /// By job number, compared as a number.
    #[default]
    Number,
    /// By the owner's login.
    Owner,
    /// By the time of the last change of state.
    Changed,
    /// By the name of the environment.
    Environment,
    /// By the name of the state.
    State,
}

/// The statements of a page in each order, ascending and descending. `$page` makes one from the
/// text after `ORDER BY`.
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
