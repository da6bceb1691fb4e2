-- Roles, groups of users, tokens and what guards logins.
ALTER TABLE users ADD COLUMN remote BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN failed_logins BIGINT NOT NULL DEFAULT 0; -- in a row

ALTER TABLE tokens ADD COLUMN id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN description TEXT COLLATE "C";
ALTER TABLE tokens ADD COLUMN client TEXT COLLATE "C";
ALTER TABLE tokens ADD COLUMN last_active_ms BIGINT;
ALTER TABLE tokens ADD COLUMN timeout_ms BIGINT; -- of inactivity
ALTER TABLE tokens ADD COLUMN revoked_ms BIGINT; -- once set, never unset
CREATE INDEX tokens_by_id ON tokens (id);

-- The last number given out of each kind; none is ever used again.
CREATE TABLE access_counters (
    name TEXT COLLATE "C" PRIMARY KEY,
    last BIGINT NOT NULL
);
INSERT INTO access_counters (name, last) VALUES ('role', 100), ('task_target', 0);

CREATE TABLE access_settings (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE roles (
    id           BIGINT PRIMARY KEY,
    display_name TEXT COLLATE "C" NOT NULL UNIQUE,
    description  TEXT COLLATE "C" NOT NULL
);

CREATE TABLE role_permissions (
    role_id     BIGINT NOT NULL REFERENCES roles (id),
    object_type TEXT COLLATE "C" NOT NULL,
    action      TEXT COLLATE "C" NOT NULL,
    instance    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (role_id, object_type, action, instance)
);

CREATE TABLE role_users (
    role_id BIGINT NOT NULL REFERENCES roles (id),
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    PRIMARY KEY (role_id, user_id)
);
CREATE INDEX role_users_of_user ON role_users (user_id);

-- Groups of a directory, under the name that the directory gives them.
CREATE TABLE user_groups (
    id           TEXT COLLATE "C" PRIMARY KEY,
    login        TEXT COLLATE "C" NOT NULL UNIQUE,
    display_name TEXT COLLATE "C" NOT NULL
);

CREATE TABLE role_groups (
    role_id  BIGINT NOT NULL REFERENCES roles (id),
    group_id TEXT COLLATE "C" NOT NULL REFERENCES user_groups (id),
    PRIMARY KEY (role_id, group_id)
);
CREATE INDEX role_groups_of_group ON role_groups (group_id);

-- As the directory told at the user's last login.
CREATE TABLE group_members (
    group_id TEXT COLLATE "C" NOT NULL REFERENCES user_groups (id),
    user_id  TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX group_members_of_user ON group_members (user_id);

CREATE TABLE password_resets (
    hash       BYTEA PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    expires_ms BIGINT NOT NULL
);
CREATE INDEX password_resets_of_user ON password_resets (user_id);

-- Which tasks on which nodes; never changed, since roles refer to them.
CREATE TABLE task_targets (
    id           BIGINT PRIMARY KEY,
    display_name TEXT COLLATE "C" NOT NULL,
    tasks        TEXT COLLATE "C", -- JSON; null: all
    nodes        TEXT COLLATE "C" NOT NULL, -- JSON
    node_groups  TEXT COLLATE "C" NOT NULL, -- JSON
    pql_query    TEXT COLLATE "C"
);
