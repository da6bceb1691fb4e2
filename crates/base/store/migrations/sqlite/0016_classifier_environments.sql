-- Environments that somebody announced to the classifier, beside those of the code.
CREATE TABLE classifier_environments (
    name TEXT PRIMARY KEY
);
