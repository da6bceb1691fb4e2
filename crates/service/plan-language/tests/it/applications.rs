//! Applications of all environments, as a test sets them: [`Applications`].

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use environments::EnvironmentName;
use jobs::{
    ApplicationComponent, ApplicationGraphError, ApplicationGraphs, ApplicationInstance,
    EnvironmentApplications,
};
use pcp::Certname;
use pxp::action::CodeId;

/// One instance of an application; none until a test sets its components.
#[derive(Clone, Debug, Default)]
pub(crate) struct Applications(Arc<Mutex<ComponentsAndQuestions>>);

#[derive(Debug, Default)]
struct ComponentsAndQuestions {
    components: Vec<ApplicationComponent>,
    questions: usize,
}

impl Applications {
    /// Sets the components as `(node, produces, consumes)`, where an empty text is none.
    pub(crate) fn set(&self, components: &[(&str, &str, &str)]) {
        let list = |text: &str| Some(text.to_owned()).filter(|it| !it.is_empty());
        let components = components.iter().enumerate();
        let components =
            components.map(|(index, (node, produces, consumes))| ApplicationComponent {
                reference: format!("Part[{index}]"),
                node: node.parse().unwrap(),
                produces: list(produces).into_iter().collect(),
                consumes: list(consumes).into_iter().collect(),
            });
        self.0.lock().unwrap().components = components.collect();
    }

    /// Two nodes, each with a database and the web server of the other one's.
    pub(crate) fn set_pair(&self, one: &str, other: &str) {
        self.set(&[
            (one, "Sql[a]", ""),
            (one, "", "Sql[b]"),
            (other, "Sql[b]", ""),
            (other, "", "Sql[a]"),
        ]);
    }

    /// Returns how often the applications of an environment were looked up.
    pub(crate) fn questions(&self) -> usize {
        self.0.lock().unwrap().questions
    }
}

#[async_trait]
impl ApplicationGraphs for Applications {
    async fn applications(
        &self,
        _: &EnvironmentName,
        _: Option<&CodeId>,
        _: &str,
    ) -> Result<Option<EnvironmentApplications>, ApplicationGraphError> {
        let mut known = self.0.lock().unwrap();
        known.questions += 1;
        let instance = ApplicationInstance {
            reference: "App[one]".to_owned(),
            components: known.components.clone(),
        };
        let instances = vec![instance];
        Ok((!known.components.is_empty()).then_some(EnvironmentApplications { instances }))
    }

    async fn missing_capabilities(
        &self,
        _: &EnvironmentName,
        _: &Certname,
        _: &[String],
    ) -> Result<Vec<String>, ApplicationGraphError> {
        Ok(Vec::new())
    }
}
